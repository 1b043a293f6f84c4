// Package tui is the chat: a conversation with an agent, on a whole terminal.
//
// It shows what happens and passes on what its user says; about a call it
// decides nothing. It reaches the kernel only through what stands in [Options],
// which is how internal/client speaks, so the kernel may be in this process or
// in another.
//
// # Law
//
//   - All state belongs to one goroutine, the one that calls Update and View.
//     What takes time (a turn, a question to the kernel) runs in a command, and
//     comes back as a message.
//   - A turn is read by a goroutine of its own into a channel; a command takes
//     out all that has come. So a slow screen gets fewer, larger pieces, and a
//     fast model never waits for it longer than the channel is full.
//   - Nothing that a model or a tool wrote reaches the screen but through
//     internal/tui/ink.
//   - No key approves a call by itself: an answer is a word and enter, as in the
//     line-based dialog, and a question never takes the keyboard from somebody
//     who is writing.
package tui

import (
	"context"
	"io"
	"iter"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/tool"
)

// Conversation is an open conversation. *client.Conversation is one.
type Conversation interface {
	Send(ctx context.Context, text string) iter.Seq2[protocol.TurnEvent, error]
	Resume(ctx context.Context) iter.Seq2[protocol.TurnEvent, error]
	Prompt(ctx context.Context) (protocol.Prompt, error)
	Close(ctx context.Context) error
}

// Kernel is what is asked beside a conversation. *client.Client is one.
type Kernel interface {
	Answer(ctx context.Context, id string, a protocol.Answer) (protocol.Approval, error)
	Locks(ctx context.Context) (protocol.Locks, error)
	CancelTurn(ctx context.Context, id string) (stopped bool, err error)
	Conversations(ctx context.Context, limit int) ([]protocol.ConversationInfo, error)
	History(ctx context.Context, id string) (protocol.History, error)
}

// OpenConversation is an open conversation and what the kernel says of it.
type OpenConversation struct {
	About protocol.Conversation
	Conversation
}

// Options are what a chat stands on. Kernel and Open are required.
type Options struct {
	Kernel Kernel
	// Open begins a conversation or, with the ID of an earlier one, takes it up.
	Open   func(ctx context.Context, resume string) (OpenConversation, error)
	Resume string           // the conversation to begin with; "": a new one
	By     string           // who sits here, for the journal
	Now    func() time.Time // default time.Now
	// ReadFile reads what a call would change, for the preview of the change.
	// Nil: nothing is read, and the new content is shown.
	ReadFile func(path string) ([]byte, error)
}

// Screen is the terminal. The zero value is the process's own.
type Screen struct {
	In          io.Reader
	Out         io.Writer
	Environment []string // default the process's own
	NoColor     bool
}

// closing bounds how long the end of the chat waits for its conversation's.
const closing = 8 * time.Second

// Run chats until its user leaves, or ctx ends.
func Run(ctx context.Context, o Options, s Screen) error {
	talk, err := o.Open(ctx, o.Resume)
	if err != nil {
		return err
	}
	lasting, cancel := context.WithCancel(ctx)
	c := newChat(lasting, o, talk)
	defer func() {
		cancel() // a turn that is under way stops
		after, done := context.WithTimeout(context.WithoutCancel(ctx), closing)
		defer done()
		_ = c.conv.Close(after)
	}()
	_, err = tea.NewProgram(c, s.options(lasting)...).Run()
	switch {
	case ctx.Err() != nil:
		return &tool.Error{Op: "tui.Run", Kind: tool.Cancelled, Message: "the chat was ended", Err: context.Cause(ctx)}
	case err != nil:
		return &tool.Error{Op: "tui.Run", Kind: tool.Failed, Message: "the chat ended badly", Err: err, Hint: "callgate chat --plain needs less of the terminal"}
	}
	return nil
}

// options are how the terminal is used. The signals are the program's, which
// ends ctx.
func (s Screen) options(ctx context.Context) []tea.ProgramOption {
	options := []tea.ProgramOption{tea.WithContext(ctx), tea.WithoutSignalHandler()}
	if s.In != nil {
		options = append(options, tea.WithInput(s.In))
	}
	if s.Out != nil {
		options = append(options, tea.WithOutput(s.Out))
	}
	env := s.Environment
	if s.NoColor {
		env = append(slices.Clone(env), "NO_COLOR=1")
	}
	if env != nil {
		options = append(options, tea.WithEnvironment(env))
	}
	return options
}
