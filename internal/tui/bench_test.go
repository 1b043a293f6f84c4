package tui

import (
	"context"
	"fmt"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/transcript"
	"callgate/llm"
)

// long is a chat in which ten thousand lines were written, on a large screen.
func long(b *testing.B) *chat {
	b.Helper()
	k := &scripted{}
	k.about.ID = "t1"
	c := newChat(context.Background(), Options{Kernel: k, Open: k.open}, OpenConversation{About: k.about, Conversation: k})
	c.update(tea.WindowSizeMsg{Width: 160, Height: 50})
	for i := range 1_000 {
		c.script.Add(transcript.UserText(fmt.Sprintf("what of %d?", i)), true)
		transcript.NewAnswer(c.script).Write(fmt.Sprintf("## Part %d\n\nSome **bold** words about `it`, and [more](https://example.com/%d).\n\n- one\n- two\n\n```go\nfunc f%d() int { return %d }\n```\n", i, i, i, i))
	}
	c.View()
	lines := 0
	for c.script.Home(); !c.script.Following(); c.script.Scroll(1) {
		lines++
	}
	if lines < 10_000 {
		b.Fatalf("only %d lines", lines)
	}
	return c
}

// Each frame of these must be done in 16 ms, whatever the machine.
func BenchmarkScroll(b *testing.B) {
	c := long(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		step := -40
		if i/200%2 == 1 {
			step = 40
		}
		c.script.Scroll(step)
		c.View()
	}
}

func BenchmarkStream(b *testing.B) {
	c := long(b)
	c.script.Follow()
	c.turn = &turn{calls: map[string]*running{}}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		word := "word "
		if i%120 == 119 {
			word = "\n\n"
		}
		c.show(protocol.TurnEvent{Delta: &llm.Delta{Kind: llm.DeltaText, Text: word}})
		c.View()
	}
}

// A change of the width makes every line stale; only those on the screen are
// laid out again.
func BenchmarkResize(b *testing.B) {
	c := long(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.update(tea.WindowSizeMsg{Width: 120 + i%40, Height: 50})
		c.View()
	}
}

// A long transcript may not cost more than a frame. This is no measure of speed,
// which BenchmarkScroll is: it fails only when all of it is laid out.
func TestOnlyWhatIsSeenIsLaidOut(t *testing.T) {
	laid := 0
	c := newChat(t.Context(), Options{Now: time.Now}, OpenConversation{})
	c.update(tea.WindowSizeMsg{Width: 80, Height: 24})
	for range 10_000 {
		c.script.Add(counted{&laid}, false)
	}
	c.View()
	c.script.Scroll(-100)
	c.View()
	c.update(tea.WindowSizeMsg{Width: 70, Height: 24})
	c.View()
	if laid > 1_000 {
		t.Errorf("%d blocks were laid out", laid)
	}
}

type counted struct{ laid *int }

func (c counted) Lines(int, bool) []string {
	*c.laid++
	return []string{"a line"}
}
