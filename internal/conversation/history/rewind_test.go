package history_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"callgate/internal/conversation/history"
	"callgate/llm"
)

// numbered numbers events, a second apart.
func numbered(events ...history.Event) []history.Event {
	for i := range events {
		events[i].Seq = int64(i + 1)
		events[i].At = time.Unix(int64(i+1), 0)
	}
	return events
}

func userSaid(text string) history.Event {
	m := llm.TextMessage(llm.User, text)
	return history.Event{Type: history.User, Message: &m}
}

func modelSaid(text string) history.Event {
	m := llm.TextMessage(llm.Assistant, text)
	return history.Event{Type: history.Assistant, Message: &m, Usage: &llm.Usage{Output: 1}}
}

func modelCalled(id string) history.Event {
	m := llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: id, Name: "x"}}}}
	return history.Event{Type: history.Assistant, Message: &m}
}

func turnEnded() history.Event {
	return history.Event{Type: history.TurnEnded, End: &history.End{Reason: history.Done}}
}

func rewound(before int64, turn int) history.Event {
	return history.Event{Type: history.Rewound, Rewind: &history.Rewind{Before: before, Turn: turn}}
}

func shownTexts(s *history.State) string {
	var all []string
	for _, m := range s.Messages {
		all = append(all, m.Text())
	}
	return strings.Join(all, " ")
}

func TestRewind(t *testing.T) {
	t.Parallel()
	system := func(e history.Event, text string) history.Event {
		e.System = []history.Section{{Name: "s", Text: text}}
		e.Told = map[string]string{"s": text}
		return e
	}
	queued := llm.TextMessage(llm.User, "more")
	for name, c := range map[string]struct {
		events []history.Event
		want   string
		system string
		broken bool
		turns  string // number and whether it was cut
	}{
		"to the last turn": {
			numbered(userSaid("a"), modelSaid("A"), turnEnded(), userSaid("b"), modelSaid("B"), turnEnded(), rewound(4, 2)),
			"a A", "", false, "1 2-",
		},
		"to the first, and on": {
			numbered(userSaid("a"), modelSaid("A"), turnEnded(), userSaid("b"), modelSaid("B"), turnEnded(), rewound(1, 1), userSaid("c"), modelSaid("C"), turnEnded()),
			"c C", "", false, "1- 2- 3",
		},
		"twice": {
			numbered(userSaid("a"), modelSaid("A"), turnEnded(), userSaid("b"), turnEnded(), rewound(4, 2), userSaid("c"), turnEnded(), rewound(7, 3)),
			"a A", "", false, "1 2- 3-",
		},
		"to a turn that was cut already": {
			numbered(userSaid("a"), turnEnded(), userSaid("b"), turnEnded(), rewound(1, 1), userSaid("c"), turnEnded(), rewound(3, 2)),
			"c", "", false, "1- 2- 3",
		},
		"out of a turn that was broken off in a call": {
			numbered(userSaid("a"), modelSaid("A"), turnEnded(), userSaid("b"), modelCalled("1"), rewound(4, 2)),
			"a A", "", false, "1 2-",
		},
		"behind a compaction": {
			numbered(userSaid("a"), modelSaid("A"), turnEnded(), userSaid("b"), modelSaid("B"), turnEnded(),
				history.Event{Type: history.Compacted, Compaction: &history.Compaction{Summary: "sum", Kept: 1}},
				userSaid("c"), turnEnded(), rewound(4, 2)),
			"a A", "", false, "1 2- 3-",
		},
		"to after a compaction": {
			numbered(userSaid("a"), modelSaid("A"), turnEnded(), userSaid("b"), modelSaid("B"), turnEnded(),
				history.Event{Type: history.Compacted, Compaction: &history.Compaction{Summary: "sum", Kept: 1}},
				userSaid("c"), turnEnded(), rewound(8, 3)),
			"sum B", "", false, "1 2 3-",
		},
		"the system text of then": {
			numbered(system(userSaid("a"), "one"), modelSaid("A"), turnEnded(), system(userSaid("b"), "two"), turnEnded(), rewound(4, 2)),
			"a A", "one", false, "1 2-",
		},
		"what was said while a turn ran begins none": {
			numbered(userSaid("a"), history.Event{Type: history.User, Message: &queued, Queued: 9}, modelSaid("A"), turnEnded(), userSaid("b"), turnEnded(), rewound(5, 2)),
			"a more A", "", false, "1 2-",
		},
		"to a turn that began by itself": {
			numbered(userSaid("a"), modelSaid("A"), turnEnded(), history.Event{Type: history.Woken}, modelSaid("B"), turnEnded(), rewound(4, 2)),
			"a A", "", false, "1 2-",
		},
		"to nothing": {
			numbered(userSaid("a"), rewound(7, 1)), "a", "", true, "1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := history.Replay(c.events)
			if got := shownTexts(s); got != c.want {
				t.Errorf("the model is shown %q, want %q", got, c.want)
			}
			if len(s.Messages) != len(s.Origins) {
				t.Errorf("%d messages have %d origins", len(s.Messages), len(s.Origins))
			}
			text := ""
			if len(s.System) > 0 {
				text = s.System[0].Text
			}
			if told, _ := s.Told("s"); text != c.system || told != c.system {
				t.Errorf("the system text is %q, and %q is told, want %q", text, told, c.system)
			}
			if s.Broken() != c.broken {
				t.Errorf("broken: %v", s.Broken())
			}
			var turns []string
			for _, turn := range history.TurnsOf(c.events) {
				text := fmt.Sprint(turn.Number)
				if turn.Cut {
					text += "-"
				}
				turns = append(turns, text)
			}
			if got := strings.Join(turns, " "); got != c.turns {
				t.Errorf("turns %q, want %q", got, c.turns)
			}
		})
	}
}

// What a caller was shown before is not changed by what is said after a rewind, and what
// a turn cost stays counted.
func TestRewindChangesNoMessages(t *testing.T) {
	t.Parallel()
	s := history.Replay(numbered(userSaid("a"), modelSaid("A"), turnEnded(), userSaid("b"), modelSaid("B"), turnEnded()))
	before := s.Messages
	for i, e := range []history.Event{rewound(4, 2), userSaid("c"), modelSaid("C")} {
		e.Seq = int64(7 + i)
		s.Apply(e)
	}
	if got := before[2].Text() + before[3].Text(); got != "bB" {
		t.Errorf("what was shown before became %q", got)
	}
	if s.Usage.Output != 3 || s.Turns != 3 {
		t.Errorf("%+v, %d turns", s.Usage, s.Turns)
	}
}

// What waits to be said is given back when the conversation goes back.
func TestRewoundGivesBack(t *testing.T) {
	t.Parallel()
	m := llm.TextMessage(llm.User, "more")
	events := numbered(userSaid("a"), history.Event{Type: history.Queued, Message: &m})
	s := history.Replay(events)
	if !s.Starts(1) || s.Starts(2) {
		t.Error("a turn begins with the user's words")
	}
	for i, e := range s.Rewound(history.Rewind{Before: 1, Turn: 1}) {
		e.Seq = int64(3 + i)
		s.Apply(e)
	}
	if len(s.Queued()) != 0 || len(s.Messages) != 0 || s.Broken() {
		t.Errorf("%v waits, %v is shown, broken: %v", s.Queued(), s.Messages, s.Broken())
	}
}
