package compact_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/conversation/compact"
	"callgate/internal/conversation/history"
	"callgate/llm"
	"callgate/tool"
)

// life is a long conversation that makes itself up: users, answers with calls
// in batches, results of all sizes that come in any order, news, questions for
// a human, turns that are broken off. It is compacted as it goes.
type life struct {
	t       testing.TB
	rand    *rand.Rand
	policy  compact.Policy
	state   *history.State
	events  []history.Event
	said    int             // messages, without summaries
	pending map[string]bool // questions for a human
	asked   int
	newest  llm.Message // of the user
	news    []string    // that the model has not answered

	compactions, shortened, warnings int
}

const system = "You are a test."

func newLife(t testing.TB, seed uint64, policy compact.Policy) *life {
	return &life{t: t, rand: rand.New(rand.NewPCG(seed, 1)), policy: policy, state: &history.State{}, pending: map[string]bool{}}
}

// add writes an event down, and looks at what the log adds up to.
func (l *life) add(e history.Event) {
	l.t.Helper()
	e.Seq = int64(len(l.events) + 1)
	l.events = append(l.events, e)
	l.state.Apply(e)
	if e.Message != nil {
		l.said++
	}
	from := 0
	if e.Type == history.CallMade || e.Type == history.CallEnded { // nothing before the last answer is changed by it
		from = max(len(l.state.Messages)-1, 0)
		for from > 0 && l.state.Messages[from].Role == llm.Tool {
			from--
		}
	}
	if err := whole(l.state, from); err != nil {
		l.t.Fatalf("after event %d (%s): %v", e.Seq, e.Type, err)
	}
}

// text is some words of up to so many bytes; most have few.
func (l *life) text(most int) string {
	n := l.rand.IntN(most)
	if l.rand.IntN(16) > 0 {
		n /= 40
	}
	return strings.Repeat("wörter ", n/8+1)
}

// turn is one turn: the user speaks, the model answers until it is done.
func (l *life) turn() {
	words := llm.TextMessage(llm.User, fmt.Sprintf("request %d: %s", l.said, l.text(1500)))
	l.newest = words
	l.add(history.Event{Type: history.User, Message: &words})
	for range l.rand.IntN(12) {
		if l.rand.IntN(10) == 0 {
			l.note()
		}
		if l.fit(); !l.answer(1 + l.rand.IntN(6)) {
			return // killed in the middle of it
		}
	}
	l.fit()
	if l.rand.IntN(20) == 0 {
		l.add(history.Event{Type: history.TurnEnded, End: &history.End{Reason: history.Failed}})
		return
	}
	l.answer(0)
	l.add(history.Event{Type: history.TurnEnded, End: &history.End{Reason: history.Done}})
	for id := range l.pending {
		if l.rand.IntN(3) == 0 || len(l.pending) > 4 {
			delete(l.pending, id) // it was answered
		}
	}
}

func (l *life) note() {
	m := llm.TextMessage(llm.User, fmt.Sprintf("<note>\nCORE JOB %d ENDED %s\n</note>", l.said, l.text(800)))
	l.news = append(l.news, m.Text())
	l.add(history.Event{Type: history.Note, Message: &m})
}

