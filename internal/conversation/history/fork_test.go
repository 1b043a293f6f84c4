package history_test

import (
	"testing"

	"callgate/internal/conversation/history"
	"callgate/internal/kernel/kerneltest"
	"callgate/llm"
	"callgate/tool"
)

// A fork begins with the turns of another conversation, which stays as it is; what they cost is not counted again.
func TestFork(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	store := k.Conversations.Store
	log, err := history.Create(t.Context(), store, history.Info{ID: "t1", App: "a", Agent: "main", Workspace: "/w", User: "ada"})
	kerneltest.OK(t, err)
	end := history.Event{Type: history.TurnEnded, End: &history.End{Reason: history.Done}}
	words := func(text string) history.Event {
		m := llm.TextMessage(llm.User, text)
		return history.Event{Type: history.User, Message: &m}
	}
	answer := llm.TextMessage(llm.Assistant, "yes")
	for _, text := range []string{"one", "two"} {
		kerneltest.OK(t, log.Append(t.Context(), words(text), history.Event{
			Type: history.Assistant, Message: &answer, Usage: &llm.Usage{Input: 5, Cost: 7},
		}))
		if text == "two" {
			waiting := llm.TextMessage(llm.User, "and then")
			kerneltest.OK(t, log.Append(t.Context(), history.Event{Type: history.Queued, Message: &waiting}))
		}
		kerneltest.OK(t, log.Append(t.Context(), end))
	}
	kerneltest.OK(t, log.Append(t.Context(), words("three"))) // a turn that goes on
	before, err := store.Get(t.Context(), "t1")
	kerneltest.OK(t, err)
	for _, c := range []struct{ turns, want, messages int }{{1, 1, 2}, {2, 2, 4}, {0, 2, 4}} {
		made, err := history.Fork(t.Context(), store, "t1", "f"+string(rune('0'+c.turns)), c.turns)
		kerneltest.OK(t, err)
		forked, err := history.Open(t.Context(), store, made.ID)
		kerneltest.OK(t, err)
		info := forked.Info()
		if n := len(forked.Messages()); n != c.messages || info.Turns != c.want || info.Usage != (llm.Usage{}) ||
			info.Forked != "t1" || info.Title != "one" || info.Last != history.Done || info.Workspace != "/w" {
			t.Errorf("%d turns: %d messages of %+v", c.turns, n, info)
		}
		forked.View(func(s *history.State) {
			if len(s.Queued()) > 0 {
				t.Errorf("%d turns: what waited in the other one waits here", c.turns)
			}
		})
		kerneltest.OK(t, forked.Append(t.Context(), words("another way")))
	}
	again, err := store.Get(t.Context(), "t1")
	if err != nil || again != before {
		t.Errorf("the other one was %+v, and is %+v, %v", before, again, err)
	}
	for _, turns := range []int{-1, 3} {
		if _, err := history.Fork(t.Context(), store, "t1", "none", turns); tool.KindOf(err) != tool.Invalid {
			t.Errorf("%d turns: %v", turns, err)
		}
	}
	_, err = history.Create(t.Context(), store, history.Info{ID: "t2"})
	kerneltest.OK(t, err)
	if _, err := history.Fork(t.Context(), store, "t2", "none", 0); tool.KindOf(err) != tool.Invalid {
		t.Errorf("an empty one: %v", err)
	}
	if _, err := history.Fork(t.Context(), store, "gone", "none", 0); tool.KindOf(err) != tool.NotFound {
		t.Errorf("one that is not there: %v", err)
	}
}
