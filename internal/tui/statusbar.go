package tui

import (
	"fmt"
	"strings"

	"callgate/internal/protocol"
	"callgate/internal/tui/termtext"
	"callgate/llm"
)

// statusBar is the line above the composer, which says what is under way, and
// the line below it, which says what the conversation has used.
type statusBar struct {
	hint  string // until the next key
	frame int    // of the spinner
	meter usageMeter
}

// spinner is drawn while a turn runs, a character for each frame.
const spinner = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

// top is the line above the composer. t is the turn under way, or nil.
func (s *statusBar) top(width int, t *turn) string {
	line := ""
	switch {
	case t == nil && s.hint != "":
		return termtext.Warn(termtext.Truncate(s.hint, width))
	case t == nil:
		return termtext.Faint(strings.Repeat("─", width))
	case t.stopping:
		line = "stopping; once more leaves"
	case s.hint != "":
		line = s.hint
	default:
		line = "working; esc stops it"
		if n := t.openCalls(); n == 1 {
			line = "a call runs; esc stops it"
		} else if n > 1 {
			line = fmt.Sprintf("%d calls run; esc stops them", n)
		}
	}
	marks := []rune(spinner)
	mark := string(marks[s.frame%len(marks)])
	return termtext.Accent(mark) + " " + termtext.Warn(termtext.Truncate(line, width-2))
}

// bottom is the last line. following says that the transcript shows its end.
func (s *statusBar) bottom(width int, following bool) string {
	right := "/help"
	if !following {
		right = "more below: ctrl+end"
	}
	left := s.meter.String()
	gap := width - termtext.Width(left) - termtext.Width(right)
	if gap < 1 {
		return termtext.Faint(termtext.Truncate(left, width))
	}
	return s.meter.painted() + strings.Repeat(" ", gap) + termtext.Faint(right)
}

// usageMeter counts what a conversation has used.
type usageMeter struct {
	window  int // tokens; 0: unknown
	context int // tokens of the last request and its answer
	usage   llm.Usage
	calls   int
}

// set takes the kernel's own count.
func (m *usageMeter) set(i protocol.ConversationInfo) {
	m.usage, m.calls = i.Usage, i.ToolCalls
}

// count adds one answer.
func (m *usageMeter) count(u llm.Usage) {
	m.context = u.Input + u.Output
	m.usage = m.usage.Add(u)
}

// String is the meter in one line.
func (m *usageMeter) String() string {
	var parts []string
	switch {
	case m.window > 0:
		share := 100 * m.context / m.window
		parts = append(parts, fmt.Sprintf("%s/%s tokens (%d %%)", tokens(m.context), tokens(m.window), share))
	case m.context > 0:
		parts = append(parts, tokens(m.context)+" tokens")
	}
	if m.usage.Priced && m.usage.Cost > 0 {
		parts = append(parts, fmt.Sprintf("$%.4f", float64(m.usage.Cost)/1e6))
	}
	calls := "1 call"
	if m.calls != 1 {
		calls = fmt.Sprintf("%d calls", m.calls)
	}
	return strings.Join(append(parts, calls), " · ")
}

// painted warns when the window is nearly full.
func (m *usageMeter) painted() string {
	if m.window > 0 && m.context*10 > m.window*8 {
		return termtext.Warn(m.String())
	}
	return termtext.Faint(m.String())
}

// tokens writes a number of tokens in short.
func tokens(n int) string {
	switch {
	case n < 1_000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return strings.Replace(fmt.Sprintf("%.1fk", float64(n)/1e3), ".0k", "k", 1)
	default:
		return strings.Replace(fmt.Sprintf("%.1fM", float64(n)/1e6), ".0M", "M", 1)
	}
}
