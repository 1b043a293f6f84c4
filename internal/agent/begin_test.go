package agent_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"callgate/internal/agent"
	"callgate/internal/conversation/history"
	"callgate/llm"
	"callgate/tool"
)

// A turn that begins by itself has no words of the user: an event says that it did, and
// the notices follow, which the history knows by their tasks.
func TestWake(t *testing.T) {
	t.Parallel()
	news := &notices{{Tasks: []string{"t1"}, Text: "the build is done"}, {Tasks: []string{"t2", "t3"}, Text: "two more"}}
	f := setup(t, func(c *agent.Config) { c.Tasks = news }, says("it is built"), says("you are welcome"))
	var types []history.Type
	end, err := f.Wake(t.Context(), agent.Observer{Event: func(e history.Event) { types = append(types, e.Type) }})
	if err != nil || end.Reason != history.Done {
		t.Fatalf("%+v, %v", end, err)
	}
	want := []history.Type{history.Woken, history.Note, history.Note, history.Assistant, history.TurnEnded}
	if !slices.Equal(types, want) {
		t.Errorf("the events are %q", types)
	}
	const told = "user: <note>\nthe build is done\n</note>\nuser: <note>\ntwo more\n</note>\nassistant: it is built\n"
	if got := transcript(f.log); got != told {
		t.Error(got)
	}
	f.log.View(func(s *history.State) {
		if !s.Noted("t1") || !s.Noted("t2") || !s.Noted("t3") || s.Noted("t4") || s.Turns != 1 || s.Alone != 1 {
			t.Errorf("the history does not know what it tells: %+v", s)
		}
	})
	f.say(t, "thank you")
	f.log.View(func(s *history.State) {
		if s.Turns != 2 || s.Alone != 0 {
			t.Errorf("after a word of the user: %d turns, %d of them alone", s.Turns, s.Alone)
		}
	})
}

// A turn that was interrupted is resumed: none begins by itself over it.
func TestWakeLeavesAnInterruptedTurn(t *testing.T) {
	t.Parallel()
	news := &notices{{Tasks: []string{"t1"}, Text: "the build is done"}}
	f := setup(t, func(c *agent.Config) { c.Tasks = news })
	hello := llm.TextMessage(llm.User, "hello")
	if err := f.log.Append(t.Context(), history.Event{Type: history.User, Message: &hello}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Wake(t.Context(), agent.Observer{}); tool.KindOf(err) != tool.Conflict {
		t.Errorf("%v", err)
	}
	if len(*news) != 1 || len(f.log.Messages()) != 1 {
		t.Errorf("it was told all the same: %+v", f.log.Messages())
	}
}

// What cannot be noted as told ends the turn; the history has it, and it is not told again.
func TestWakeThatCannotBeNoted(t *testing.T) {
	t.Parallel()
	f := setup(t, func(c *agent.Config) { c.Tasks = &unnoted{notices{{Tasks: []string{"t1"}, Text: "news"}}} })
	end, err := f.Wake(t.Context(), agent.Observer{})
	if err != nil || end.Reason != history.Failed || end.Error != "the disk is full" {
		t.Errorf("%+v, %v", end, err)
	}
	f.log.View(func(s *history.State) {
		if !s.Noted("t1") || s.Broken() {
			t.Errorf("%+v", s)
		}
	})
}

type unnoted struct{ notices }

func (*unnoted) Noted(context.Context, []agent.Notice) error { return errors.New("the disk is full") }

// Words that are not the user's say whose they are, and the history knows what had them
// said.
func TestSpeak(t *testing.T) {
	t.Parallel()
	f := setup(t, nil, says("done"))
	words := agent.Words{Message: llm.TextMessage(llm.User, "an order came"), By: "trigger orders", Task: "d1"}
	var first history.Event
	end, err := f.Speak(t.Context(), words, agent.Observer{Event: func(e history.Event) {
		if first.Type == "" {
			first = e
		}
	}})
	if err != nil || end.Reason != history.Done {
		t.Fatalf("%+v, %v", end, err)
	}
	if first.Type != history.User || first.By != "trigger orders" || first.Task != "d1" {
		t.Errorf("%+v", first)
	}
	f.log.View(func(s *history.State) {
		if !s.Noted("d1") || s.Turns != 1 {
			t.Errorf("%+v", s)
		}
	})
}
