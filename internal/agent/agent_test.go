package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/agent"
	"callgate/internal/conversation/history"
	"callgate/internal/storage/sqlite"
	"callgate/llm"
	"callgate/tool"
)

// script is a model with scripted answers. It records its requests.
type script struct {
	mu      sync.Mutex
	answers []func(context.Context, llm.Request) (*llm.Response, error)
	asked   []llm.Request
}

func (s *script) Generate(ctx context.Context, req llm.Request, watch func(llm.Delta)) (*llm.Response, error) {
	s.mu.Lock()
	n := len(s.asked)
	s.asked = append(s.asked, req)
	s.mu.Unlock()
	if n >= len(s.answers) {
		return nil, errors.New("the script has no more answers")
	}
	r, err := s.answers[n](ctx, req)
	if r != nil && watch != nil {
		watch(llm.Delta{Kind: llm.DeltaText, Text: r.Message.Text()})
	}
	return r, err
}

type answer = func(context.Context, llm.Request) (*llm.Response, error)

func says(text string, calls ...string) answer {
	return func(context.Context, llm.Request) (*llm.Response, error) {
		m := llm.TextMessage(llm.Assistant, text)
		for i, c := range calls {
			name, args, _ := strings.Cut(c, " ")
			call := &llm.ToolCall{ID: fmt.Sprint("m", i), Name: name, Args: json.RawMessage(args)}
			m.Parts = append(m.Parts, llm.Part{Call: call})
		}
		return &llm.Response{Message: m, Stop: llm.StopEnd, Usage: llm.Usage{Input: 10, Output: 2}}, nil
	}
}

func fails(err error) answer {
	return func(context.Context, llm.Request) (*llm.Response, error) { return nil, err }
}

// toolCaller records the calls it makes.
type toolCaller struct {
	mu       sync.Mutex
	made     []string
	outcomes map[string]*tool.Result // of calls made before a restart
	run      func(ctx context.Context, c history.Call) *tool.Result
}

func (c *toolCaller) Call(ctx context.Context, calls []history.Call, done func(int, *tool.Result)) []*tool.Result {
	out := make([]*tool.Result, len(calls))
	for i := len(calls) - 1; i >= 0; i-- { // the last ends first
		c.mu.Lock()
		c.made = append(c.made, calls[i].Name+" "+string(calls[i].Args))
		c.mu.Unlock()
		out[i] = &tool.Result{Status: tool.Success, Summary: "did " + calls[i].Name}
		if c.run != nil {
			out[i] = c.run(ctx, calls[i])
		}
		done(i, out[i])
	}
	return out
}

func (c *toolCaller) CallOutcome(_ context.Context, id string) (*tool.Result, bool, error) {
	r, ok := c.outcomes[id]
	return r, ok, nil
}

type fixture struct {
	*agent.Loop
	log   *history.Log
	store history.Store
	model *script
	tools *toolCaller
}

func setup(t testing.TB, change func(*agent.Config), answers ...answer) *fixture {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	log, err := history.Create(t.Context(), db.Conversations(), history.Info{ID: "conv", Agent: "main"})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{log: log, store: db.Conversations(), model: &script{answers: answers}, tools: &toolCaller{}}
	cfg := agent.Config{
		Model: &agent.ModelConfig{Model: f.model}, Tools: f.tools, Log: log,
		System: func() string { return "be brief" }, ToolDefs: []llm.ToolDef{{Name: "look"}},
	}
	if change != nil {
		change(&cfg)
	}
	f.Loop = agent.New(cfg)
	return f
}

