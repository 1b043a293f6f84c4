package htmlquery

import (
	"strconv"

	"github.com/PuerkitoBio/goquery"
)

// Table is a table of a page.
type Table struct {
	Caption string     `json:"caption,omitempty"`
	Header  []string   `json:"header,omitempty"`
	Rows    [][]string `json:"rows"`
	Count   int        `json:"count"` // of all rows, without the header
}

const maxSpan = 50 // columns or rows of one cell

// Tables returns the tables of the page, or of what the selectors match. A cell
// that spans several columns or rows is repeated in each of them, so that every
// row can be read by itself. A table that holds other tables only makes a
// layout, and is left out.
func (p *Page) Tables(selectors []Selector) []Table {
	out := []Table{}
	part := p.within(selectors)
	part.Find("table").AddSelection(part.Filter("table")).EachWithBreak(func(_ int, s *goquery.Selection) bool {
		if s.Find("table").Length() > 0 {
			return true
		}
		if len(out) >= maxTables || p.left <= 0 {
			p.Cut = true
			return false
		}
		if t := p.table(s); len(t.Rows) > 0 || len(t.Header) > 0 {
			out = append(out, t)
		}
		return true
	})
	return out
}

// rowspanCell is a cell of an earlier row that spans into the next rows.
type rowspanCell struct {
	text string
	rows int // that it still spans
}

func (p *Page) table(s *goquery.Selection) Table {
	t := Table{Caption: p.text(s.Find("caption").First()), Rows: [][]string{}}
	open := make([]rowspanCell, maxColumns)
	s.Find("tr").Each(func(i int, tr *goquery.Selection) {
		cells := tr.ChildrenFiltered("td,th")
		if cells.Length() == 0 {
			return
		}
		heads := cells.Filter("th").Length() == cells.Length() || tr.ParentFiltered("thead").Length() > 0
		if heads && t.Header == nil && len(t.Rows) == 0 {
			t.Header = p.row(cells, open)
			return
		}
		if t.Count++; len(t.Rows) >= maxRows || p.left <= 0 {
			p.Cut = true
			return
		}
		t.Rows = append(t.Rows, p.row(cells, open))
	})
	return t
}

// row returns the texts of a row, including cells above that span into it. Open
// holds those cells, by column.
func (p *Page) row(cells *goquery.Selection, open []rowspanCell) []string {
	out := []string{}
	add := func(text string, rows int) {
		if len(out) >= maxColumns {
			p.Cut = true
			return
		}
		open[len(out)] = rowspanCell{text, rows}
		out = append(out, text)
	}
	fill := func() {
		for len(out) < maxColumns && open[len(out)].rows > 0 {
			a := open[len(out)]
			add(p.addText(a.text), a.rows-1)
		}
	}
	cells.Each(func(_ int, cell *goquery.Selection) {
		fill()
		text, rows := p.text(cell), span(cell, "rowspan")-1
		add(text, rows)
		for range span(cell, "colspan") - 1 {
			add(p.addText(text), rows)
		}
	})
	fill()
	return out
}

func span(cell *goquery.Selection, key string) int {
	n, err := strconv.Atoi(cell.AttrOr(key, "1"))
	if err != nil || n < 1 {
		return 1
	}
	return min(n, maxSpan)
}
