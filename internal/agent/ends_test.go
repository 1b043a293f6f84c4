package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/agent"
	"callgate/internal/conversation/history"
	"callgate/llm"
	"callgate/tool"
)

// events returns the events of a type.
func (f *fixture) events(t testing.TB, of history.Type) []history.Event {
	t.Helper()
	all, err := f.store.Read(t.Context(), "conv", 0)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(e history.Event) bool { return e.Type != of })
}

// cutOff is an answer that the limit of tokens cut off.
func cutOff(text string, calls ...string) answer {
	return func(ctx context.Context, r llm.Request) (*llm.Response, error) {
		a, err := says(text, calls...)(ctx, r)
		a.Stop = llm.StopLength
		return a, err
	}
}

// A turn that the user stops in the middle of an answer keeps its words as not whole, and
// the next request says that the user stopped it.
func TestStopIsToldToTheModel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	f := setup(t, nil, func(ctx context.Context, _ llm.Request) (*llm.Response, error) {
		cancel()
		return nil, &llm.Error{Kind: llm.Cancelled, Err: ctx.Err(),
			Partial: &llm.Response{Message: llm.TextMessage(llm.Assistant, "First I del")}}
	}, says("sorry"))
	end, err := f.Turn(ctx, llm.TextMessage(llm.User, "go"), agent.Observer{})
	if err != nil || end.Reason != history.Cancelled {
		t.Fatalf("%+v, %v", end, err)
	}
	if cut := f.events(t, history.Assistant)[0].Cut; cut == nil || cut.Why != history.CutStopped {
		t.Errorf("the answer is stored as %+v", cut)
	}
	f.say(t, "not that")
	want := "user: go\nassistant: First I del\nuser: <note>\nThe user stopped you here. Your last answer is not complete. " +
		"What you were doing is not finished; what the user says next goes before it.\n</note>\nuser: not that\nassistant: sorry\n"
	if got := transcript(f.log); got != want {
		t.Error(got)
	}
	again, err := history.Open(t.Context(), f.store, "conv")
	if err != nil || transcript(again) != want {
		t.Errorf("read back: %v\n%s", err, transcript(again))
	}
}

// A call that is stopped with its turn says who stopped it, after how long, and what it
// had printed.
func TestStoppedCallsSaySo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cause  error
		result tool.Result
		want   string
	}{
		"the user, with output": {nil, tool.Result{Content: []tool.Content{tool.Text("3 of 9")}},
			"stopped by the user after 5 s; output so far:"},
		"the user, without":       {nil, tool.Result{}, "stopped by the user after 5 s"},
		"the time that it ran":    {nil, tool.Result{Took: 2 * time.Second}, "stopped by the user after 2 s"},
		"nobody; its client left": {history.ClientGone, tool.Result{}, "stopped after 5 s: its client went away"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				f := setup(t, nil, says("", `shell {"command":"make"}`))
				f.tools.run = func(ctx context.Context, _ history.Call) *tool.Result {
					time.AfterFunc(5*time.Second, func() { cancel(c.cause) })
					<-ctx.Done()
					r := c.result
					r.Error = tool.Errorf("gate.runHandler", tool.Cancelled, "the call was cancelled")
					r.Status, r.Summary = tool.Failure, r.Error.Error()
					return &r
				}
				var shown string
				_, err := f.Turn(ctx, llm.TextMessage(llm.User, "go"), agent.Observer{
					Ended: func(_ history.Call, r *tool.Result) { shown = r.Summary },
				})
				if got := transcript(f.log); err != nil || !strings.Contains(got, c.want) {
					t.Errorf("%v\n%s", err, got)
				}
				if len(c.result.Content) > 0 && !strings.Contains(transcript(f.log), "3 of 9") {
					t.Error("the output is lost")
				}
				if !strings.HasPrefix(shown, "stopped ") || strings.Contains(shown, "output so far") {
					t.Errorf("people are shown %q", shown)
				}
			})
		})
	}
}

// A text that the limit of tokens cut off goes on.
func TestCutOffAnswerGoesOn(t *testing.T) {
	t.Parallel()
	f := setup(t, nil, cutOff("The answer is fo"), cutOff("rty-"), says("two."))
	end := f.say(t, "go")
	text := transcript(f.log)
	if end.Reason != history.Done || strings.Count(text, "Go on exactly where you stopped") != 2 {
		t.Errorf("%+v\n%s", end, text)
	}
	var all strings.Builder
	for _, e := range f.events(t, history.Assistant) {
		all.WriteString(e.Message.Text())
	}
	if all.String() != "The answer is forty-two." {
		t.Errorf("together %q", all.String())
	}
	for i, r := range f.model.asked[1:] { // only appended
		for n, m := range f.model.asked[i].Messages {
			if fmt.Sprint(m) != fmt.Sprint(r.Messages[n]) {
				t.Errorf("message %d of request %d changed", n, i+2)
			}
		}
	}
}