func (f *fixture) say(t testing.TB, text string) history.End {
	t.Helper()
	end, err := f.Turn(t.Context(), llm.TextMessage(llm.User, text), agent.Observer{})
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// transcript returns the messages of the conversation as text.
func transcript(l *history.Log) string {
	var b strings.Builder
	for _, m := range l.Messages() {
		b.WriteString(string(m.Role) + ":")
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				fmt.Fprintf(&b, " [%s %s]", p.Call.Name, p.Call.Args)
			case p.Result != nil:
				fmt.Fprintf(&b, " (%s: %s)", p.Result.Name, p.Result.Text())
			default:
				b.WriteString(" " + p.Text)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestTurnRunsCallsAndAnswers(t *testing.T) {
	t.Parallel()
	f := setup(t, nil, says("looking", `look {"at":1}`, `look {"at":2}`), says("it is blue"))
	end := f.say(t, "what colour is it?")
	want := "user: what colour is it?\n" +
		"assistant: looking [look {\"at\":1}] [look {\"at\":2}]\n" +
		"tool: (look: did look) (look: did look)\n" +
		"assistant: it is blue\n"
	if diff := cmp.Diff(want, transcript(f.log)); diff != "" || end.Reason != history.Done {
		t.Errorf("%+v %s", end, diff)
	}
	info := f.log.Info()
	if info.ToolCalls != 2 || info.Turns != 1 || info.Usage.Input != 20 ||
		info.Last != history.Done || info.Title != "what colour is it?" {
		t.Errorf("%+v", info)
	}
	if req := f.model.asked[0]; req.System != "be brief" || len(req.Tools) != 1 {
		t.Errorf("asked %+v", req)
	}
	again, err := history.Open(t.Context(), f.store, "conv")
	if err != nil || transcript(again) != want {
		t.Errorf("read back: %v\n%s", err, transcript(again))
	}
}

func TestTurnEndsWithAReason(t *testing.T) {
	t.Parallel()
	billing := &llm.Error{Kind: llm.Billing, Provider: "p", Message: "no credit"}
	partial := &llm.Response{Message: llm.TextMessage(llm.Assistant, "half an ans")}
	broken := &llm.Error{Kind: llm.BrokenStream, Partial: partial}
	upper := func(s string) (string, error) { return strings.ToUpper(s), nil }
	many := []answer{}
	for range 60 {
		many = append(many, says("", `look {}`))
	}
	for name, c := range map[string]struct {
		change  func(*agent.Config)
		answers []answer
		reason  history.Reason
		has     string
	}{
		"the model fails": {nil, []answer{fails(billing)}, history.Failed, "no credit"},
		"the fallback model continues": {func(c *agent.Config) {
			c.Model.Fallback = &agent.ModelConfig{Model: &script{answers: []answer{says("for free")}}}
		}, []answer{fails(billing)}, history.Done, "assistant: for free"},
		"half an answer is kept": {nil, []answer{fails(broken)}, history.Failed, "assistant: half an ans"},
		"too many requests": {func(c *agent.Config) { c.MaxTurns = 3 }, many,
			history.MaxTurns, "stopped after asking the model 3 times"},
		"the output filter refuses": {func(c *agent.Config) {
			c.Output = func(string) (string, error) { return "", errors.New("not that word") }
		}, []answer{says("darn")}, history.Failed, "not that word"},
		"the output filter changes the text": {func(c *agent.Config) { c.Output = upper }, []answer{says("loud")},
			history.Done, "assistant: LOUD"},
		"a pause does not end the turn": {nil, []answer{func(ctx context.Context, r llm.Request) (*llm.Response, error) {
			a, err := says("wait")(ctx, r)
			a.Stop = llm.StopPause
			return a, err
		}, says("done")}, history.Done, "assistant: wait\nassistant: done"},
		"it does not fit": {func(c *agent.Config) {
			c.Compact = func(context.Context, string, []llm.Message) (*history.Compaction, error) {
				return nil, errors.New("too long")
			}
		}, nil, history.Failed, "too long"},
		"it is compacted to fit": {func(c *agent.Config) {
			n := 0
			c.Compact = func(_ context.Context, _ string, m []llm.Message) (*history.Compaction, error) {
				if n++; n > 1 {
					return nil, nil
				}
				return &history.Compaction{Summary: "so far", Kept: 1}, nil
			}
		}, []answer{says("ok")}, history.Done, "user: so far\nuser: go\nassistant: ok"},
	} {
		f := setup(t, c.change, c.answers...)
		end := f.say(t, "go")
		if end.Reason != c.reason || !strings.Contains(transcript(f.log)+end.Error, c.has) {
			t.Errorf("%s: %+v\n%s", name, end, transcript(f.log))
		}
		if f.log.Info().Last != c.reason {
			t.Errorf("%s: the log says %q", name, f.log.Info().Last)
		}
	}
}

func TestInputIsFilteredBeforeItIsWritten(t *testing.T) {
	t.Parallel()
	f := setup(t, func(c *agent.Config) {
		c.Input = func(s string) (string, error) {
			if s == "bad" {
				return "", errors.New("not here")
			}
			return s + "!", nil
		}
	}, says("ok"))
	_, err := f.Turn(t.Context(), llm.TextMessage(llm.User, "bad"), agent.Observer{})
	if err == nil || f.log.Info().Events != 0 {
		t.Errorf("%v, %d events", err, f.log.Info().Events)
	}
	f.say(t, "good")
	if !strings.HasPrefix(transcript(f.log), "user: good!") {
		t.Error(transcript(f.log))
	}
}

func TestCancelledTurnEndsItsCalls(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	f := setup(t, nil, says("", `slow {}`, `slow {"n":2}`))
	f.tools.run = func(ctx context.Context, _ history.Call) *tool.Result {
		cancel()
		<-ctx.Done()
		return &tool.Result{Status: tool.Failure, Summary: "the call was cancelled"}
	}
	end, err := f.Turn(ctx, llm.TextMessage(llm.User, "go"), agent.Observer{})
	if err != nil || end.Reason != history.Cancelled {
		t.Errorf("%+v, %v", end, err)
	}
	if got := transcript(f.log); strings.Count(got, "(slow: the call was cancelled)") != 2 {
		t.Error(got)
	}
}

func TestTurnTimesOut(t *testing.T) {
	t.Parallel()
	hang := func(ctx context.Context, _ llm.Request) (*llm.Response, error) {
		<-ctx.Done()
		return nil, &llm.Error{Kind: llm.Timeout, Err: ctx.Err()}
	}
	f := setup(t, func(c *agent.Config) { c.Timeout = time.Millisecond }, hang)
	if end := f.say(t, "go"); end.Reason != history.TimedOut {
		t.Errorf("%+v", end)
	}
}

// notices are those of tasks that have ended, until they are noted.
type notices []agent.Notice

func (n *notices) Notices(context.Context) ([]agent.Notice, error) { return *n, nil }

func (n *notices) Noted(_ context.Context, done []agent.Notice) error {
	*n = (*n)[len(done):]
	return nil
}

func (n *notices) Await(context.Context, func(string)) bool { return len(*n) > 0 }

func TestNoticesComeBeforeTheNextRequest(t *testing.T) {
	t.Parallel()
	news := &notices{{Tasks: []string{"t1"}, Text: "the build is done"}}
	f := setup(t, func(c *agent.Config) {
		c.Tasks = news
	}, says("fine"))
	f.say(t, "go on")
	if got := transcript(f.log); got != "user: go on\nuser: <note>\nthe build is done\n</note>\nassistant: fine\n" {
		t.Error(got)
	}
}

// stopping cancels the turn while it looks for notices.
type stopping struct {
	notices
	cancel context.CancelFunc
}

func (s *stopping) Notices(ctx context.Context) ([]agent.Notice, error) {
	s.cancel()
	return nil, ctx.Err()
}

func TestCancelledWhileLookingForNotices(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	f := setup(t, func(c *agent.Config) { c.Tasks = &stopping{cancel: cancel} }, says("never"))
	end, err := f.Turn(ctx, llm.TextMessage(llm.User, "go"), agent.Observer{})
	if err != nil || end.Reason != history.Cancelled {
		t.Errorf("%+v, %v", end, err)
	}
}

// A turn that was killed continues, and no call is made twice.
func TestResumeMakesNoCallTwice(t *testing.T) {
	t.Parallel()
	f := setup(t, nil, says("and so it is"))
	call := func(id, kernel string) history.Event {
		args := json.RawMessage(`{"n":` + id[1:] + `}`)
		return history.Event{
			Type: history.CallMade, Call: &history.Call{Model: id, ID: kernel, Name: "write", Args: args},
		}
	}
	answer := llm.TextMessage(llm.Assistant, "")
	for i := range 4 {
		args := json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))
		proposed := &llm.ToolCall{ID: fmt.Sprint("m", i), Name: "write", Args: args}
		answer.Parts = append(answer.Parts, llm.Part{Call: proposed})
	}
	hello := llm.TextMessage(llm.User, "go")
	zero := &history.Result{Status: tool.Success, Summary: "zero", Content: []tool.Content{tool.Text("zero")}}
	if err := f.log.Append(t.Context(),
		history.Event{Type: history.User, Message: &hello}, history.Event{Type: history.Assistant, Message: &answer},
		call("m0", "k0"), call("m1", "k1"), call("m2", "k2"), // the fourth was not even made
		history.Event{Type: history.CallEnded, Call: &history.Call{Model: "m0"}, Result: zero},
	); err != nil {
		t.Fatal(err)
	}
	f.tools.outcomes = map[string]*tool.Result{"k1": {Status: tool.Success, Summary: "one, before the crash"}}
	end, err := f.Resume(t.Context(), agent.Observer{})
	if err != nil || end.Reason != history.Done {
		t.Fatalf("%+v, %v", end, err)
	}
	if diff := cmp.Diff([]string{`write {"n":3}`, `write {"n":2}`}, f.tools.made); diff != "" {
		t.Errorf("made %s", diff)
	}
	want := "tool: (write: zero) (write: one, before the crash) (write: did write) (write: did write)\n" +
		"assistant: and so it is\n"
	if got := transcript(f.log); !strings.HasSuffix(got, want) {
		t.Error(got)
	}
	end, err = f.Resume(t.Context(), agent.Observer{})
	if err != nil || end.Reason != history.Done || len(f.model.asked) != 1 {
		t.Errorf("again: %+v, %v", end, err)
	}
}

// If the process is killed after any event, every call still has a result before
// the user's next message.
func TestInterruptedConversationIsCompleteForTheNextMessage(t *testing.T) {
	t.Parallel()
	f := setup(t, nil, says("a", `look {"n":1}`, `look {"n":2}`), says("b", `look {"n":3}`), says("c"))
	f.say(t, "go")
	events, err := f.store.Read(t.Context(), "conv", 0)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(events) + 1 {
		state := history.Replay(events[:n])
		next := llm.TextMessage(llm.User, "and now?")
		state.Apply(history.Event{Type: history.User, Message: &next})
		waiting := map[string]bool{}
		for _, m := range state.Messages {
			for _, p := range m.Parts {
				if p.Call != nil {
					waiting[p.Call.ID] = true
				}
				if p.Result != nil {
					delete(waiting, p.Result.ID)
				}
			}
			if m.Role == llm.User && len(waiting) > 0 {
				t.Fatalf("after %d events a user's message is between a call and its result: %+v", n, state.Messages)
			}
		}
	}
}

// callParser finds <call name> in text.
type callParser struct{}

func (callParser) Start() (func(string) string, func() (string, []llm.ToolCall)) {
	var all string
	return func(s string) string { all += s; return "" }, func() (string, []llm.ToolCall) {
		before, rest, ok := strings.Cut(all, "<call ")
		if !ok {
			return all, nil
		}
		return before, []llm.ToolCall{{Name: strings.TrimSuffix(rest, ">"), Args: json.RawMessage(`{}`)}}
	}
}

func TestCallsInText(t *testing.T) {
	t.Parallel()
	f := setup(t, func(c *agent.Config) { c.Model.Parser = callParser{} }, says("let me see <call look>"), says("blue"))
	if end := f.say(t, "colour?"); end.Reason != history.Done {
		t.Errorf("%+v", end)
	}
	want := "user: colour?\nassistant: let me see  [look {}]\ntool: (look: did look)\nassistant: blue\n"
	if got := transcript(f.log); got != want {
		t.Error(got)
	}
	req := f.model.asked[1]
	call, result := req.Messages[1].Text(), req.Messages[2].Text()
	if len(req.Tools) != 0 || !strings.Contains(result, "did look") ||
		!strings.Contains(call, `<tool_call>{"name": "look", "arguments": {}}</tool_call>`) {
		t.Errorf("asked %+v", req)
	}
}

func BenchmarkTurnAt500Messages(b *testing.B) {
	f := setup(b, nil)
	var events []history.Event
	for i := range 250 {
		user := llm.TextMessage(llm.User, fmt.Sprint("question ", i))
		answer := llm.TextMessage(llm.Assistant, strings.Repeat("words of an answer ", 20))
		events = append(events,
			history.Event{Type: history.User, Message: &user},
			history.Event{Type: history.Assistant, Message: &answer},
			history.Event{Type: history.TurnEnded, End: &history.End{Reason: history.Done}})
	}
	if err := f.log.Append(b.Context(), events...); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		f.model.answers, f.model.asked = []answer{says("", `look {}`), says("done")}, nil
		f.say(b, "go")
	}
}
