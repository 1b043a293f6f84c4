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
	c := csv.NewReader(strings.NewReader(text))
	c.FieldsPerRecord, c.LazyQuotes, c.ReuseRecord = -1, true, true
	c.Comma = separator(text, path.Ext(r.name))
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
