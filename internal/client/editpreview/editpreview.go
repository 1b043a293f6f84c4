// Package editpreview tells what a call would change in a file, or write to somebody, for the
// human who is asked about it. The file may change again before the call runs.
package editpreview

import (
	"encoding/json"
	"strings"

	"callgate/internal/linediff"
	"callgate/internal/protocol"
)

// Lines is the difference that a call would make, or its [Words]; nil: it changes no file, or
// it cannot be told. read returns the file as it is now; nil, or an error: it is not known.
func Lines(r protocol.Approval, read func(path string) ([]byte, error)) []linediff.Line {
	if lines := patchLines(r); lines != nil {
		return lines
	}
	if lines := wordLines(r); lines != nil {
		return lines
	}
	edit := editOf(r)
	if edit == nil {
		return nil
	}
	var old string
	known := false
	if path := claimedFile(r); path != "" && read != nil {
		if data, err := read(path); err == nil {
			old, known = string(data), true
		}
	}
	if new, ok := edit(old, known); ok {
		return linediff.Unified(old, new)
	}
	return nil
}

// Changes reports whether Lines may have something to tell of a call.
func Changes(r protocol.Approval) bool {
	return patchLines(r) != nil || editOf(r) != nil || Words(r) != nil
}

// claimedFile is the file that a call claims; "" if it claims none or several.
func claimedFile(r protocol.Approval) string {
	var path string
	for _, claim := range r.Claims {
		if file, ok := strings.CutPrefix(claim.Resource, "file:"); ok {
			if path != "" {
				return ""
			}
			path = file
		}
	}
	return path
}

// applyEdit returns a file's content after an edit; known says that the file
// exists and could be read. It reports false if the result cannot be told.
type applyEdit func(old string, known bool) (new string, ok bool)

// editOf is what a call of the filesystem module does to a file's content; nil
// for any other call.
func editOf(r protocol.Approval) applyEdit {
	switch r.Call.Tool.Dotted() {
	case "filesystem.write":
		var w struct{ Content, Mode string }
		if json.Unmarshal(r.Call.Args, &w) != nil {
			return nil
		}
		return func(old string, known bool) (string, bool) {
			if w.Mode == "append" && known {
				return old + w.Content, true
			}
			return w.Content, true
		}
	case "filesystem.edit":
		var e struct {
			edit
			Edits []edit
		}
		if json.Unmarshal(r.Call.Args, &e) != nil {
			return nil
		}
		if e.Edits == nil {
			e.Edits = []edit{e.edit}
		}
		return func(old string, known bool) (string, bool) { return apply(e.Edits, old, known) }
	}
	return nil
}

// edit is one change of filesystem.edit.
type edit struct {
	Op, Old, New string
	All          bool
	Count        int
	Line         int
	EndLine      int `json:"end_line"`
}

// apply makes the edits one after the other. Line numbers count in the file as
// it was, so an edit by line is previewed only if it is the only edit.
func apply(edits []edit, old string, known bool) (string, bool) {
	if !known {
		return "", false
	}
	text := old
	for _, e := range edits {
		switch e.Op {
		case "", "replace":
			n := 1
			if e.All || e.Count > 0 {
				n = -1
			}
			if e.Old == "" || !strings.Contains(text, e.Old) {
				return "", false
			}
			text = strings.Replace(text, e.Old, e.New, n)
		case "append":
			text += e.New
		case "insert", "replace_lines":
			lines := strings.SplitAfter(text, "\n")
			from, to := e.Line-1, e.Line-1
			if e.Op == "replace_lines" {
				to = max(e.EndLine, e.Line)
			}
			if len(edits) > 1 || from < 0 || to > len(lines) {
				return "", false
			}
			text = strings.Join(lines[:from], "") + e.New + strings.Join(lines[to:], "")
		default:
			return "", false
		}
	}
	return text, true
}