// answer is one answer of the model, and what its calls give. It reports
// whether all of them ended.
func (l *life) answer(calls int) bool {
	m := llm.TextMessage(llm.Assistant, l.text(800))
	for i := range calls {
		args, _ := json.Marshal(map[string]string{"x": l.text(300)})
		m.Parts = append(m.Parts, llm.Part{Call: &llm.ToolCall{ID: fmt.Sprint("call_", i), Name: "tool", Args: args}})
	}
	l.news = nil
	l.add(history.Event{Type: history.Assistant, Message: &m, Usage: &llm.Usage{Input: 1, Output: 1}})
	for i := range calls {
		l.add(history.Event{Type: history.CallMade, Call: &history.Call{Model: fmt.Sprint("call_", i), ID: fmt.Sprint(len(l.events))}})
	}
	killed := calls > 0 && l.rand.IntN(25) == 0
	for n, i := range l.rand.Perm(calls) {
		if killed && n >= calls/2 {
			if l.rand.IntN(2) == 0 {
				l.compact(compact.Requested) // while a call has no result
			}
			return false
		}
		r := history.Result{Status: tool.Success, Content: []tool.Content{tool.Text(l.text(36_000))}}
		switch l.rand.IntN(30) {
		case 0:
			l.asked++
			r.Status, r.Approval = tool.Waiting, fmt.Sprint("ap", l.asked)
			r.Content = []tool.Content{tool.Text("waits for a human: " + r.Approval + strings.Repeat(" why", l.rand.IntN(60)))}
			l.pending[r.Approval] = true
		case 1:
			r.Content = append(r.Content, tool.Image("image/png", []byte{1, 2, 3}))
		case 2:
			r.Status, r.Content = tool.Failure, nil
		}
		l.add(history.Event{Type: history.CallEnded, Call: &history.Call{Model: fmt.Sprint("call_", i)}, Result: &r})
	}
	return true
}

// shown is what the model would be shown.
func (l *life) shown() (all []compact.Message) {
	kinds := map[history.Type]compact.Kind{history.User: compact.UserText, history.Note: compact.Note, history.Compacted: compact.Summary}
	for i, m := range l.state.Messages {
		o := l.state.Origins[i]
		next := compact.Message{Message: m, Kind: kinds[o.Type]}
		for call, id := range o.WaitsForApproval {
			if l.pending[id] {
				next.Pinned, next.Whole = true, append(next.Whole, call)
			}
		}
		all = append(all, next)
	}
	return all
}

// Summarize is a model that writes too much, or fails.
func (l *life) Summarize(_ context.Context, s compact.SummaryRequest) (compact.SummaryResult, error) {
	if l.rand.IntN(4) == 0 {
		return compact.SummaryResult{}, errors.New("no money")
	}
	return compact.SummaryResult{Text: s.Earlier + "\n" + strings.Repeat("and so on\n", l.rand.IntN(2000)), Usage: llm.Usage{Input: 1}}, nil
}

func (l *life) compact(cause compact.Cause) {
	l.t.Helper()
	c, err := l.policy.Compact(l.t.Context(), compact.Input{System: system, Tools: 200, Messages: l.shown(), Cause: cause}, l)
	if err != nil {
		l.t.Fatalf("after %d messages: %v", l.said, err)
	}
	if c == nil {
		return
	}
	l.compactions++
	l.shortened += len(c.Shortened)
	if c.Warning != "" {
		l.warnings++
	}
	e := &history.Compaction{Summary: c.Summary, Kept: c.Kept, Pinned: c.Pinned, Usage: &c.Usage}
	for _, s := range c.Shortened {
		e.Shortened = append(e.Shortened, history.Shortened{Message: s.Message, Call: s.Call, Text: s.Text})
	}
	l.add(history.Event{Type: history.Compacted, Compaction: e})
	if got := l.tokens(); got != c.After {
		l.t.Fatalf("after %d messages a compaction says %d tokens, and it is %d", l.said, c.After, got)
	}
}