// Where it cannot go on, the end says so.
func TestCutOffEndsTheTurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []answer
		asked   int
		says    string
	}{
		"again and again": {slices.Repeat([]answer{cutOff("and ")}, 10), 4, "max_tokens: 9) cut the answer off 4 times"},
		"before any word": {[]answer{cutOff("")}, 1, "was used up before the model wrote any answer"},
		"calls, again and again": {slices.Repeat([]answer{cutOff("", `write "{\"text\": \"lo"`)}, 10),
			5, "cut 5 answers in a row off"},
	} {
		f := setup(t, func(c *agent.Config) { c.Model.Settings.MaxTokens = 9 }, c.answers...)
		end := f.say(t, "go")
		if end.Reason != history.CutOff || len(f.model.asked) != c.asked || !strings.Contains(end.Error, c.says) {
			t.Errorf("%s: %+v after %d requests", name, end, len(f.model.asked))
		}
		if !strings.Contains(transcript(f.log), "Your turn was ended here") {
			t.Errorf("%s: the model is not told:\n%s", name, transcript(f.log))
		}
	}
}

// A call that was cut off is not made, and the model is told to make it smaller. The whole
// ones beside it are made. So it is for a model that writes calls into its text.
func TestCutOffCallsAreNotMade(t *testing.T) {
	t.Parallel()
	f := setup(t, nil, cutOff("", `look {"n":1}`, `write "{\"text\": \"lo"`, `wipe ""`), says("done"))
	end := f.say(t, "go")
	text := transcript(f.log)
	if end.Reason != history.Done || !slices.Equal(f.tools.made, []string{`look {"n":1}`}) ||
		!strings.Contains(text, "write was not called: the limit of tokens cut your answer off") ||
		!strings.Contains(text, "wipe was not called") || !strings.Contains(text, "make a smaller call") {
		t.Errorf("%+v, made %v\n%s", end, f.tools.made, text)
	}
}

// A turn that has cost what it may ends before the next request.
func TestCostEndsTheTurn(t *testing.T) {
	t.Parallel()
	dear := func(cost int64, then answer) answer {
		return func(ctx context.Context, r llm.Request) (*llm.Response, error) {
			a, err := then(ctx, r)
			a.Usage.Cost, a.Usage.Priced = cost, cost > 0
			return a, err
		}
	}
	ask := func(i int) answer { return says("", fmt.Sprintf(`look {"n":%d}`, i)) }
	for name, c := range map[string]struct {
		turn, open agent.Limit
		cost       int64
		turns      []history.Reason
		asked      int
		says       string
	}{
		"a turn":              {agent.Limit{Cost: 500_000}, agent.Limit{}, 300_000, []history.Reason{"cost"}, 2, "this turn cost $0.6, and may cost $0.5"},
		"each turn anew":      {agent.Limit{Cost: 500_000}, agent.Limit{}, 300_000, []history.Reason{"cost", "cost"}, 4, "this turn"},
		"since it was opened": {agent.Limit{}, agent.Limit{Cost: 700_000}, 300_000, []history.Reason{"cost", "cost"}, 3, "this conversation cost $0.9, and may cost $0.7"},
		"tokens":              {agent.Limit{Cost: 1, Tokens: 30}, agent.Limit{}, 0, []history.Reason{"cost"}, 3, "took 36 tokens, and may take 30"},
	} {
		var answers []answer
		for i := range 9 {
			answers = append(answers, dear(c.cost, ask(i)))
		}
		f := setup(t, func(cfg *agent.Config) { cfg.TurnLimit, cfg.OpenLimit = c.turn, c.open }, answers...)
		var end history.End
		for i, want := range c.turns {
			if end = f.say(t, "go"); end.Reason != want {
				t.Errorf("%s: turn %d: %+v", name, i+1, end)
			}
		}
		if len(f.model.asked) != c.asked || !strings.Contains(end.Error, c.says) {
			t.Errorf("%s: %d requests, %+v", name, len(f.model.asked), end)
		}
	}
	var notices []string
	f := setup(t, func(cfg *agent.Config) { cfg.OpenLimit.Cost = 1 }, ask(1), ask(2), says("done"))
	end, err := f.Turn(t.Context(), llm.TextMessage(llm.User, "go"), agent.Observer{
		Notice: func(text string) { notices = append(notices, text) },
	})
	if err != nil || end.Reason != history.Done || len(notices) != 1 || !strings.Contains(notices[0], "price") {
		t.Errorf("without a price: %+v, %v, told %q", end, err, notices)
	}
}

