package markdown

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// The limits of a table. The cells of a wider table are written as paragraphs.
const (
	maxColumns = 200
	maxSpan    = 20 // columns or rows of one cell
)

// table writes a table of short texts. A table that holds lists, headings or
// other tables only makes a layout; the contents of its cells are written one
// after the other.
func table(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
	rows, caption, ok := rowsOf(n)
	if !ok {
		_, _ = w.WriteString("\n\n")
		ctx.RenderChildNodes(ctx, w, n)
		_, _ = w.WriteString("\n\n")
		return converter.RenderSuccess
	}
	var g grid
	for _, row := range rows {
		g.row(ctx, row)
	}
	if caption != nil {
		_, _ = w.WriteString("\n\n")
		ctx.RenderChildNodes(ctx, w, caption)
	}
	_, _ = w.WriteString("\n\n" + g.text() + "\n\n")
	return converter.RenderSuccess
}

// rowsOf returns the rows of a table, and its caption. It reports whether the
// table can be written in rows.
func rowsOf(n *html.Node) (rows []*html.Node, caption *html.Node, ok bool) {
	if strings.EqualFold(attr(n, "role"), "presentation") {
		return nil, nil, false
	}
	for d := range n.Descendants() {
		switch d.DataAtom {
		case atom.Table, atom.Ul, atom.Ol, atom.Blockquote, atom.Pre, atom.Hr,
			atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			return nil, nil, false
		case atom.Caption:
			caption = d
		case atom.Tr:
			cells := 0
			for c := d.FirstChild; c != nil; c = c.NextSibling {
				cells++
			}
			if cells > 2*maxColumns { // with the spaces between them
				return nil, nil, false
			}
			rows = append(rows, d)
		}
	}
	return rows, caption, true
}

// grid holds the texts of a table's cells. A cell that spans several columns or
// rows leaves the others empty.
type grid struct {
	rows [][]string
	open [maxColumns]int // rows that a cell above still spans, by column
}

// row adds a row.
func (g *grid) row(ctx converter.Context, n *html.Node) {
	var cells []string
	empty := true
	fill := func() { // columns of cells above
		for len(cells) < maxColumns && g.open[len(cells)] > 0 {
			g.open[len(cells)]--
			cells = append(cells, "")
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom != atom.Td && c.DataAtom != atom.Th {
			continue
		}
		fill()
		text := cell(ctx, c)
		empty = empty && text == ""
		down := span(c, "rowspan") - 1
		for range span(c, "colspan") {
			if len(cells) < maxColumns {
				g.open[len(cells)] = down
			}
			cells = append(cells, text)
			text = ""
		}
	}
	if fill(); !empty {
		g.rows = append(g.rows, cells)
	}
}

// cell returns the text of a cell on one line.
func cell(ctx converter.Context, n *html.Node) string {
	var b bytes.Buffer
	ctx.RenderChildNodes(ctx, &b, n)
	var lines []string
	for line := range strings.SplitSeq(b.String(), "\n") {
		if line = oneLine(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.ReplaceAll(strings.Join(lines, "<br>"), "|", `\|`)
}

func span(n *html.Node, key string) int {
	v, err := strconv.Atoi(attr(n, key))
	if err != nil || v < 1 || v > maxSpan {
		return 1
	}
	return v
}

// text writes the grid; the first row is the header.
func (g *grid) text() string {
	var b strings.Builder
	for i, row := range g.rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
