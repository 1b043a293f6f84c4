// Package notebook reads and changes Jupyter notebooks (nbformat 4), which are JSON.
// It touches no files.
package notebook

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Notebook is a parsed notebook. What it does not understand it keeps as it is.
type Notebook struct {
	Cells  []Cell
	top    map[string]json.RawMessage
	indent string
	ended  bool // the file ends in a newline
}

// Cell is a cell of a notebook.
type Cell struct {
	Kind   string // code, markdown or raw
	ID     string // "": it has none
	Source string
	Count  int // of the execution; 0: it did not run
	raw    map[string]json.RawMessage
}

// Picture is a picture among the outputs.
type Picture struct {
	MIME string
	Data []byte
}

// errForm says that a file is no notebook.
var errForm = errors.New("it is not a notebook of the format 4: it has no list of cells")

// Parse reads a notebook.
func Parse(data []byte) (*Notebook, error) {
	n := &Notebook{indent: indentOf(data), ended: bytes.HasSuffix(data, []byte("\n"))}
	if err := json.Unmarshal(data, &n.top); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	var cells []map[string]json.RawMessage
	if n.top["cells"] == nil || json.Unmarshal(n.top["cells"], &cells) != nil {
		return nil, errForm
	}
	for _, raw := range cells {
		if raw == nil {
			return nil, errForm
		}
		c := Cell{raw: raw, Kind: text(raw["cell_type"]), ID: text(raw["id"]), Source: text(raw["source"])}
		_ = json.Unmarshal(raw["execution_count"], &c.Count)
		n.Cells = append(n.Cells, c)
	}
	return n, nil
}

// indentOf returns the indent of the file; notebooks are written with one space.
func indentOf(data []byte) string {
	_, rest, found := bytes.Cut(data, []byte("\n"))
	if indent := rest[:len(rest)-len(bytes.TrimLeft(rest, " \t"))]; found && len(indent) > 0 {
		return string(indent)
	}
	return " "
}

// text reads a text, which a notebook may write as a list of its lines.
func text(raw json.RawMessage) string {
	var whole string
	if json.Unmarshal(raw, &whole) == nil {
		return whole
	}
	var lines []string
	_ = json.Unmarshal(raw, &lines) // what is neither is no text
	return strings.Join(lines, "")
}

// output is an output of a cell, in the fields that are shown.
type output struct {
	Kind      string                     `json:"output_type"`
	Text      json.RawMessage            `json:"text"`
	Data      map[string]json.RawMessage `json:"data"`
	Name      string                     `json:"ename"`
	Value     string                     `json:"evalue"`
	Traceback []string                   `json:"traceback"`
}

const (
	maxOutput   = 8 << 10 // bytes of one output that are shown
	maxPictures = 8
	maxPicture  = 5 << 20
)

// Render writes the notebook for a reader: each cell with its number, kind and source,
// and the text of its outputs. Pictures stand in it as numbers.
func (n *Notebook) Render() (string, []Picture) {
	var b strings.Builder
	var pictures []Picture
	for i, c := range n.Cells {
		fmt.Fprintf(&b, "── cell %d: %s", i+1, c.Kind)
		if c.ID != "" {
			fmt.Fprintf(&b, ", id %s", c.ID)
		}
		if c.Count > 0 {
			fmt.Fprintf(&b, ", run %d", c.Count)
		}
		b.WriteString(" ──\n")
		writeBlock(&b, c.Source)
		var outputs []output
		_ = json.Unmarshal(c.raw["outputs"], &outputs)
		for _, o := range outputs {
			pictures = o.write(&b, pictures)
		}
	}
	return b.String(), pictures
}

func writeBlock(b *strings.Builder, text string) {
	b.WriteString(text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
}

func (o *output) write(b *strings.Builder, pictures []Picture) []Picture {
	b.WriteString("── output:\n")
	switch o.Kind {
	case "stream":
		writeBlock(b, bounded(text(o.Text)))
	case "error":
		fmt.Fprintf(b, "%s: %s\n", o.Name, o.Value)
		writeBlock(b, bounded(withoutEscapes(strings.Join(o.Traceback, "\n"))))
	default:
		for _, mime := range []string{"image/png", "image/jpeg", "image/gif", "image/webp"} {
			if raw, ok := o.Data[mime]; ok {
				return addPicture(b, pictures, mime, text(raw))
			}
		}
		for _, mime := range []string{"text/plain", "text/markdown", "image/svg+xml", "application/json", "text/html"} {
			if raw, ok := o.Data[mime]; ok {
				if mime == "application/json" {
					writeBlock(b, bounded(string(raw)))
				} else {
					writeBlock(b, bounded(text(raw)))
				}
				break
			}
		}
	}
	return pictures
}

func addPicture(b *strings.Builder, pictures []Picture, mime, encoded string) []Picture {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(encoded), ""))
	if err != nil || len(data) > maxPicture || len(pictures) == maxPictures {
		fmt.Fprintf(b, "[a picture, %s, not shown]\n", mime)
		return pictures
	}
	fmt.Fprintf(b, "[picture %d, %s]\n", len(pictures)+1, mime)
	return append(pictures, Picture{mime, data})
}

