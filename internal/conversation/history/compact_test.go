package history_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/conversation/history"
	"callgate/llm"
	"callgate/tool"
)

// shown is what a model is shown, a line for each message.
func shown(s *history.State) (lines []string) {
	for i, m := range s.Messages {
		line := fmt.Sprintf("%s: %s", s.Origins[i].Type, m.Text())
		for _, c := range m.Calls() {
			line += " [" + c.ID + "]"
		}
		for _, p := range m.Parts {
			if p.Result != nil {
				line += " (" + p.Result.ID + " " + p.Result.Text() + ")"
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func TestCompaction(t *testing.T) {
	events := []history.Event{
		{Type: history.User, Message: said(llm.User, "one")},
		{Type: history.Assistant, Message: said(llm.Assistant, "", "a", "b")}, ended("a", "long"), ended("b", "x"),
		{Type: history.Assistant, Message: said(llm.Assistant, "done")},
		{Type: history.Note, Message: said(llm.User, "news")},
		{Type: history.User, Message: said(llm.User, "two")},
		{Type: history.Assistant, Message: said(llm.Assistant, "", "a")}, ended("a", "y"),
	}
	for name, c := range map[string]struct {
		compaction history.Compaction
		want       []string
	}{
		"the last ones stay": {history.Compaction{Summary: "S", Kept: 3},
			[]string{"compacted: S", "user: two", "assistant:  [a]", "tool_ended:  (a y)"}},
		"a result keeps its call": {history.Compaction{Summary: "S", Kept: 1},
			[]string{"compacted: S", "assistant:  [a]", "tool_ended:  (a y)"}},
		"what is pinned stays, with its result": {history.Compaction{Summary: "S", Kept: 2, Pinned: []int{5, 1, 99, -1}},
			[]string{"compacted: S", "assistant:  [a] [b]", "tool_ended:  (a long) (b x)", "user: two", "assistant:  [a]", "tool_ended:  (a y)"}},
		"or with its call": {history.Compaction{Summary: "S", Kept: 2, Pinned: []int{2}},
			[]string{"compacted: S", "assistant:  [a] [b]", "tool_ended:  (a long) (b x)", "assistant:  [a]", "tool_ended:  (a y)"}},
		"more than there are": {history.Compaction{Summary: "S", Kept: 100, Shortened: []history.Shortened{{Message: 2, Call: "a", Text: "l…g"}, {Message: 9, Call: "a"}, {Message: 2, Call: "z"}, {Message: 0, Call: "a"}}},
			[]string{"compacted: S", "user: one", "assistant:  [a] [b]", "tool_ended:  (a l…g) (b x)", "assistant: done", "note: news", "user: two", "assistant:  [a]", "tool_ended:  (a y)"}},
		"nothing is left out": {history.Compaction{Kept: 0, Shortened: []history.Shortened{{Message: 7, Call: "a", Text: "…"}}},
			[]string{"user: one", "assistant:  [a] [b]", "tool_ended:  (a long) (b x)", "assistant: done", "note: news", "user: two", "assistant:  [a]", "tool_ended:  (a …)"}},
		"none stay": {history.Compaction{Summary: "S", Kept: -1}, []string{"compacted: S"}},
	} {
		s := history.Replay(events)
		before, was := s.Messages, shown(s)
		s.Apply(history.Event{Type: history.Compacted, Compaction: &c.compaction})
		if diff := cmp.Diff(c.want, shown(s)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(was, shown(&history.State{Messages: before, Origins: history.Replay(events).Origins})); diff != "" {
			t.Errorf("%s: what was shown has changed: %s", name, diff)
		}
	}
}

// A call that has no result yet stays, whatever is left out, and finds its
// result.
func TestCompactionWhileCallsRun(t *testing.T) {
	s := history.Replay([]history.Event{
		{Type: history.User, Message: said(llm.User, "one")},
		{Type: history.Assistant, Message: said(llm.Assistant, "", "a", "b", "c")}, ended("b", "x"),
		{Type: history.Compacted, Compaction: &history.Compaction{Summary: "S", Usage: &llm.Usage{Output: 5}}},
		ended("c", "z"), ended("a", "y"),
	})
	if diff := cmp.Diff([]string{"compacted: S", "assistant:  [a] [b] [c]", "tool_ended:  (a y) (b x) (c z)"}, shown(s)); diff != "" {
		t.Error(diff)
	}
	if s.Usage.Output != 5 {
		t.Errorf("what the summary took is not counted: %+v", s.Usage)
	}
}

func TestWaits(t *testing.T) {
	waits := func(id, question string) history.Event {
		e := ended(id, "waits")
		e.Result.Status, e.Result.Approval = tool.Waiting, question
		return e
	}
	s := history.Replay([]history.Event{
		{Type: history.Assistant, Message: said(llm.Assistant, "", "a", "b", "c")}, waits("a", "q1"), ended("b", "x"), waits("c", "q2"),
		{Type: history.Compacted, Compaction: &history.Compaction{Summary: "S", Kept: 2}},
	})
	if diff := cmp.Diff(map[string]string{"a": "q1", "c": "q2"}, s.Origins[2].WaitsForApproval); diff != "" {
		t.Error(diff)
	}
}
