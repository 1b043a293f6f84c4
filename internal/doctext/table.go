package doctext

import (
	"encoding/csv"
	"errors"
	"io"
	"path"
	"strings"
)

// table reads comma-separated values: a block for each row, with the heads of the columns.
func (r *reader) table(text string) {
	comma := separator(text, path.Ext(r.name))
	c := csv.NewReader(&narrowed{text: text, comma: byte(comma)})
	c.FieldsPerRecord, c.LazyQuotes, c.ReuseRecord, c.Comma = -1, true, true, comma
	r.begin(Section{Unit: Line})
	for rows := 0; !r.full(); rows++ {
		cells, err := c.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			r.warn("it could be read as a table up to a mistake: %v", err)
			return
		}
		first, _ := c.FieldPos(0)
		last, _ := c.FieldPos(len(cells) - 1)
		line := rowText(cells)
		if rows == 0 {
			r.section.Lead = oneLine(line)
		}
		r.add(line, first, last+strings.Count(cells[len(cells)-1], "\n"))
	}
}

// separator is the sign that the first line has most of.
func separator(text, ending string) rune {
	if strings.EqualFold(ending, ".tsv") {
		return '\t'
	}
	line, _, _ := strings.Cut(text, "\n")
	best, most := ',', strings.Count(line, ",")
	for _, sign := range ";\t|" {
		if n := strings.Count(line, string(sign)); n > most {
			best, most = sign, n
		}
	}
	return best
}

// rowText is a row of a table on one line. What is longer than a row may be is left out.
func rowText(cells []string) string {
	var b strings.Builder
	for i, cell := range cells {
		if b.Len() >= maxRow {
			break
		}
		if i > 0 {
			b.WriteString(" | ")
		}
		b.WriteString(beginning(cell, maxRow))
	}
	return strings.TrimRight(cellText(b.String()), " |")
}

// cellText is a text on one line, no longer than a row may be.
func cellText(text string) string {
	return beginning(strings.Join(strings.Fields(clean(beginning(text, maxRow))), " "), maxRow)
}

// maxCells is more cells than the text of a row shows: each takes a sign of its own.
const maxCells = maxRow/len(" | ") + 2

// narrowed gives a table without the cells that no row shows: the reader of tables would
// make a text of each, and a row can be separators and nothing else.
type narrowed struct {
	text  string
	comma byte

	cells  int  // of this row, before
	inside bool // a cell in quotes
	begun  bool // the cell has a sign
	pair   bool // the second of two quotes comes, which are one
}

func (t *narrowed) Read(p []byte) (n int, err error) {
	for n < len(p) && t.text != "" {
		c := t.text[0]
		t.text = t.text[1:]
		t.step(c)
		if t.cells < maxCells {
			p[n] = c
			n++
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// step reads one sign, by the rules of a reader that takes quotes as they come: within
// quotes only one before the end of a cell ends them.
func (t *narrowed) step(c byte) {
	switch {
	case t.inside && t.pair:
		t.pair = false
	case t.inside && c == '"' && strings.HasPrefix(t.text, `"`):
		t.pair = true
	case t.inside && c == '"':
		rest := t.text
		if strings.HasPrefix(rest, "\r\n") {
			rest = rest[1:]
		}
		t.inside = rest != "" && rest[0] != t.comma && rest[0] != '\n'
	case t.inside:
	case c == '\n':
		t.cells, t.begun = 0, false
		return
	case c == t.comma:
		t.cells++
		t.begun = false
		return
	case c == '"' && !t.begun:
		t.inside = true
	}
	t.begun = true
}
