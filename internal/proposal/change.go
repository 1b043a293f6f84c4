package proposal

import (
	"bytes"
	"slices"
	"strings"

	"callgate/internal/linediff"
	"callgate/internal/task"
	"callgate/tool"
)

// ChangeBody is a proposed change of a file. Its content is kept beside it.
type ChangeBody struct {
	Key     string       `json:"key"` // of the file among those that are kept
	Path    string       `json:"path"`
	Askers  []task.Asker `json:"askers,omitempty"`  // all who wrote in it, but for the last
	Parts   []string     `json:"parts,omitempty"`   // what was answered so far
	Written bool         `json:"written,omitempty"` // at least one hunk was accepted
}

// Split divides a change of a file by the hunks that a human named: with is the file with
// those hunks and without the others, and without is the other way round. Without any name,
// all are meant. A file that comes or goes has no hunks apart from the whole.
func Split(before, after []byte, ids []string) (with, without []byte, err error) {
	if len(ids) == 0 {
		return after, before, nil
	}
	if before == nil || after == nil {
		return nil, nil, tool.Errorf("proposal.Split", tool.Invalid,
			"a file that comes or goes is answered as a whole, not by hunks")
	}
	hunks := linediff.Hunks(string(before), string(after))
	for _, id := range ids {
		if !slices.ContainsFunc(hunks, func(h linediff.Hunk) bool { return h.ID == id }) {
			return nil, nil, tool.Errorf("proposal.Split", tool.NotFound, "the change has no hunk %q", tool.Truncate(id)).
				WithHint("its hunks are: %s", strings.Join(names(hunks), ", "))
		}
	}
	named := func(h linediff.Hunk) bool { return slices.Contains(ids, h.ID) }
	with = []byte(linediff.Apply(string(before), hunks, named))
	without = []byte(linediff.Apply(string(before), hunks, func(h linediff.Hunk) bool { return !named(h) }))
	return with, without, nil
}

func names(hunks []linediff.Hunk) (ids []string) {
	for _, h := range hunks {
		ids = append(ids, h.ID)
	}
	return ids
}

// Same reports whether two contents are one; nil is no file.
func Same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
