// Package statusbar is the line above the composer, which says what is under way, and
// the line below it, which says what the conversation has used and may do.
package statusbar

import (
	"fmt"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/protocol"
	"callgate/internal/tui/termtext"
	"callgate/llm"
)

// Bar is both lines. The zero value says that nothing is under way.
type Bar struct {
	Hint  string // until the next key
	Frame int    // of the spinner
	Meter Meter
	Mode  protocol.PermissionMode
	// Agents and Tasks are those that have not ended.
	Agents, Tasks int
}

// Turn is what the bar says of a turn.
type Turn struct {
	Began    time.Time
	Stopping bool
	Calls    int       // under way
	Again    time.Time // when the model is asked again; zero: it is not waited for
	Usage    TurnUsage
}

// spinner is drawn while a turn runs, a character for each frame.
const spinner = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

// Top is the line above the composer. t is the turn under way, or nil.
func (s *Bar) Top(width int, t *Turn, now time.Time) string {
	line := ""
	switch {
	case t == nil && s.Hint != "":
		return termtext.Warn(termtext.Truncate(s.Hint, width))
	case t == nil:
		return termtext.Faint(strings.Repeat("─", width))
	case t.Stopping:
		line = "stopping; once more leaves"
	case s.Hint != "":
		line = s.Hint
	default:
		line = "working; esc stops it"
		if n := t.Calls; n == 1 {
			line = "a call runs; esc stops it"
		} else if n > 1 {
			line = fmt.Sprintf("%d calls run; esc stops them", n)
		} else if left := t.Again.Sub(now); left > 0 {
			line = "the model is asked again in " + seconds(left+time.Second-1) + "; esc stops it"
		}
		line += t.spent(now)
	}
	marks := []rune(spinner)
	mark := string(marks[s.Frame%len(marks)])
	return termtext.Accent(mark) + " " + termtext.Warn(termtext.Truncate(line, width-2))
}

// Bottom is the last line. following says that the transcript shows its end.
func (s *Bar) Bottom(width int, following bool) string {
	right := "/help"
	if !following {
		right = "more below: ctrl+end"
	}
	left, painted := s.Meter.String(), s.Meter.painted()
	for _, n := range []struct {
		n    int
		noun string
	}{{s.Tasks, "task"}, {s.Agents, "agent"}} {
		if n.n > 0 {
			running := amount.Of(n.n, n.noun)
			left, painted = running+" · "+left, termtext.Accent(running)+termtext.Faint(" · ")+painted
		}
	}
	if s.Mode != "" && s.Mode != protocol.ModeAsk { // a mode that is not the usual one stands first
		left = string(s.Mode) + " · " + left
		painted = termtext.Accent(string(s.Mode)) + termtext.Faint(" · ") + painted
	}
	gap := width - termtext.Width(left) - termtext.Width(right)
	if gap < 1 {
		return termtext.Truncate(painted, width)
	}
	return painted + strings.Repeat(" ", gap) + termtext.Faint(right)
}

// TurnUsage is what a turn has used so far.
type TurnUsage struct {
	Current llm.Usage // of the answer that comes, as far as the provider tells
	Written int       // bytes of the one that comes
	done    llm.Usage // of the answers that have ended
}

// Count adds an answer that has ended.
func (u *TurnUsage) Count(answer llm.Usage) {
	u.done, u.Current, u.Written = u.done.Add(answer), llm.Usage{}, 0
}

// spent says what a turn has taken: time, tokens and, where prices are known, money.
func (t *Turn) spent(now time.Time) string {
	var parts []string
	if took := now.Sub(t.Began); took >= time.Second {
		parts = append(parts, seconds(took))
	}
	u := t.Usage
	if in := u.done.Input + u.Current.Input; in > 0 {
		parts = append(parts, Tokens(in)+" in")
	}
	if out := u.done.Output + max(u.Current.Output, u.Written/bytesPerToken); out > 0 {
		parts = append(parts, Tokens(out)+" out")
	}
	if cost := u.done.Cost + u.Current.Cost; u.done.Priced && cost > 0 {
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

// Meter counts what a conversation has used.
type Meter struct {
	Window  int // tokens; 0: unknown
	Context int // tokens of the last request and its answer
	Calls   int
	usage   llm.Usage
}

// Set takes the kernel's own count.
func (m *Meter) Set(i protocol.ConversationInfo) {
	m.usage, m.Calls = i.Usage, i.ToolCalls
}

// Count adds one answer.
func (m *Meter) Count(u llm.Usage) {
	m.Context = u.Input + u.Output
	m.usage = m.usage.Add(u)
}

// String is the meter in one line.
func (m *Meter) String() string {
	var parts []string
	switch {
	case m.Window > 0:
		share := 100 * m.Context / m.Window
		parts = append(parts, fmt.Sprintf("%s/%s tokens (%d %%)", Tokens(m.Context), Tokens(m.Window), share))
	case m.Context > 0:
		parts = append(parts, Tokens(m.Context)+" tokens")
	}
	if m.usage.Priced && m.usage.Cost > 0 {
		parts = append(parts, fmt.Sprintf("$%.4f", float64(m.usage.Cost)/1e6))
	}
	return strings.Join(append(parts, amount.Of(m.Calls, "call")), " · ")
}

// painted warns when the window is nearly full.
func (m *Meter) painted() string {
	if m.Window > 0 && m.Context*10 > m.Window*8 {
		return termtext.Warn(m.String())
	}
	return termtext.Faint(m.String())
}

// Tokens writes a number of tokens in short.
func Tokens(n int) string {
	switch {
	case n < 1_000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return strings.Replace(fmt.Sprintf("%.1fk", float64(n)/1e3), ".0k", "k", 1)
	default:
		return strings.Replace(fmt.Sprintf("%.1fM", float64(n)/1e6), ".0M", "M", 1)
	}
}
