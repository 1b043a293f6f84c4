package lsp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"callgate/internal/linediff"
	"callgate/internal/module/lsp/langserver"
	"callgate/tool"
)

// textEdit is a change of a text.
type textEdit struct {
	Range   langserver.Range `json:"range"`
	NewText string           `json:"newText"`
}

// workspaceEdit is a change of files, in one of the two ways that servers write it.
type workspaceEdit struct {
	Changes         map[string][]textEdit `json:"changes"`
	DocumentChanges []documentChange      `json:"documentChanges"`
}

// documentChange is a change of one file: of its text, or of the file itself.
type documentChange struct {
	Kind         string `json:"kind"` // create, rename, delete; "": of its text
	URI          string `json:"uri"`
	OldURI       string `json:"oldUri"`
	NewURI       string `json:"newUri"`
	TextDocument struct {
		URI string `json:"uri"`
	} `json:"textDocument"`
	Edits []textEdit `json:"edits"`
}

// What a change may be.
const (
	maxFiles = 500
	maxPatch = 4 << 20
)

// patch is the answer that is a change.
func (q *question) patch(what string, edit workspaceEdit) (*tool.Result, error) {
	edits, also, err := q.collect(edit)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	files := []string{}
	for _, name := range slices.Sorted(maps.Keys(edits)) {
		f, err := q.read(name)
		if err != nil {
			return nil, err
		}
		if q.server.Told(f.name) {
			return nil, tool.Errorf(q.Op, tool.Conflict,
				"the change is of %q as lsp.notify_change told it, not as it is on the disk", f.shown).
				WithHint("call lsp.notify_change for it without content, and ask again")
		}
		text, err := apply(q.Op, f, edits[name])
		if err != nil {
			return nil, err
		}
		if text == f.text {
			continue
		}
		files = append(files, f.shown)
		fmt.Fprintf(&b, "--- a/%s\n+++ b/%s\n", f.shown, f.shown)
		for _, line := range linediff.Unified(f.text, text) {
			b.WriteString(line.String() + "\n")
		}
		if b.Len() > maxPatch {
			return nil, tool.Errorf(q.Op, tool.Limited, "%s is a patch of more than %d bytes", what, maxPatch).
				WithHint("have the user make it in an editor")
		}
	}
	if len(files) == 0 && len(also) == 0 {
		return q.answer(what+" changes nothing", map[string]any{"patch": "", "files": files})
	}
	text := fmt.Sprintf("%s changes %d files; nothing is written yet", what, len(files))
	if len(files) > 0 {
		text += ", give this to filesystem.apply_patch:\n" + b.String()
	}
	for _, one := range also {
		text += "\nit also needs: " + one
	}
	return q.answer(text, map[string]any{"patch": b.String(), "files": files, "also": also})
}

