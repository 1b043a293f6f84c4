package approvals

import (
	"encoding/json"
	"strings"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/linediff"
	"callgate/internal/protocol"
)

// previewMsg brings the change that a call would make.
type previewMsg struct {
	item  *item
	lines []linediff.Line
}

// loadPreview computes the change that a call would make in a file as it is now.
// The file may change again before the call runs.
func (p *Pane) loadPreview(it *item) tea.Cmd {
	edit := editOf(it.Approval)
	if lines := patchLines(it.Approval); lines != nil {
		return func() tea.Msg { return previewMsg{it, lines} }
	}
	if edit == nil {
		return nil
	}
	path, read := claimedFile(it.Approval), p.ReadFile
	return func() tea.Msg {
		var old string
		known := false
		if path != "" && read != nil {
			if data, err := read(path); err == nil {
				old, known = string(data), true
			}
		}
		if new, ok := edit(old, known); ok {
			return previewMsg{it, linediff.Unified(old, new)}
		}
		return nil
	}
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
