package tui

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/transcript"
	"callgate/llm"
)

// answer is an answer of the model; N stands for its number.
const answer = "## Part N\n\nSome **bold** words about `it`, and [more](https://example.com/N).\n\n- one\n- two\n\n" +
	"```go\nfunc fN() int { return N }\n```\n"

// longChat is a chat of ten thousand lines, on a large screen.
func longChat(b *testing.B) *chat {
	b.Helper()
	k := &scriptedKernel{}
	k.about.ID = "t1"
	c := newChat(context.Background(), Options{Kernel: k, Open: k.open}, OpenConversation{About: k.about, Conversation: k})
	c.Update(tea.WindowSizeMsg{Width: 160, Height: 50})
	for i := range 1_000 {
		c.view.Script.Add(transcript.UserText(fmt.Sprintf("what of %d?", i)), true)
		c.view.NewAnswer().Write(strings.ReplaceAll(answer, "N", strconv.Itoa(i)))
	}
	c.View()
	lines := 0
	for c.view.Script.Home(); !c.view.Script.Following(); c.view.Script.Scroll(1) {
		lines++
	}
	if lines < 10_000 {
		b.Fatalf("only %d lines", lines)
	}
	return c
}

// A frame of these must take less than 16 ms.
func BenchmarkScroll(b *testing.B) {
	c := longChat(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		step := -40
		if i/200%2 == 1 {
			step = 40
		}
		c.view.Script.Scroll(step)
		c.View()
	}
}

func BenchmarkStream(b *testing.B) {
	c := longChat(b)
	c.view.Script.Follow()
	c.view.Begin(b.Context(), func(context.Context) iter.Seq2[protocol.TurnEvent, error] {
		return func(func(protocol.TurnEvent, error) bool) {}
	})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		word := "word "
		if i%120 == 119 {
			word = "\n\n"
		}
		c.view.Show(protocol.TurnEvent{Delta: &llm.Delta{Kind: llm.DeltaText, Text: word}})
		c.View()
	}
}

// A new width makes every line stale; only those on the screen are laid out
// again.
func BenchmarkResize(b *testing.B) {
	c := longChat(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.Update(tea.WindowSizeMsg{Width: 120 + i%40, Height: 50})
		c.View()
	}
}

// A frame lays out the blocks that are on the screen, not the whole transcript.
func TestFrameLaysOutVisibleBlocksOnly(t *testing.T) {
	t.Parallel()
	laid := 0
	c := newChat(t.Context(), Options{Now: time.Now}, OpenConversation{})
	c.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	for range 10_000 {
		c.view.Script.Add(counted{&laid}, false)
	}
	c.View()
	c.view.Script.Scroll(-100)
	c.View()
	c.Update(tea.WindowSizeMsg{Width: 70, Height: 24})
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
