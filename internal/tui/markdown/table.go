package markdown

import (
	"strings"
)

// tableData is what a table holds. The first row is the head. A row may have
// fewer cells than there are columns.
type tableData struct {
	rows  [][]string
	align []alignment
}

// alignment is where in its column a cell stands.
type alignment uint8

const (
	left alignment = iota
	centre
	right
)

// isTable reports whether a table begins at a line: a row, and below it a row
// of dashes with as many cells.
func (p *parser) isTable(at int) bool {
	if at+1 >= len(p.lines) || !strings.Contains(p.lines[at], "|") {
		return false
	}
	align, ok := alignments(p.lines[at+1])
	return ok && len(align) <= maxColumns && len(align) == len(cells(p.lines[at]))
}

// maxColumns is the number of columns that a screen has room for.
const maxColumns = 64

// table reads a table, up to an empty line or one that begins another block.
func (p *parser) table() {
	var t tableData
	t.align, _ = alignments(p.lines[p.next+1])
	t.rows = [][]string{cells(p.lines[p.next])}
	for p.next += 2; p.next < len(p.lines); p.next++ {
		line := p.lines[p.next]
		if isBlank(line) || interrupts(line) {
			break
		}
		row := cells(line)
		row = row[:min(len(row), maxColumns)]
		for len(row) > len(t.align) { // cells beyond those of the head are shown, too
			t.align = append(t.align, left)
		}
		t.rows = append(t.rows, row)
	}
	p.add(block{kind: table, table: t})
}

// alignments reads the row under the head: dashes, with a colon on the side to
// which the column is aligned.
func alignments(line string) ([]alignment, bool) {
	if indentOf(line) >= codeIndent || !strings.Contains(line, "-") || strings.Trim(line, " |:-") != "" {
		return nil, false
	}
	var out []alignment
	for _, cell := range cells(line) {
		dashes := strings.TrimSuffix(strings.TrimPrefix(cell, ":"), ":")
		if dashes == "" || strings.Trim(dashes, "-") != "" {
			return nil, false
		}
		a := left
		if strings.HasSuffix(cell, ":") {
			a = right
			if strings.HasPrefix(cell, ":") {
				a = centre
			}
		}
		out = append(out, a)
	}
	return out, len(out) > 0
}

// cells splits a row at its bars. A bar after a backslash is text.
func cells(line string) []string {
	line = strings.Trim(line, " ")
	line = strings.TrimPrefix(line, "|")
	var out []string
	var cell strings.Builder
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line) && line[i+1] == '|':
			cell.WriteByte('|')
			i++
		case line[i] == '\\' && i+1 < len(line):
			cell.WriteString(line[i : i+2])
			i++
		case line[i] == '|':
			out = append(out, strings.Trim(cell.String(), " "))
			cell.Reset()
		default:
			cell.WriteByte(line[i])
		}
	}
	if last := strings.Trim(cell.String(), " "); last != "" || !strings.HasSuffix(line, "|") {
		out = append(out, last)
	}
	return out
}
