package undo_test

import (
	"context"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"callgate/internal/protocol"
	"callgate/internal/tui/transcript"
	"callgate/internal/tui/undo"
	"callgate/tool"
)

// kernel answers as a test wants, and keeps what it was asked.
type kernel struct {
	preview  protocol.UndoPreview
	err      error
	targets  []protocol.UndoTarget
	requests []protocol.Undo
}

func (k *kernel) Preview(_ context.Context, t protocol.UndoTarget) (protocol.UndoPreview, error) {
	k.targets = append(k.targets, t)
	return k.preview, k.err
}

func (k *kernel) Do(_ context.Context, u protocol.Undo) (protocol.Undone, error) {
	k.requests = append(k.requests, u)
	return protocol.Undone{Preview: k.preview, Call: "c9", Put: []string{"a.txt"}, Rewound: u.Rewind}, k.err
}

// screen is an undo on a transcript.
type screen struct {
	*undo.Undo
	script transcript.Transcript
}

func newScreen(t *testing.T, k *kernel) *screen {
	s := &screen{}
	s.script.Resize(100, 100)
	s.Undo = undo.New(t.Context(), undo.Options{Client: k, Script: &s.script, By: "me"})
	s.Show("t1")
	return s
}

// enter says a command, and returns what is on the screen.
func (s *screen) enter(text string, rewind bool) string {
	if cmd := s.Command(text, rewind); cmd != nil {
		s.Update(cmd())
	}
	return s.shown()
}

func (s *screen) shown() string { return ansi.Strip(strings.Join(s.script.Window(), "\n")) }

func preview(f ...protocol.UndoFile) protocol.UndoPreview {
	return protocol.UndoPreview{
		ID: "p1", Workspace: "/w", Turns: []protocol.UndoTurn{{Number: 3, Text: "do it"}}, Files: f,
	}
}

func TestNothingIsDoneBeforeItWasShown(t *testing.T) {
	t.Parallel()
	k := &kernel{preview: preview(protocol.UndoFile{Path: "a.txt", Action: protocol.UndoRestore, Diff: "-b\n+a\n", Added: 1})}
	s := newScreen(t, k)
	for _, word := range []string{"yes", "skip", "force"} {
		if text := s.enter(word, false); !strings.Contains(text, "nothing was shown yet: /undo shows") {
			t.Errorf("%s: %s", word, text)
		}
	}
	text := s.enter("", false)
	for _, want := range []string{"turn 3", "do it", "restore a.txt  +1", "│ -b", "│ +a", "/undo yes puts back 1 file"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if s.enter("yes", true); len(k.requests) != 0 { // that was /undo, not /rewind
		t.Errorf("%+v", k.requests)
	}
	s.enter("yes", false)
	s.enter("yes", false) // once
	want := protocol.Undo{UndoTarget: protocol.UndoTarget{Conversation: "t1"}, Shown: "p1", By: "me"}
	if len(k.requests) != 1 || k.requests[0] != want {
		t.Errorf("%+v", k.requests)
	}
	if text := s.shown(); !strings.Contains(text, "put back 1 file (call c9)") {
		t.Error(text)
	}
}

func TestSomebodyElseWrote(t *testing.T) {
	t.Parallel()
	k := &kernel{preview: preview(protocol.UndoFile{
		Path: "a.txt", Action: protocol.UndoRestore, Conflict: &protocol.UndoConflict{Why: "by you"},
	})}
	for word, want := range map[string]protocol.Undo{"skip": {Skip: true}, "force": {Force: true}} {
		k.requests = nil
		s := newScreen(t, k)
		if text := s.enter("", true); !strings.Contains(text, "changed since: by you") || strings.Contains(text, "yes") {
			t.Error(text)
		}
		if s.enter("yes", true); len(k.requests) != 0 {
			t.Errorf("%+v", k.requests)
		}
		s.enter(word, true)
		if len(k.requests) != 1 || k.requests[0].Skip != want.Skip || k.requests[0].Force != want.Force || !k.requests[0].Rewind {
			t.Errorf("%s: %+v", word, k.requests)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text   string
		rewind bool
		want   protocol.UndoTarget
		says   string
	}{
		{"", false, protocol.UndoTarget{Conversation: "t1"}, "/undo yes"},
		{"", true, protocol.UndoTarget{Conversation: "t1", Turn: protocol.LastTurn}, "no longer sees turn 3"},
		{" 2 ", false, protocol.UndoTarget{Conversation: "t1", Turn: 2}, "/undo yes"},
		{"redo", false, protocol.UndoTarget{Conversation: "t1", Redo: true}, "/undo yes"},
		{"redo", true, protocol.UndoTarget{}, "stays so"},
		{"0", false, protocol.UndoTarget{}, "takes the number of a turn"},
		{"all of it", true, protocol.UndoTarget{}, "/rewind takes the number of a turn"},
	} {
		k := &kernel{preview: preview(protocol.UndoFile{Path: "a.txt", Action: protocol.UndoRemove})}
		text := newScreen(t, k).enter(c.text, c.rewind)
		if !strings.Contains(text, c.says) {
			t.Errorf("%q says %s", c.text, text)
		}
		if (c.want == protocol.UndoTarget{}) != (len(k.targets) == 0) || len(k.targets) == 1 && k.targets[0] != c.want {
			t.Errorf("%q asks for %+v", c.text, k.targets)
		}
	}
}

func TestFailuresAndOtherConversations(t *testing.T) {
	t.Parallel()
	k := &kernel{err: tool.Errorf("undo", tool.NotFound, "there is nothing")}
	s := newScreen(t, k)
	if text := s.enter("", false); !strings.Contains(text, "there is nothing") {
		t.Error(text)
	}
	k.err, k.preview = nil, preview()
	if text := s.enter("", false); !strings.Contains(text, "there is nothing to put back") {
		t.Error(text)
	}
	cmd := s.Command("", true)
	s.Show("t2") // the user went to another conversation meanwhile
	s.Update(cmd())
	if s.enter("yes", true); len(k.requests) != 0 {
		t.Errorf("%+v", k.requests)
	}
	none := undo.New(t.Context(), undo.Options{Script: &s.script})
	if none.Command("", false) != nil || !strings.Contains(s.shown(), "does not undo") {
		t.Error(s.shown())
	}
}