// fit has the model be asked: what it is shown fits its window, and holds what
// must never be left out.
func (l *life) fit() {
	l.t.Helper()
	cause := compact.NearLimit
	if l.rand.IntN(40) == 0 && len(l.state.Messages) > 12 {
		cause = compact.Overflow
	}
	l.compact(cause)
	if n, most := l.tokens(), l.policy.Window-l.policy.OutputReserved; n > most {
		l.t.Fatalf("after %d messages %d tokens are sent, and there is room for %d", l.said, n, most)
	}
	var words []llm.Message
	waits := map[string]bool{}
	texts := map[string]bool{}
	for i, o := range l.state.Origins {
		m := l.state.Messages[i]
		if o.Type == history.User {
			words = append(words, m)
		}
		if o.Type == history.Compacted && i > 0 {
			l.t.Fatalf("a summary stands at place %d", i)
		}
		for _, p := range m.Parts {
			if p.Result != nil && o.WaitsForApproval[p.Result.ID] != "" &&
				strings.HasPrefix(p.Result.Text(), "waits for a human: "+o.WaitsForApproval[p.Result.ID]) {
				waits[o.WaitsForApproval[p.Result.ID]] = !strings.Contains(p.Result.Text(), "left out")
			}
		}
		texts[m.Text()] = true
	}
	if last := words[len(words)-1]; last.Text() != l.newest.Text() {
		l.t.Fatalf("the newest words of the user are %q", last.Text())
	}
	for id := range l.pending {
		if !waits[id] {
			l.t.Fatalf("after %d messages the question %s is no longer shown", l.said, id)
		}
	}
	for _, text := range l.news {
		if !texts[text] {
			l.t.Fatalf("news that were not answered are no longer shown: %s", text)
		}
	}
}

// tokens counts what is sent, by the rule and not by the package.
func (l *life) tokens() int {
	quarter := func(n int) int { return (n + 3) / 4 }
	n := quarter(len(system)) + 200
	for _, m := range l.state.Messages {
		n += 4
		for _, p := range m.Parts {
			n += quarter(len(p.Text))
			if p.Call != nil {
				n += 4 + quarter(len(p.Call.Name)) + quarter(len(p.Call.Args))
			}
			if p.Result != nil {
				n += 4
				for _, c := range p.Result.Content {
					n += quarter(len(c.Text))
					if c.Type == "image" {
						n += 1600
					}
				}
			}
		}
	}
	return n
}

// whole says what is wrong with a state, from a message on: every call has its result right after
// it, in order, or is open at the end.
func whole(s *history.State, from int) error {
	if len(s.Origins) != len(s.Messages) {
		return fmt.Errorf("%d origins of %d messages", len(s.Origins), len(s.Messages))
	}
	open, _ := s.OpenCalls()
	for i := from; i < len(s.Messages); i++ {
		m := s.Messages[i]
		if m.Role == llm.Tool {
			return fmt.Errorf("message %d has results without calls", i)
		}
		var calls, got []string
		for _, c := range m.Calls() {
			calls = append(calls, c.ID)
		}
		if i+1 < len(s.Messages) && s.Messages[i+1].Role == llm.Tool {
			i++
			for _, p := range s.Messages[i].Parts {
				got = append(got, p.Result.ID)
			}
		}
		if i == len(s.Messages)-1 {
			for _, c := range open {
				got = append(got, c.ID)
			}
			slices.Sort(got)
		}
		if !slices.Equal(calls, got) {
			return fmt.Errorf("message %d of %d has the calls %v and the results %v", i, len(s.Messages), calls, got)
		}
	}
	return nil
}

// resumable looks at what a beginning of the log adds up to: the next words of
// the user find every call answered.
func (l *life) resumable(n int) {
	l.t.Helper()
	state := history.Replay(l.events[:n])
	if err := whole(state, 0); err != nil {
		l.t.Fatalf("the first %d events: %v", n, err)
	}
	next := llm.TextMessage(llm.User, "and now?")
	state.Apply(history.Event{Type: history.User, Message: &next})
	if open, _ := state.OpenCalls(); len(open) > 0 || whole(state, 0) != nil {
		l.t.Fatalf("the first %d events, and the user: %d calls are open, %v", n, len(open), whole(state, 0))
	}
}

// readBack reads the log from JSON, as a store does: it adds up to the same.
func (l *life) readBack() {
	l.t.Helper()
	data, err := json.Marshal(l.events)
	if err != nil {
		l.t.Fatal(err)
	}
	var events []history.Event
	if err := json.Unmarshal(data, &events); err != nil {
		l.t.Fatal(err)
	}
	if diff := cmp.Diff(l.state.Messages, history.Replay(events).Messages); diff != "" {
		l.t.Fatalf("read back: %s", diff)
	}
}