// bounded cuts a long output in its middle, at lines where it has some.
func bounded(s string) string {
	if len(s) <= maxOutput {
		return s
	}
	head, tail := s[:maxOutput/2], s[len(s)-maxOutput/2:]
	if i := strings.LastIndexByte(head, '\n'); i > 0 {
		head = head[:i+1]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 {
		tail = tail[i+1:]
	}
	left := len(s) - len(head) - len(tail)
	return strings.ToValidUTF8(fmt.Sprintf("%s\n[… %d bytes of output …]\n%s", head, left, tail), "�")
}

// withoutEscapes removes the escape sequences with which a traceback is coloured.
func withoutEscapes(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != 0x1b {
			b.WriteByte(s[i])
			continue
		}
		for i++; i < len(s) && (s[i] < '@' || s[i] > '~' || s[i] == '['); i++ {
		}
	}
	return b.String()
}

// Find returns the index of a cell by its ID, or by its number from 1.
func (n *Notebook) Find(id string, number int) (int, error) {
	if id != "" {
		if i := slices.IndexFunc(n.Cells, func(c Cell) bool { return c.ID == id }); i >= 0 {
			return i, nil
		}
		return 0, fmt.Errorf("there is no cell with the id %q among the %d", id, len(n.Cells))
	}
	if number < 1 || number > len(n.Cells) {
		return 0, fmt.Errorf("there is no cell %d; the notebook has %d", number, len(n.Cells))
	}
	return number - 1, nil
}

// Replace gives a cell a new source, and with kind another kind. The outputs of code
// that is replaced are not its any more, and go.
func (n *Notebook) Replace(i int, source, kind string) {
	c := &n.Cells[i]
	if kind != "" && kind != c.Kind {
		c.Kind = kind
		c.raw["cell_type"] = marshal(kind)
		delete(c.raw, "outputs")
		delete(c.raw, "execution_count")
	}
	c.Source = source
	c.raw["source"] = marshal(lines(source))
	if c.Kind == "code" {
		c.raw["outputs"], c.raw["execution_count"] = json.RawMessage("[]"), json.RawMessage("null")
	}
}

// Insert puts a new cell before the index. It has the ID if the notebook's cells have
// one.
func (n *Notebook) Insert(i int, source, kind, id string) {
	c := Cell{Kind: kind, raw: map[string]json.RawMessage{"cell_type": marshal(kind), "metadata": json.RawMessage("{}")}}
	if len(n.Cells) == 0 || n.Cells[0].ID != "" {
		c.ID = id
		c.raw["id"] = marshal(id)
	}
	n.Cells = slices.Insert(n.Cells, i, c)
	n.Replace(i, source, "")
}

// Delete removes a cell.
func (n *Notebook) Delete(i int) { n.Cells = slices.Delete(n.Cells, i, i+1) }

// ErrSize says that a notebook would be larger than it may be.
var ErrSize = errors.New("the notebook would be too large")

// Bytes returns the file, or ErrSize if it would have more than limit bytes.
func (n *Notebook) Bytes(limit int) ([]byte, error) {
	cells := make([]map[string]json.RawMessage, len(n.Cells))
	for i, c := range n.Cells {
		cells[i] = c.raw
	}
	n.top["cells"] = marshal(cells)
	whole := marshal(n.top)
	if indentedSize(whole, len(n.indent)) > limit-len("\n") {
		return nil, ErrSize
	}
	var b bytes.Buffer
	if err := json.Indent(&b, whole, "", n.indent); err != nil {
		return nil, err
	}
	if n.ended {
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}

// indentedSize returns what json.Indent makes of compact JSON, in bytes. The indent is the
// file's own and its values may be nested deep, so each byte could become thousands.
func indentedSize(compact []byte, indent int) (size int) {
	depth, inString := 0, false
	for i := 0; i < len(compact); i++ {
		size++
		switch c := compact[i]; {
		case inString && c == '\\':
			i++
			size++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if next := compact[min(i+1, len(compact)-1)]; next == '}' || next == ']' {
				i++ // an empty one stays together
				size++
				continue
			}
			depth++
			size += 1 + depth*indent
		case c == ',':
			size += 1 + depth*indent
		case c == '}' || c == ']':
			depth--
			size += 1 + depth*indent
		case c == ':':
			size++
		}
	}
	return size
}

// lines writes a text as notebooks do, as the list of its lines.
func lines(text string) []string {
	list := slices.Collect(strings.Lines(text))
	if list == nil {
		list = []string{}
	}
	return list
}

// marshal writes a value as JSON, whose keys are in order, without escapes for HTML.
func marshal(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return json.RawMessage("null") // texts and what was parsed can be written
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
