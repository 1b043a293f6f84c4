package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"callgate/internal/agent"
	"callgate/internal/conversation/history"
	"callgate/llm"
	"callgate/tool"
)

// texts are the words of messages, with their roles.
func texts(messages []llm.Message) (out []string) {
	for _, m := range messages {
		if m.Role != llm.Tool {
			out = append(out, string(m.Role)+": "+m.Text())
		}
	}
	return out
}

func (f *fixture) queue(t *testing.T, text string) *history.QueuedMessage {
	t.Helper()
	q, err := f.Queue(t.Context(), llm.TextMessage(llm.User, text))
	if err != nil {
		t.Error(err)
	}
	return q
}

// during has a model say something after the user has.
func during(do func(), then answer) answer {
	return func(ctx context.Context, r llm.Request) (*llm.Response, error) {
		do()
		return then(ctx, r)
	}
}

// What the user says while a turn runs is told to the model with its next request, in
// order, together, and after the results of the calls that were under way.
func TestQueuedMessagesAreTakenAtTheNextRequest(t *testing.T) {
	t.Parallel()
	var f *fixture
	f = setup(t, nil, during(func() {
		f.queue(t, "not that")
		f.queue(t, "but this")
	}, says("", `look {}`)), says("ok"))
	var seen []string
	end, err := f.Turn(t.Context(), llm.TextMessage(llm.User, "go"), agent.Observer{Event: func(e history.Event) {
		if e.Queued != 0 {
			seen = append(seen, string(e.Type)+" "+e.Message.Text())
		}
	}})
	if err != nil || end.Reason != history.Done || len(end.Returned) != 0 {
		t.Fatalf("%+v, %v", end, err)
	}
	want := []string{"user: go", "assistant: ", "user: not that", "user: but this"}
	if got := texts(f.model.asked[1].Messages); !slices.Equal(got, want) {
		t.Errorf("the model was shown %q", got)
	}
	if last := f.model.asked[1].Messages; last[2].Role != llm.Tool {
		t.Errorf("the result does not follow its call: %+v", last)
	}
	if !slices.Equal(seen, []string{"user not that", "user but this"}) {
		t.Errorf("the events say %q", seen)
	}
	if info := f.log.Info(); info.Turns != 1 || info.Title != "go" {
		t.Errorf("%+v", info)
	}
	if q := f.queue(t, "too late"); q != nil {
		t.Errorf("a turn that has ended took %+v", q)
	}
}

// A turn whose model has answered goes on if the user has said something meanwhile.
func TestTurnGoesOnForQueuedMessages(t *testing.T) {
	t.Parallel()
	var f *fixture
	f = setup(t, nil, during(func() { f.queue(t, "and the tests") }, says("done")), says("also done"))
	end, err := f.Turn(t.Context(), llm.TextMessage(llm.User, "go"), agent.Observer{})
	if err != nil || end.Reason != history.Done {
		t.Fatalf("%+v, %v", end, err)
	}
	want := []string{"user: go", "assistant: done", "user: and the tests", "assistant: also done"}
	if got := texts(f.log.Messages()); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// A turn that ends early gives back what it did not take, and the next turn does not
// send it.
func TestStoppedTurnGivesQueuedMessagesBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		then answer
		stop bool
		want history.Reason
	}{
		"the user stops it":         {says("", `look {}`), true, history.Cancelled},
		"the model cannot be asked": {fails(errors.New("no")), false, history.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var f *fixture
			f = setup(t, nil, during(func() {
				f.queue(t, "one")
				f.queue(t, "two")
				if c.stop {
					cancel()
				}
			}, c.then), says("fine"))
			end, err := f.Turn(ctx, llm.TextMessage(llm.User, "go"), agent.Observer{})
			if err != nil || end.Reason != c.want {
				t.Fatalf("%+v, %v", end, err)
			}
			if len(end.Returned) != 2 || end.Returned[0].Message.Text() != "one" || end.Returned[1].Message.Text() != "two" {
				t.Errorf("what came back is %+v", end.Returned)
			}
			if _, err := f.Turn(t.Context(), llm.TextMessage(llm.User, "again"), agent.Observer{}); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(texts(f.log.Messages()), "\n"); strings.Contains(got, "one") {
				t.Errorf("the model was shown\n%s", got)
			}
		})
	}
}