// Two thousand messages, compacted many times: what belongs together stays
// together, what is never left out is there, it always fits, and every
// beginning of the log can be taken up.
func TestTwoThousandMessages(t *testing.T) {
	for name, policy := range map[string]compact.Policy{
		"truncate":  {Window: 9000, OutputReserved: 1000},
		"summarize": {Window: 9000, OutputReserved: 1000, Strategy: compact.Summarize, KeepRecent: 6, SummaryMaxTokens: 500},
		"large":     {Window: 40_000, OutputReserved: 4096, Trigger: 0.9},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t, 7, policy)
			for l.said < 2000 {
				l.turn()
			}
			l.readBack()
			for n := 0; n <= len(l.events); n += 331 {
				l.resumable(n)
			}
			if l.compactions < 20 || l.compactions > l.said/2 || l.shortened < 20 || l.asked < 20 ||
				policy.Strategy == compact.Summarize && l.warnings == 0 {
				t.Errorf(
					"%d compactions, %d results shortened, %d questions, %d warnings: too few to tell, or too many",
					l.compactions,
					l.shortened,
					l.asked,
					l.warnings,
				)
			}
			t.Logf(
				"%d messages, %d events, %d compactions, %d results shortened, %d questions",
				l.said,
				len(l.events),
				l.compactions,
				l.shortened,
				l.asked,
			)
		})
	}
}

// A conversation that grows steadily is compacted each time a quarter of the
// room is full again, and not oftener.
func TestCompactionsAreFarApart(t *testing.T) {
	for name, strategy := range map[string]compact.Strategy{"truncate": compact.Truncate, "summarize": compact.Summarize} {
		policy := compact.Policy{Window: 12_000, OutputReserved: 2000, Strategy: strategy}
		var messages []compact.Message
		var at []int
		for i := range 1000 {
			messages = append(messages, user(fmt.Sprint("question ", i)), model(words(100)))
			c, err := policy.Compact(t.Context(), compact.Input{Messages: messages}, &writer{text: words(200)})
			if err != nil {
				t.Fatal(err)
			}
			if c != nil {
				at = append(at, i)
				messages = append(
					[]compact.Message{{Message: llm.TextMessage(llm.User, c.Summary), Kind: compact.Summary}},
					messages[len(messages)-c.Kept:]...)
			}
		}
		for i := 1; i < len(at); i++ {
			if at[i]-at[i-1] < 20 { // of about 112 tokens each: 2,240 of 2,500
				t.Errorf("%s: after %d and again after %d exchanges", name, at[i-1], at[i])
			}
		}
		if len(at) < 10 {
			t.Errorf("%s: only %d compactions", name, len(at))
		}
	}
}

func FuzzConversation(f *testing.F) {
	f.Add(uint64(1), uint16(0), false, uint8(0))
	f.Add(uint64(2), uint16(60_000), true, uint8(3))
	f.Fuzz(func(t *testing.T, seed uint64, more uint16, summarize bool, keep uint8) {
		policy := compact.Policy{Window: 8000 + int(more), OutputReserved: 1000, KeepRecent: int(keep)}
		if summarize {
			policy.Strategy = compact.Summarize
		}
		l := newLife(t, seed, policy)
		for range 12 {
			l.turn()
		}
		l.readBack()
		l.resumable(len(l.events))
		l.resumable(int(seed % uint64(len(l.events))))
	})
}

// What a request pays for being looked at, at 2,000 messages that fit.
func BenchmarkPlan(b *testing.B) {
	policy := compact.Policy{Window: 1_000_000}
	in := compact.Input{System: system, Messages: slices.Concat(chat(500, 100), loop(500, 300))}
	b.ReportAllocs()
	for b.Loop() {
		if plan, err := policy.Plan(in); plan != nil || err != nil {
			b.Fatal(plan, err)
		}
	}
}
