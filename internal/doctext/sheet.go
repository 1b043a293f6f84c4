package doctext

import (
	"encoding/xml"
	"strconv"
	"strings"

	"callgate/tool"
)

// The bounds of a row of a sheet, and of the texts that cells share.
const (
	maxColumns = 1_000
	maxTexts   = 2_000_000
	maxRow     = 64 << 10 // bytes: a shared text may be long, and each cell of a row may name it
)

// sheets reads a workbook of Excel: a section for each sheet, a block for each row. The first row
// that holds something is repeated with the others, as it mostly names the columns.
func (a *archived) sheets() error {
	a.title()
	const workbook = "xl/workbook.xml"
	type sheet struct{ name, file string }
	var all []sheet
	targets := a.relations(workbook)
	err := a.walk(workbook, func(t xml.Token) bool {
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "sheet" {
			all = append(all, sheet{oneLine(attr(e, "name")), targets[attr(e, "id")]})
		}
		return len(all) < maxFiles
	})
	if err != nil {
		return a.missing(err)
	}
	shared, err := a.sharedTexts()
	if err != nil {
		return err
	}
	for _, s := range all {
		if a.full() {
			break
		}
		a.begin(Section{Headings: []string{s.name}, Part: s.name, Unit: Row})
		w := rowReader{archived: a, shared: shared}
		switch err := a.walk(s.file, w.visit); {
		case err == errAbsent:
			a.warn("the sheet %s is not in it", tool.Truncate(s.name))
		case err != nil && tool.KindOf(err) == tool.Limited:
			return err
		case err != nil:
			a.warn("the sheet %s is damaged", tool.Truncate(s.name))
		}
	}
	return nil
}

// sharedTexts are the texts that cells name by their numbers. Together they are no longer than the
// text that is read of a document; those behind are empty.
func (a *archived) sharedTexts() ([]string, error) {
	var all []string
	var b strings.Builder
	size := 0
	reading, phonetic := false, false
	err := a.walk("xl/sharedStrings.xml", func(t xml.Token) bool {
		switch t := t.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "si":
				b.Reset()
			case "t":
				reading = true
			case "rPh":
				phonetic = true
			}
		case xml.EndElement:
			switch t.Name.Local {
			case "si":
				one := cellText(b.String())
				if size += len(one); size > a.limits.Text {
					one = ""
				}
				all = append(all, one)
			case "t":
				reading = false
			case "rPh":
				phonetic = false
			}
		case xml.CharData:
			if reading && !phonetic {
				b.Write(beginning(t, maxRow-b.Len()))
			}
		}
		return len(all) < maxTexts
	})
	if err == errAbsent {
		err = nil // a workbook of numbers alone
	}
	return all, err
}

// rowReader reads the rows of one sheet.
type rowReader struct {
	*archived
	shared []string

	row, column int
	kind        string // of the cell
	value       strings.Builder
	reading     bool
	cells       []string
	size        int // bytes of the row's cells
}

func (w *rowReader) visit(t xml.Token) bool {
	switch t := t.(type) {
	case xml.StartElement:
		switch t.Name.Local {
		case "row":
			w.row++
			if n, err := strconv.Atoi(attr(t, "r")); err == nil && n > 0 {
				w.row = n
			}
			w.cells, w.column, w.size = w.cells[:0], -1, 0
		case "c":
			w.column++
			if n := columnOf(attr(t, "r")); n >= 0 {
				w.column = n
			}
			w.kind = attr(t, "t")
			w.value.Reset()
		case "v", "t":
			w.reading = true
		}
	case xml.EndElement:
		switch t.Name.Local {
		case "v", "t":
			w.reading = false
		case "c":
			w.cell()
		case "row":
			return w.endRow()
		}
	case xml.CharData:
		if w.reading {
			w.value.Write(beginning(t, maxRow-w.value.Len()))
		}
	}
	return true
}

func (w *rowReader) cell() {
	text := w.value.String()
	switch w.kind {
	case "s":
		n, err := strconv.Atoi(text)
		if text = ""; err == nil && n >= 0 && n < len(w.shared) {
			text = w.shared[n]
		}
	case "b":
		text = map[string]string{"0": "FALSE", "1": "TRUE"}[text]
	default:
		text = cellText(text)
	}
	if text == "" || w.column >= maxColumns || w.size >= maxRow {
		return
	}
	w.size += len(text)
	for len(w.cells) <= w.column {
		w.cells = append(w.cells, "")
	}
	w.cells[w.column] = text
}

func (w *rowReader) endRow() bool {
	line := rowText(w.cells)
	if line == "" { // of signs that only divide cells: it costs as much as any other
		return w.charge(w.size)
	}
	if w.section.Lead == "" && len(w.section.Blocks) == 0 {
		w.section.Lead = oneLine(line)
	}
	return w.add(line, w.row, w.row)
}

// columnOf is the number of a column, from 0, by the name of a cell such as AB12; -1: it has none.
func columnOf(cell string) int {
	n := 0
	for _, c := range strings.ToUpper(cell) {
		if c < 'A' || c > 'Z' || n > maxColumns*26 {
			break
		}
		n = n*26 + int(c-'A') + 1
	}
	return n - 1
}