// What waits when a turn is interrupted is kept in the history: the turn that goes on
// takes it, and so does the next one if it is never resumed.
func TestInterruptedTurnKeepsQueuedMessages(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"resumed", "another message"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			var f *fixture
			f = setup(t, nil, during(func() {
				f.queue(t, "wait")
				cancel(history.KernelClosed)
			}, func(ctx context.Context, _ llm.Request) (*llm.Response, error) { return nil, ctx.Err() }))
			end, err := f.Turn(ctx, llm.TextMessage(llm.User, "go"), agent.Observer{})
			if err != nil || end.Reason != history.Interrupted || len(end.Returned) != 0 {
				t.Fatalf("%+v, %v", end, err)
			}
			again, err := history.Open(t.Context(), f.store, "conv")
			if err != nil {
				t.Fatal(err)
			}
			model := &script{answers: []answer{says("done")}}
			loop := agent.New(agent.Config{
				Model: &agent.ModelConfig{Model: model}, Tools: f.tools, Log: again, System: func() string { return "" },
			})
			want := []string{"user: go", "user: wait"}
			if how == "resumed" {
				_, err = loop.Resume(t.Context(), agent.Observer{})
			} else {
				want = append(want, "user: hello")
				_, err = loop.Turn(t.Context(), llm.TextMessage(llm.User, "hello"), agent.Observer{})
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := texts(model.asked[0].Messages); !slices.Equal(got, want) {
				t.Errorf("the model was shown %q", got)
			}
		})
	}
}

// The user takes back what was said last and the model has not been told.
func TestUnqueue(t *testing.T) {
	t.Parallel()
	var f *fixture
	f = setup(t, nil, during(func() {
		f.queue(t, "stays")
		f.queue(t, "goes")
		q, err := f.log.Unqueue(t.Context())
		if err != nil || q == nil || q.Message.Text() != "goes" {
			t.Errorf("%+v, %v", q, err)
		}
	}, says("", `look {}`)), says("ok"))
	if _, err := f.Turn(t.Context(), llm.TextMessage(llm.User, "go"), agent.Observer{}); err != nil {
		t.Fatal(err)
	}
	if got := texts(f.model.asked[1].Messages); !slices.Equal(got, []string{"user: go", "assistant: ", "user: stays"}) {
		t.Errorf("the model was shown %q", got)
	}
	if q, err := f.log.Unqueue(t.Context()); q != nil || err != nil {
		t.Errorf("%+v, %v", q, err)
	}
}

// The app's filter sees what is queued before anything is written.
func TestQueuedMessagesAreFiltered(t *testing.T) {
	t.Parallel()
	var f *fixture
	filter := func(c *agent.Config) {
		c.Input = func(s string) (string, error) {
			if strings.Contains(s, "bad") {
				return "", tool.Errorf("filter", tool.Denied, "not that word")
			}
			return strings.ReplaceAll(s, "key-123", "***"), nil
		}
	}
	f = setup(t, filter, during(func() {
		if _, err := f.Queue(t.Context(), llm.TextMessage(llm.User, "bad")); tool.KindOf(err) != tool.Denied {
			t.Errorf("the filter was not asked: %v", err)
		}
		f.queue(t, "use key-123")
	}, says("", `look {}`)), says("ok"))
	if _, err := f.Turn(t.Context(), llm.TextMessage(llm.User, "go"), agent.Observer{}); err != nil {
		t.Fatal(err)
	}
	events, err := f.store.Read(t.Context(), "conv", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Message != nil && (strings.Contains(e.Message.Text(), "key-123") || strings.Contains(e.Message.Text(), "bad")) {
			t.Errorf("the history says %q", e.Message.Text())
		}
	}
	if got := texts(f.model.asked[1].Messages); got[len(got)-1] != "user: use ***" {
		t.Errorf("the model was shown %q", got)
	}
}

// No more waits than a model can be told at once.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	var f *fixture
	f = setup(t, nil, during(func() {
		var err error
		for n := 0; err == nil && n < 1000; n++ {
			_, err = f.Queue(t.Context(), llm.TextMessage(llm.User, "more"))
		}
		if tool.KindOf(err) != tool.Limited {
			t.Errorf("%v", err)
		}
	}, fails(errors.New("enough"))))
	if _, err := f.Turn(t.Context(), llm.TextMessage(llm.User, "go"), agent.Observer{}); err != nil {
		t.Fatal(err)
	}
}