// streaming is a model that shows deltas before it answers.
type streaming struct {
	deltas []llm.Delta
	answer *llm.Response
	wait   time.Duration
}

func (s *streaming) Generate(ctx context.Context, _ llm.Request, watch func(llm.Delta)) (*llm.Response, error) {
	for _, d := range s.deltas {
		if d.Retry != nil {
			d.Retry.At = time.Now().Add(s.wait)
		}
		watch(d)
		if d.Retry != nil {
			select {
			case <-time.After(s.wait):
			case <-ctx.Done():
				return nil, &llm.Error{Kind: llm.Cancelled, Err: ctx.Err()}
			}
		}
	}
	return s.answer, nil
}

// The wait for a provider is shown, does not count, and what it replaces is read anew.
func TestWaitsAreShown(t *testing.T) {
	t.Parallel()
	for name, parser := range map[string]agent.CallParser{"tools": nil, "calls in the text": callParser{}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &streaming{wait: 9 * time.Minute, deltas: []llm.Delta{
					{Kind: llm.DeltaText, Text: "half <call wipe>"},
					{Kind: llm.DeltaRetry, Retry: &llm.Retry{Attempt: 2, Kind: llm.RateLimited, Why: "rate limited", Replaces: true}},
					{Kind: llm.DeltaText, Text: "whole"},
				}, answer: &llm.Response{Message: llm.TextMessage(llm.Assistant, "whole"), Stop: llm.StopEnd}}
				f := setup(t, func(c *agent.Config) {
					c.Timeout = time.Minute
					c.Model = &agent.ModelConfig{Model: m, Parser: parser}
				})
				var waits []llm.Retry
				end, err := f.Turn(t.Context(), llm.TextMessage(llm.User, "go"), agent.Observer{
					Wait: func(r llm.Retry) { waits = append(waits, r) },
					Delta: func(d llm.Delta) {
						if d.Kind == llm.DeltaRetry {
							t.Error("a wait is shown as a part of the answer")
						}
					},
				})
				if err != nil || end.Reason != history.Done || len(waits) != 1 || !waits[0].Replaces || waits[0].Attempt != 2 {
					t.Errorf("%+v, %v, shown %+v", end, err, waits)
				}
				if got := transcript(f.log); got != "user: go\nassistant: whole\n" {
					t.Error(got)
				}
			})
		})
	}
}

// A server may make calls of the text of a model that is not given tools: they are made.
func TestNativeCallsOfATextModel(t *testing.T) {
	t.Parallel()
	for name, strict := range map[string]bool{"": false, "strict": true} {
		f := setup(t, func(c *agent.Config) {
			c.Model.Parser, c.Strict = callParser{}, strict
		}, says("let me see", `look {"at":1}`), says("<call look>", `look {}`), says("blue"))
		end := f.say(t, "colour?")
		want := []string{`look {"at":1}`, `look {}`} // the second came in both ways
		if strict {
			want = want[:1] // it stands in the text, too
		}
		if end.Reason != history.Done || !slices.Equal(f.tools.made, want) {
			t.Errorf("%s: %+v, made %v\n%s", name, end, f.tools.made, transcript(f.log))
		}
	}
}

// A model that declines ends the turn with a reason of its own.
func TestRefusalEndsTheTurn(t *testing.T) {
	t.Parallel()
	declines := func(context.Context, llm.Request) (*llm.Response, error) {
		return &llm.Response{Message: llm.TextMessage(llm.Assistant, "No."), Stop: llm.StopRefusal,
			Warnings: []string{"it asks for a weapon"}}, nil
	}
	filtered := fails(&llm.Error{Kind: llm.Refused, Provider: "p", Message: "content_filter"})
	for want, a := range map[string]answer{"declined to answer: it asks for a weapon": declines, "content_filter": filtered} {
		f := setup(t, nil, a)
		if end := f.say(t, "go"); end.Reason != history.Refused || !strings.Contains(end.Error, want) {
			t.Errorf("%+v, want %q", end, want)
		}
	}
}
