package markdown

import (
	"strings"
)

// minColumn is the width that a column keeps where the table has not the room
// for all of it.
const minColumn = 4

// lay lays a table out: its columns as wide as their cells, or narrower where
// the width does not do, with cells broken into lines.
func (t *tableData) lay(width int) []string {
	cells := make([][][]span, len(t.rows))
	columns := make([]int, len(t.align))
	for i, row := range t.rows {
		cells[i] = make([][]span, len(row))
		for j, text := range row {
			cells[i][j] = parseInlines(text)
			columns[j] = max(columns[j], widthOf(cells[i][j]), 1)
		}
	}
	const frame = 3 // a space on either side, and a bar
	if !fit(columns, width-frame*len(columns)+1) {
		return t.layPlain(cells, width)
	}
	var out []string
	for i, row := range cells {
		out = append(out, t.layRow(row, columns)...)
		if i == 0 {
			var line []string
			for _, n := range columns {
				line = append(line, strings.Repeat("─", n+2))
			}
			out = append(out, strings.Join(line, "┼"))
		}
	}
	return out
}

// fit narrows the widest columns until all fit. It reports whether they do.
func fit(columns []int, room int) bool {
	sum := 0
	for _, n := range columns {
		sum += n
	}
	for sum > room {
		first, second := 0, 0 // the widest, and the widest that is narrower
		for _, n := range columns {
			if n > first {
				first, second = n, first
			} else if n < first {
				second = max(second, n)
			}
		}
		if first <= minColumn {
			return false
		}
		for i, n := range columns {
			if n == first && sum > room {
				step := min(n-max(second, minColumn), max(1, (sum-room)/len(columns)))
				columns[i] -= max(step, 1)
				sum -= max(step, 1)
			}
		}
	}
	return true
}

// layRow lays out one row.
func (t *tableData) layRow(row [][]span, columns []int) []string {
	height := 1
	wrapped := make([][][]span, len(columns))
	for i, cell := range row {
		wrapped[i] = wrap(cell, columns[i])
		height = max(height, len(wrapped[i]))
	}
	out := make([]string, height)
	for y := range out {
		var line strings.Builder
		for i, cell := range wrapped {
			var text []span
			if y < len(cell) {
				text = cell[y]
			}
			gap := max(columns[i]-widthOf(text), 0)
			before := 0
			switch t.align[i] {
			case centre:
				before = gap / 2
			case right:
				before = gap
			}
			if i > 0 {
				line.WriteString("│")
			}
			line.WriteString(strings.Repeat(" ", before+1) + write(text) + strings.Repeat(" ", gap-before+1))
		}
		out[y] = strings.TrimRight(line.String(), " ")
	}
	return out
}

// layPlain lays out a table that is too wide in any form: each row as its cells
// one after another.
func (t *tableData) layPlain(cells [][][]span, width int) []string {
	var out []string
	for _, row := range cells {
		var spans []span
		for i, cell := range row {
			if i > 0 {
				spans = append(spans, span{" │ ", 0})
			}
			spans = append(spans, cell...)
		}
		out = append(out, laySpans(spans, width)...)
	}
	return out
}
