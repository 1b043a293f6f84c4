package tui

import (
	"fmt"
	"strings"

	"callgate/internal/protocol"
	"callgate/internal/tui/termtext"
	"callgate/llm"
)

// usageMeter is what a conversation has taken.
type usageMeter struct {
	window  int // tokens; 0: not known
	context int // tokens that the model was shown last, and answered
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
		parts = append(parts, fmt.Sprintf("%s/%s tokens (%d %%)", tokens(m.context), tokens(m.window), 100*m.context/m.window))
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

// tokens writes a count of tokens as people say it.
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
