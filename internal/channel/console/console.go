// Package console writes messages to a terminal or a log, as the kernel's standard
// output is one. Law: a message is one write, of lines in which nothing acts on the
// terminal that shows them.
package console

import (
	"context"
	"io"
	"strings"
	"sync"

	"callgate/internal/channel"
	"callgate/internal/visible"
	"callgate/tool"
)

// Sender writes messages. The zero value has nowhere to write to, and says so.
type Sender struct {
	mu sync.Mutex
	to io.Writer
}

var _ channel.Sender = (*Sender)(nil)

// New makes a sender; nil is nowhere.
func New(to io.Writer) *Sender { return &Sender{to: to} }

// Check says why no message can be written.
func (s *Sender) Check() error {
	if s == nil || s.to == nil {
		return tool.Errorf("console.Send", tool.Failed, "this kernel runs in the background, and has no standard output").
			WithHint("run it in a terminal: callgate down, then callgate up")
	}
	return nil
}

// Send writes a message.
func (s *Sender) Send(_ context.Context, m channel.Message) error {
	if err := s.Check(); err != nil {
		return err
	}
	text := "[" + visible.Text(strings.TrimSuffix(m.App+"/"+m.Agent, "/")) + "] "
	if title := m.TitleOr(""); title != "" {
		text += visible.Text(title) + "\n"
	}
	text += visible.Lines(strings.TrimRight(m.Text, "\n")) + "\n"
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := io.WriteString(s.to, text); err != nil {
		return tool.Errorf("console.Send", tool.Failed, "the standard output cannot be written: %w", err)
	}
	return nil
}
