package workspace

import (
	_ "embed"
	"fmt"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/linediff"
	"callgate/internal/module"
	"callgate/internal/module/filesystem/textedit"
	"callgate/tool"
)

//go:embed write.md
var writeDoc string

//go:embed edit.md
var editDoc string

//go:embed delete.md
var deleteDoc string

const (
	writeInput = `{
  "type": "object",
  "properties": {
    ` + pathParam + `,
    "content": {"type": "string", "description": "What the whole file is to be, exactly."}
  },
  "required": ["path", "content"],
  "additionalProperties": false
}`
	editInput = `{
  "type": "object",
  "properties": {
    ` + pathParam + `,
    "edits": {
      "type": "array", "maxItems": 1000, "description": "Several edits, in place of one, with the same fields.",
      "items": {"type": "object", "properties": {
        "op": {"type": "string", "enum": ["replace", "replace_lines", "insert", "append"]},
        "old": {"type": "string"}, "new": {"type": "string"}, "all": {"type": "boolean"},
        "line": {"type": "integer", "minimum": 0}, "end_line": {"type": "integer", "minimum": 0}
      }, "additionalProperties": false}
    },
    "op": {
      "type": "string", "enum": ["replace", "replace_lines", "insert", "append"],
      "description": "What to do; replace unless given."
    },
    "old": {"type": "string", "description": "For replace: the text to look for, exactly."},
    "new": {"type": "string", "description": "The text to put there."},
    "all": {"type": "boolean", "description": "For replace: every occurrence."},
    "line": {
      "type": "integer", "minimum": 0,
      "description": "For replace_lines: the first line. For insert: the line before which new goes."
    },
    "end_line": {"type": "integer", "minimum": 0, "description": "For replace_lines: the last line."}
  },
  "required": ["path"],
  "additionalProperties": false
}`
	deleteInput = `{"type": "object", "properties": {` + pathParam + `}, "required": ["path"], "additionalProperties": false}`

	changeOutput = `{
  "type": "object",
  "properties": {
    "path": {"type": "string"},
    "state": {
      "type": "string", "enum": ["pending", "approved", "unchanged"],
      "description": "Whether a human is to answer it, it is there already, or there is nothing to answer."
    },
    "proposal_id": {"type": "string", "description": "What a human answers."},
    "hunks": {"type": "integer", "description": "In how many places it differs from what was approved last."},
    "added": {"type": "integer"},
    "removed": {"type": "integer"},
    "lint": {
      "type": "array", "description": "What the checks of the app said about the file.",
      "items": {"type": "object", "properties": {
        "command": {"type": "string"}, "exit": {"type": "integer"}, "output": {"type": "string"}
      }}
    }
  },
  "required": ["path", "state"]
}`
)

func (m *files) writeTool() module.Definition {
	return module.Definition{
		Name: "write", Short: "WsWrite", Doc: writeDoc, Input: writeInput, Output: changeOutput,
		Examples: []tool.Example{module.Example("a new file", `{"path": "notes/today.md", "content": "# Today\n"}`)},
		Aliases: []string{
			"propose a file", "write a file for review", "proposer un fichier",
			"proponer un archivo", "eine Datei vorschlagen",
		},
		Tags:    []string{"file", "write", "pending", "review", "fichier"},
		Runtime: changing(tool.U), Handler: handler(m, "write", (*view).writeFile),
	}
}

func (m *files) editTool() module.Definition {
	d := module.Definition{
		Name: "edit", Short: "WsEdit", Doc: editDoc, Input: editInput, Output: changeOutput,
		Examples: []tool.Example{
			module.Example("replace one piece of text", `{"path": "main.go", "old": "Helo", "new": "Hello"}`),
			module.Example("delete lines 10 to 12",
				`{"path": "notes.txt", "op": "replace_lines", "line": 10, "end_line": 12, "new": ""}`),
		},
		Aliases: []string{
			"propose an edit", "edit a file for review", "proposer une modification",
			"proponer un cambio", "eine Änderung vorschlagen",
		},
		Tags:    []string{"file", "edit", "pending", "review", "fichier"},
		Runtime: changing(tool.U), Handler: handler(m, "edit", (*view).editFile),
	}
	for _, in := range []string{"", "edits"} {
		d.Runtime.ParamAliases = append(d.Runtime.ParamAliases[:len(d.Runtime.ParamAliases):len(d.Runtime.ParamAliases)],
			tool.ParamAlias{Name: "old_string", Param: "old", In: in}, tool.ParamAlias{Name: "new_string", Param: "new", In: in},
			tool.ParamAlias{Name: "replace_all", Param: "all", In: in})
	}
	return d
}

