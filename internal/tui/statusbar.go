package tui

import (
	"fmt"
	"strings"
	"time"

	"callgate/internal/amount"
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
func (s *statusBar) top(width int, t *turn, now time.Time) string {
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
		line += t.spent(now)
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

// turnUsage is what a turn has used so far.
type turnUsage struct {
	done    llm.Usage // of the answers that have ended
	current llm.Usage // of the one that comes, as far as the provider tells
	written int       // bytes of the one that comes
}

// count adds an answer that has ended.
func (u *turnUsage) count(answer llm.Usage) {
	u.done, u.current, u.written = u.done.Add(answer), llm.Usage{}, 0
}

// spent says what a turn has taken: time, tokens and, where prices are known, money.
func (t *turn) spent(now time.Time) string {
	var parts []string
	if took := now.Sub(t.began); took >= time.Second {
		parts = append(parts, seconds(took))
	}
	u := t.usage
	if in := u.done.Input + u.current.Input; in > 0 {
		parts = append(parts, tokens(in)+" in")
	}
	if out := u.done.Output + max(u.current.Output, u.written/bytesPerToken); out > 0 {
		parts = append(parts, tokens(out)+" out")
	}
	if cost := u.done.Cost + u.current.Cost; u.done.Priced && cost > 0 {
		parts = append(parts, fmt.Sprintf("$%.4f", float64(cost)/1e6))
	}
	if len(parts) == 0 {
		return ""
	}
	return " · " + strings.Join(parts, " · ")
}

// bytesPerToken is about what a token of an answer has, until the provider counts.
const bytesPerToken = 4

// seconds writes how long a turn takes, in whole seconds.
func seconds(d time.Duration) string {
	if d < 2*time.Minute {
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
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
	return strings.Join(append(parts, amount.Of(m.calls, "call")), " · ")
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
