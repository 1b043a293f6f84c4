// Package chart draws what the surface of a model costs: a table, bars and a
// picture.
package chart

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"callgate/internal/amount"
	"callgate/internal/protocol"
)

// tableRows is the number of tools in a table.
const tableRows = 20

// bar is one line of the picture.
type bar struct {
	name   string
	tokens int
	shown  bool
}

// barsOf are what the three modes cost. The bar of the mode in use is what is
// really shown; otherwise compact_direct counts as in the calculation.
func barsOf(p *protocol.Surface) (list []bar, longest int) {
	list = []bar{
		{"direct", p.ToolTokens, p.Mode == "direct"},
		{"compact_direct", p.CompactTokens, p.Mode == "compact_direct"},
		{"discovery", p.DiscoveryTokens, p.Mode == "discovery"},
	}
	longest = max(1, p.Budget)
	for i := range list {
		if list[i].shown {
			list[i].tokens = p.ShownTokens
		}
		longest = max(longest, list[i].tokens)
	}
	return list, longest
}

// Table writes the decision, what each mode costs, and the largest tools.
func Table(w io.Writer, p *protocol.Surface) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-10s %s\n", "mode", p.Mode)
	fmt.Fprintf(&b, "%-10s %d tokens (%s)\n", "window", p.Window, p.WindowFrom)
	fmt.Fprintf(&b, "%-10s %d tokens\n", "budget", p.Budget)
	fmt.Fprintf(&b, "%-10s %s, %d tokens\n", "shown", amount.Of(len(p.Shown), "tool"), p.ShownTokens)
	fmt.Fprintf(&b, "%-10s %s\n", "why", p.Reason)
	for i, change := range p.WouldChange {
		fmt.Fprintf(&b, "%-10s %s\n", label(i == 0, "otherwise"), change)
	}
	for i, name := range p.Unmatched {
		fmt.Fprintf(&b, "%-10s %s\n", label(i == 0, "not found"), name)
	}
	fmt.Fprintf(&b, "\n%-16s %9s  %s\n", "MODE", "TOKENS", "OF BUDGET")
	list, _ := barsOf(p)
	for _, one := range list {
		percent := one.tokens * 100 / max(1, p.Budget)
		fmt.Fprintf(&b, "%-16s %9d  %8d%%%s\n", one.name, one.tokens, percent, label(one.shown, "  shown"))
	}
	if len(p.PerTool) > 0 {
		toolRows(&b, p.PerTool)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func toolRows(b *strings.Builder, perTool []protocol.ToolCost) {
	rows := slices.Clone(perTool)
	slices.SortStableFunc(rows, func(a, b protocol.ToolCost) int { return cmp.Compare(b.Tokens, a.Tokens) })
	left := max(0, len(rows)-tableRows)
	rows = rows[:len(rows)-left]
	width := len("TOOL")
	for _, row := range rows {
		width = max(width, utf8.RuneCountInString(row.Name))
	}
	fmt.Fprintf(b, "\n%-*s %9s\n", width, "TOOL", "TOKENS")
	for _, row := range rows {
		fmt.Fprintf(b, "%-*s %9d\n", width, row.Name, row.Tokens)
	}
	if left > 0 {
		fmt.Fprintf(b, "… and %s more, all smaller\n", amount.Of(left, "tool"))
	}
}

func label(is bool, word string) string {
	if is {
		return word
	}
	return ""
}

// Bars writes what each mode costs as bars against the budget, no wider
// than width; 0 is 72 columns. ASCIIBars is the same for a terminal that
// has only ASCII.
func Bars(w io.Writer, p *protocol.Surface, width int) error {
	return drawBars(w, p, width, glyphs{full: "█", budget: "│", over: "┃", shown: "◀"})
}

// ASCIIBars is Bars in plain ASCII.
func ASCIIBars(w io.Writer, p *protocol.Surface, width int) error {
	return drawBars(w, p, width, glyphs{full: "#", budget: "|", over: "|", shown: "<"})
}

// glyphs are the characters of a picture.
type glyphs struct {
	full   string
	budget string // the budget's mark where no bar is
	over   string // and where one passes it
	shown  string
}

func drawBars(w io.Writer, p *protocol.Surface, width int, with glyphs) error {
	const names, numbers, shortest = len("compact_direct "), 12, 10
	list, longest := barsOf(p)
	space := max(cmp.Or(max(width, 0), 72)-names-numbers, shortest)
	columns := func(tokens int) int {
		if tokens == 0 {
			return 0
		}
		return max(1, tokens*space/longest)
	}
	mark := min(columns(p.Budget), space-1)
	var b strings.Builder
	for _, one := range list {
		fmt.Fprintf(&b, "%-*s", names, one.name)
		filled := columns(one.tokens)
		for column := range space {
			switch {
			case column == mark && column < filled:
				b.WriteString(with.over)
			case column == mark:
				b.WriteString(with.budget)
			case column < filled:
				b.WriteString(with.full)
			default:
				b.WriteByte(' ')
			}
		}
		fmt.Fprintf(&b, " %9d%s\n", one.tokens, label(one.shown, " "+with.shown))
	}
	note := fmt.Sprintf("budget %d", p.Budget)
	at := min(names+mark, max(0, names+space-len(note)))
	fmt.Fprintf(&b, "%*s%s\n", at, "", note)
	_, err := io.WriteString(w, b.String())
	return err
}

// SVG writes the same bars as a picture that refers to nothing else.
func SVG(w io.Writer, p *protocol.Surface) error {
	const left, room, top, step, tall = 130, 420, 44, 34, 22
	list, longest := barsOf(p)
	long := func(tokens int) int { return tokens * room / longest }
	var b strings.Builder
	printf := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	bottom := top + step*len(list)
	printf(`<svg xmlns="http://www.w3.org/2000/svg" width="660" height="%d" viewBox="0 0 660 %[1]d" role="img"`, bottom+30)
	printf(` aria-label="tokens of each mode against the budget" font-family="sans-serif" font-size="13">` + "\n")
	printf(`<rect width="660" height="%d" fill="#ffffff"/>`+"\n", bottom+30)
	printf(`<text x="16" y="26" font-weight="bold" fill="#1f2933">%s: %d tokens of a window of %d</text>`+"\n",
		p.Mode, p.ShownTokens, p.Window)
	for i, one := range list {
		y, width, colour := top+step*i, max(1, long(one.tokens)), "#9fb3c8"
		if one.shown {
			colour = "#2b6cb0"
		}
		printf(`<text x="%d" y="%d" text-anchor="end" fill="#1f2933">%s</text>`, left-8, y+tall-6, one.name)
		printf(`<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`, left, y, width, tall, colour)
		printf(`<text x="%d" y="%d" fill="#1f2933">%d</text>`+"\n", left+width+6, y+tall-6, one.tokens)
	}
	x := left + long(p.Budget)
	printf(`<line x1="%d" y1="%d" x2="%[1]d" y2="%[3]d" stroke="#c53030" stroke-dasharray="4 3"/>`, x, top-6, bottom)
	printf(`<text x="%d" y="%d" text-anchor="middle" fill="#c53030">budget %d</text>`+"\n</svg>\n", x, bottom+16, p.Budget)
	_, err := io.WriteString(w, b.String())
	return err
}