// collect brings a change into one form: edits by file of the workspace, and what no patch can
// say in words. A change of files outside the workspace is refused whole.
func (q *question) collect(edit workspaceEdit) (edits map[string][]textEdit, also []string, err error) {
	edits, also = map[string][]textEdit{}, []string{}
	add := func(uri string, list []textEdit) error {
		shown, err := q.inWorkspace(uri)
		if err == nil {
			edits[shown] = append(edits[shown], list...)
		}
		return err
	}
	if len(edit.DocumentChanges) == 0 {
		for uri, list := range edit.Changes {
			if err := add(uri, list); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, d := range edit.DocumentChanges {
		switch d.Kind {
		case "":
			err = add(d.TextDocument.URI, d.Edits)
		case "create", "delete":
			var shown string
			shown, err = q.inWorkspace(d.URI)
			also = append(also, d.Kind+" "+shown)
		case "rename":
			var from, to string
			if from, err = q.inWorkspace(d.OldURI); err == nil {
				to, err = q.inWorkspace(d.NewURI)
			}
			also = append(also, "move "+from+" to "+to+" (filesystem.move)")
		default:
			err = tool.Errorf(q.Op, tool.Failed,
				"%s proposes a change of a kind that the protocol does not have", q.server.Name())
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if n := len(edits) + len(also); n > maxFiles {
		return nil, nil, tool.Errorf(q.Op, tool.Limited, "the change is of %d files, and at most %d are taken", n, maxFiles).
			WithHint("have the user make it in an editor")
	}
	return edits, also, nil
}

// inWorkspace is the file of an address, which must lie in the workspace and be open to tools.
func (q *question) inWorkspace(uri string) (string, error) {
	name := langserver.Path(uri)
	if name == "" {
		return "", tool.Errorf(q.Op, tool.Failed, "%s proposes to change %q, which is no file",
			q.server.Name(), langserver.Clean(uri, 200))
	}
	shown, inside := q.show(name)
	if !inside {
		return "", q.OutsideError(langserver.Clean(name, 200), "would be changed, and is outside the workspace")
	}
	p, err := q.Resolve(shown, true)
	return p.Shown, err
}

// apply makes edits of a text. They are of the text before any of them, and may not overlap.
func apply(op string, f *file, edits []textEdit) (string, error) {
	type span struct {
		from, to int
		text     string
	}
	starts := []int{0}
	for i, c := range []byte(f.text) {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	at := func(p langserver.Position) int {
		switch {
		case p.Line < 0 || p.Character < 0:
			return -1
		case p.Line >= len(starts):
			return len(f.text)
		}
		line, _, _ := strings.Cut(f.text[starts[p.Line]:], "\n")
		return starts[p.Line] + offset(line, p.Character)
	}
	spans := make([]span, 0, len(edits))
	size := len(f.text)
	for _, e := range edits {
		s := span{at(e.Range.Start), at(e.Range.End), e.NewText}
		if size += len(s.text); s.from < 0 || s.to < s.from || size > maxPatch+len(f.text) {
			return "", tool.Errorf(op, tool.Failed, "the server proposes an edit of %q that makes no sense", f.shown)
		}
		spans = append(spans, s)
	}
	slices.SortStableFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	var b strings.Builder
	done := 0
	for _, s := range spans {
		if s.from < done {
			return "", tool.Errorf(op, tool.Failed, "the server proposes edits of %q that overlap", f.shown)
		}
		b.WriteString(f.text[done:s.from] + s.text)
		done = s.to
	}
	return b.String() + f.text[done:], nil
}

// action is a fix or a refactoring that a server offers.
type action struct {
	Title     string          `json:"title"`
	Kind      string          `json:"kind"`
	Preferred bool            `json:"isPreferred"`
	Edit      *workspaceEdit  `json:"edit"`
	Disabled  json.RawMessage `json:"disabled"`
}

// actions lists what is offered at a place, or gives the patch of one of it.
func (q *question) actions() (*tool.Result, error) {
	offered, err := q.offered()
	if err != nil {
		return nil, err
	}
	shown, lines := []map[string]any{}, []string{}
	for _, raw := range offered {
		var a action
		if json.Unmarshal(raw, &a) != nil || a.Title == "" || len(a.Disabled) > 0 {
			continue
		}
		title := langserver.Clean(a.Title, 300)
		if q.Action != "" && strings.EqualFold(strings.TrimSpace(q.Action), title) {
			return q.act(raw, a)
		}
		if len(shown) < q.Limit {
			kind := langserver.Clean(a.Kind, 100)
			shown = append(shown, map[string]any{"title": title, "kind": kind, "preferred": a.Preferred})
			lines = append(lines, title)
		}
	}
	switch {
	case q.Action != "":
		return nil, tool.Errorf(q.Op, tool.NotFound, "no action %q is offered here", tool.Truncate(q.Action)).
			WithHint("the titles are: %s", strings.Join(lines[:min(len(lines), 10)], "; "))
	case len(shown) == 0:
		return q.answer(q.server.Name()+" offers nothing here", map[string]any{"actions": shown})
	}
	text := "offered: " + itoa(len(shown)) + "; call again with action, a title, for its patch\n"
	return q.answer(text+strings.Join(lines, "\n"), map[string]any{"actions": shown})
}

// offered asks what is offered for the lines, with what is wrong in them.
func (q *question) offered() ([]json.RawMessage, error) {
	lines := strings.Split(q.file.text, "\n")
	from, to := 0, len(lines)-1
	if q.Line > 0 || q.Symbol != "" {
		at, err := q.find(q.Op, q.file.shown, q.file.text)
		if err != nil {
			return nil, err
		}
		from, to = at.Line, at.Line
	}
	if q.EndLine > 0 {
		to = min(max(q.EndLine-1, from), len(lines)-1)
	}
	found, _, err := q.server.Diagnostics(q.ctx, q.file.name, seconds(q.settings.Wait))
	if err != nil {
		return nil, err
	}
	wrong := slices.DeleteFunc(slices.Clone(found), func(d langserver.Diagnostic) bool {
		return d.Range.End.Line < from || d.Range.Start.Line > to
	})
	span := langserver.Range{
		Start: langserver.Position{Line: from},
		End:   langserver.Position{Line: to, Character: units(strings.TrimSuffix(lines[to], "\r"))},
	}
	if q.Column > 0 || q.Symbol != "" {
		if at, err := q.find(q.Op, q.file.shown, q.file.text); err == nil {
			span.Start = at
			if q.EndLine == 0 {
				span.End = at
			}
		}
	}
	var offered []json.RawMessage
	err = q.call("textDocument/codeAction", q.document(map[string]any{
		"range": span, "context": map[string]any{"diagnostics": append([]langserver.Diagnostic{}, wrong...)},
	}), &offered)
	return offered, err
}

// act is the patch of an action. A server that would do it by a command of its own is not asked
// to: what that changes could not be seen before.
func (q *question) act(raw json.RawMessage, a action) (*tool.Result, error) {
	if a.Edit == nil && q.server.ResolvesActions() {
		if err := q.call("codeAction/resolve", raw, &a); err != nil {
			return nil, err
		}
	}
	if a.Edit == nil {
		return nil, tool.Errorf(q.Op, tool.Unavailable,
			"%s does this by a command of its own, which is not run", q.server.Name()).
			WithHint("make the change yourself")
	}
	return q.patch("the action", *a.Edit)
}
