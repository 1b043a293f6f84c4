package conversations

import (
	"strings"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/tool"
)

// maxOutputLines is how many lines of what a call prints are shown on a terminal.
const (
	maxOutputLines = 12
	maxOutputLine  = 400 // bytes of one of them
)

// outputLines bounds what running calls print on a terminal. In a file everything
// stands. The zero value bounds nothing.
type outputLines struct {
	bounded bool
	calls   map[string]*outputOf
}

// outputOf is what one call has printed.
type outputOf struct {
	shown, hidden int  // lines
	inLine        bool // the last line has not ended
}

// take returns the part of a piece that is shown.
func (o *outputLines) take(call, piece string) string {
	if !o.bounded || piece == "" {
		return piece
	}
	if o.calls == nil {
		o.calls = map[string]*outputOf{}
	}
	c := o.calls[call]
	if c == nil {
		c = &outputOf{}
		o.calls[call] = c
	}
	var shown strings.Builder
	for line := range strings.Lines(piece) {
		begins := !c.inLine
		c.inLine = !strings.HasSuffix(line, "\n")
		switch {
		case begins && c.shown == maxOutputLines:
			c.hidden++
		case begins:
			c.shown++
			fallthrough
		case c.hidden == 0:
			shown.WriteString(clipLine(line))
		}
	}
	return shown.String()
}

// clipLine is a line of at most maxOutputLine bytes.
func clipLine(line string) string {
	if len(line) <= maxOutputLine {
		return line
	}
	return tool.TruncateTo(strings.TrimRight(line, "\n"), maxOutputLine) + "\n"
}

// ended returns how many lines of a call were not shown.
func (o *outputLines) ended(call string) int {
	c := o.calls[call]
	if c == nil {
		return 0
	}
	delete(o.calls, call)
	return c.hidden
}

// more is an amount that follows: "3 more lines".
func more(n int, what string) string {
	return strings.Replace(amount.Of(n, what), " ", " more ", 1)
}

func isTerminal(stream any) bool {
	_, is := command.Terminal(stream)
	return is
}