func (m *files) deleteTool() module.Definition {
	return module.Definition{
		Name: "delete", Short: "WsDelete", Doc: deleteDoc, Input: deleteInput, Output: changeOutput,
		Examples: []tool.Example{module.Example("a file that is no longer used", `{"path": "old.go"}`)},
		Aliases: []string{
			"propose to delete a file", "proposer de supprimer un fichier",
			"proponer borrar un archivo", "das Löschen einer Datei vorschlagen",
		},
		Tags:    []string{"file", "delete", "pending", "review", "fichier"},
		Runtime: changing(tool.X), Handler: handler(m, "delete", (*view).deleteFile),
	}
}

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

type editArgs struct {
	Path  string          `json:"path"`
	Edits []textedit.Edit `json:"edits"`
	textedit.Edit
}

type changeData struct {
	Path     string   `json:"path"`
	State    string   `json:"state"`
	Proposal string   `json:"proposal_id,omitempty"`
	Hunks    int      `json:"hunks,omitempty"`
	Added    int      `json:"added,omitempty"`
	Removed  int      `json:"removed,omitempty"`
	Lint     []report `json:"lint,omitempty"`
}

func (v *view) writeFile(in writeArgs) (*tool.Result, error) {
	s, err := v.load(in.Path)
	if err != nil {
		return nil, err
	}
	if s.stale { // the whole file is given, and the human sees what of the disk goes
		s.Before = s.disk
	}
	return v.change(s, append([]byte{}, in.Content...))
}

func (v *view) editFile(in editArgs) (*tool.Result, error) {
	edits, err := textedit.Collect(v.work.Op, in.Edits, in.Edit)
	if err != nil {
		return nil, err
	}
	s, err := v.load(in.Path)
	if err != nil {
		return nil, err
	}
	if s.stale {
		return nil, tool.Errorf(v.work.Op, tool.Conflict, "%s was changed on the disk since its change was proposed", s.Path).
			WithHint("read it with baseline, and write the whole file with workspace.write")
	}
	text, encoding, err := v.text(s, s.After)
	if err != nil {
		return nil, err
	}
	spans, failure := textedit.Plan(text, edits)
	var after []byte
	if failure == nil {
		after, failure = textedit.Apply(text, spans)
	}
	if failure != nil {
		failure.Op, failure.Message = v.work.Op, fmt.Sprintf("%q: %s", s.Path, failure.Message)
		return nil, failure
	}
	return v.change(s, encoding.Encode(after))
}

type deleteArgs struct {
	Path string `json:"path"`
}

func (v *view) deleteFile(in deleteArgs) (*tool.Result, error) {
	s, err := v.load(in.Path)
	if err != nil {
		return nil, err
	}
	if s.After == nil {
		_, _, err := v.text(s, nil)
		return nil, err
	}
	if s.stale {
		s.Before = s.disk
	}
	return v.change(s, nil)
}

// change stores what a file is to be, and says how it stands.
func (v *view) change(s seen, after []byte) (*tool.Result, error) {
	before := s.Before
	s, err := v.put(s, after)
	if err != nil {
		return nil, err
	}
	data := changeData{Path: s.Path, State: "unchanged", Proposal: s.Proposal}
	for _, h := range linediff.Hunks(string(before), string(after)) {
		data.Hunks++
		for _, l := range h.Lines {
			switch l.Sign {
			case '+':
				data.Added++
			case '-':
				data.Removed++
			}
		}
	}
	does := "the file is"
	if after == nil {
		does = "that the file goes is"
	}
	differs := fmt.Sprintf("%s, %d added and %d removed", amount.Of(data.Hunks, "hunk"), data.Added, data.Removed)
	var summary string
	switch {
	case s.Waits():
		data.State = "pending"
		summary = fmt.Sprintf("%s waits for a human as %s: %s against what was approved; nothing is on the disk yet",
			s.Path, s.Proposal, differs)
	case v.set.AutoApprove && (data.Hunks > 0 || (before == nil) != (after == nil)):
		data.State = "approved"
		summary = fmt.Sprintf("%s: %s approved by the app's settings; %s", s.Path, does, differs)
	default:
		summary = s.Path + " is as it was approved; nothing waits"
	}
	if after != nil {
		data.Lint = v.lint(s.Path, after)
	}
	r, err := module.InWords(summary, data)
	if err == nil && len(data.Lint) > 0 {
		r.Content = append(r.Content, tool.Text(lintText(data.Lint)))
	}
	return r, err
}

func lintText(all []report) string {
	var b strings.Builder
	for _, one := range all {
		fmt.Fprintf(&b, "\n%s: exit %d\n%s\n", one.Command, one.Exit, one.Output)
	}
	return b.String()
}
