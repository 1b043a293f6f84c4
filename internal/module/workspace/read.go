package workspace

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/filesystem/textfile"
	"callgate/tool"
)

//go:embed read.md
var readDoc string

const readInput = `{
  "type": "object",
  "properties": {
    ` + pathParam + `,
    "offset": {"type": "integer", "minimum": 0, "description": "First line to read; the first line of the file is 1."},
    "limit": {"type": "integer", "minimum": 0, "description": "How many lines to read; 2000 unless given."},
    "baseline": {
      "type": "boolean", "default": false, "description": "Read what was approved last, without what waits."
    }
  },
  "required": ["path"],
  "additionalProperties": false
}`

const readOutput = `{
  "type": "object",
  "properties": {
    "path": {"type": "string"},
    "state": {"type": "string", "enum": ["approved", "pending", "outdated"]},
    "proposal_id": {"type": "string", "description": "What a human answers."},
    "lines": {"type": "integer"},
    "next_offset": {"type": "integer", "description": "The offset to continue with, when lines follow."}
  },
  "required": ["path", "state", "lines"]
}`

func (m *files) readTool() module.Definition {
	return module.Definition{
		Name: "read", Short: "WsRead", Doc: readDoc, Input: readInput, Output: readOutput,
		Examples: []tool.Example{
			module.Example("a file as it would be", `{"path": "src/main.go"}`),
			module.Example("what was approved last", `{"path": "src/main.go", "baseline": true}`),
		},
		Aliases: []string{
			"read a pending file", "lire un fichier en attente", "leer un archivo pendiente",
			"eine vorgemerkte Datei lesen",
		},
		Tags: []string{"file", "read", "pending", "review", "fichier"}, Runtime: reading(),
		Handler: handler(m, "read", (*view).readFile),
	}
}

type readArgs struct {
	Path     string `json:"path"`
	Offset   int    `json:"offset"`
	Limit    int    `json:"limit"`
	Baseline bool   `json:"baseline"`
}

type readData struct {
	Path       string `json:"path"`
	State      string `json:"state"`
	Proposal   string `json:"proposal_id,omitempty"`
	Lines      int    `json:"lines"`
	NextOffset int    `json:"next_offset,omitempty"`
}

// state says how a file stands.
func (s seen) state() string {
	switch {
	case s.Waits() && s.stale:
		return "outdated"
	case s.Waits():
		return "pending"
	}
	return "approved"
}

func (v *view) readFile(in readArgs) (*tool.Result, error) {
	s, err := v.load(in.Path)
	if err != nil {
		return nil, err
	}
	content := s.After
	if in.Baseline {
		if content = s.Before; !s.Virtual {
			content = s.disk
		}
	}
	text, _, err := v.text(s, content)
	if err != nil {
		return nil, err
	}
	limit := in.Limit
	if limit == 0 {
		limit = textfile.DefaultLines
	}
	src := io.NewSectionReader(bytes.NewReader(text), 0, int64(len(text)))
	p, err := textfile.From(v.ctx, src, max(1, in.Offset), min(limit, textfile.MaxLines), true)
	var past textfile.PastEndError
	switch {
	case errors.As(err, &past):
		return nil, tool.Errorf(v.work.Op, tool.Invalid, "offset %d is past the end of %q, which has %s", in.Offset, s.Path,
			amount.Of(past.Lines, "line"))
	case err != nil:
		return nil, v.work.Fail(s.Path, err)
	}
	data := readData{Path: s.Path, State: s.state(), Proposal: s.Proposal, Lines: p.Lines}
	if p.More {
		data.NextOffset = p.Next()
	}
	r, err := tool.OK(fmt.Sprintf("%s: %s%s", s.Path, amount.Of(p.Lines, "line"), s.note()), data)
	if err != nil {
		return nil, err
	}
	shown, valid := textfile.Valid(p.Text)
	if shown == "" {
		shown = r.Summary + "\n"
	}
	r.Content = []tool.Content{tool.Text(shown)}
	if p.More {
		r.Cut = &tool.Cut{
			Unit: "lines", First: p.First, Last: p.Next() - 1, Total: max(p.Total, 0), Next: fmt.Sprintf("offset=%d", p.Next()),
		}
	}
	if !valid {
		r.Warnings = append(r.Warnings, "some bytes are not valid UTF-8; they are shown as �")
	}
	if s.Waits() {
		r.Warnings = append(r.Warnings, s.Path+s.note())
	}
	return r, nil
}

// note says in words how a file stands that waits.
func (s seen) note() string {
	switch s.state() {
	case "outdated":
		return ", pending as " + s.Proposal + ", which nobody can approve: the file was changed on the disk since; " +
			"read it with baseline, and write it anew"
	case "pending":
		return ", with a change that waits for a human as " + s.Proposal
	}
	return ""
}

// text returns the text of a content, and how it is encoded.
func (v *view) text(s seen, content []byte) ([]byte, textfile.Encoding, error) {
	if content == nil {
		if s.Waits() && s.After == nil {
			return nil, "", tool.Errorf(v.work.Op, tool.NotFound, "%s is to be deleted, which waits for a human as %s",
				s.Path, s.Proposal).WithHint("read it with baseline, or write it anew")
		}
		return nil, "", tool.Errorf(v.work.Op, tool.NotFound, "there is no file %s", s.Path).
			WithHint("workspace.glob finds files")
	}
	kind := textfile.Sniff(content)
	if kind.Binary || kind.Image != "" {
		return nil, "", tool.Errorf(v.work.Op, tool.Invalid, "%s is a binary file, and these tools are for text", s.Path)
	}
	text, lossless := kind.Encoding.Decode(content)
	if !lossless {
		return nil, "", tool.Errorf(v.work.Op, tool.Invalid, "%s says it is %s but is not", s.Path, kind.Encoding)
	}
	return text, kind.Encoding, nil
}
