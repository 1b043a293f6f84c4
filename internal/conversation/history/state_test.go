package history_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/conversation/history"
	"callgate/internal/storage/sqlite"
	"callgate/llm"
	"callgate/tool"
)

func said(role llm.Role, text string, calls ...string) *llm.Message {
	m := llm.TextMessage(role, text)
	for _, id := range calls {
		m.Parts = append(m.Parts, llm.Part{Call: &llm.ToolCall{ID: id, Name: "t", Args: json.RawMessage(`{}`)}})
	}
	return &m
}

func ended(id, text string) history.Event {
	return history.Event{
		Type:   history.CallEnded,
		Call:   &history.Call{Model: id},
		Result: &history.Result{Status: tool.Success, Content: []tool.Content{tool.Text(text)}},
	}
}

// results are the texts of a message of results, in order.
func results(m llm.Message) (texts []string) {
	for _, p := range m.Parts {
		texts = append(texts, p.Result.ID+" "+p.Result.Text())
	}
	return texts
}

func TestResultsStandInTheOrderOfTheirCalls(t *testing.T) {
	s := history.Replay([]history.Event{
		{Type: history.User, Message: said(llm.User, "go")},
		{Type: history.Assistant, Message: said(llm.Assistant, "", "a", "b", "c")},
		ended("c", "third"), ended("a", "first"), ended("b", "second"),
		ended("b", "again"), ended("zzz", "of nobody"),
	})
	if diff := cmp.Diff([]string{"a first", "b second", "c third"}, results(s.Messages[2])); diff != "" || len(s.Messages) != 3 {
		t.Errorf("%s in %d messages", diff, len(s.Messages))
	}
}

func TestWhatWasBrokenOffIsSaid(t *testing.T) {
	for name, last := range map[string]history.Event{
		"the user speaks":   {Type: history.User, Message: said(llm.User, "well?")},
		"the turn ends":     {Type: history.TurnEnded, End: &history.End{Reason: history.Cancelled}},
		"the model answers": {Type: history.Assistant, Message: said(llm.Assistant, "hm")},
	} {
		s := history.Replay([]history.Event{
			{Type: history.Assistant, Message: said(llm.Assistant, "", "a", "b")}, ended("b", "done"), last,
		})
		got := results(s.Messages[1])
		if len(got) != 2 || got[1] != "b done" || got[0] == "a " || !s.Messages[1].Parts[0].Result.IsError {
			t.Errorf("%s: %q", name, got)
		}
		if open, _ := s.OpenCalls(); len(open) != 0 {
			t.Errorf("%s: %v is open", name, open)
		}
	}
}

// A message that a model was shown is not changed by what comes later.
func TestShownMessagesStay(t *testing.T) {
	s := history.Replay([]history.Event{{Type: history.Assistant, Message: said(llm.Assistant, "", "a", "b")}, ended("b", "second")})
	shown := s.Messages[1].Parts
	s.Apply(ended("a", "first"))
	if shown[0].Result.ID != "b" || len(shown) != 1 {
		t.Errorf("it became %q", shown[0].Result.ID)
	}
}

func TestLogIsFollowed(t *testing.T) {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	l, err := history.Create(t.Context(), db.Conversations(), history.Info{ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	say := func() {
		if err := l.Append(t.Context(), history.Event{Type: history.User, Message: said(llm.User, "x")}); err != nil {
			t.Error(err)
		}
	}
	say()
	say()
	met := make(chan int64)
	done := make(chan error)
	go func() {
		done <- l.Follow(t.Context(), 1, func(e history.Event) bool { met <- e.Seq; return e.Seq < 5 })
	}()
	for want := int64(2); want <= 5; want++ {
		if got := <-met; got != want {
			t.Fatalf("event %d, want %d", got, want)
		}
		if want < 5 {
			say()
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	other, err := history.Open(t.Context(), db.Conversations(), "a")
	if err != nil {
		t.Fatal(err)
	}
	say()
	if err := other.Append(t.Context(), history.Event{Type: history.User, Message: said(llm.User, "late")}); tool.KindOf(
		err,
	) != tool.Conflict {
		t.Errorf("two go on at once: %v", err)
	}
}
