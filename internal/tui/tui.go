// Package tui is the chat: a conversation with an agent, on a whole terminal.
//
// It shows what happens and sends what the user writes; about a call it decides
// nothing. It reaches the kernel only through [Options], with the methods of
// internal/client, so the kernel may run in this process or in another.
//
// # Law
//
//   - One goroutine owns all state: the one that calls Update and View. A turn
//     or a request to the kernel runs in a command, which returns a message.
//   - The screen has parts: the turns (internal/tui/turnview), the approvals, the composer,
//     the picker, the status bar and the sidebar. A part knows no other part; it
//     posts a message, which the chat delivers before Update returns.
//   - What the user wrote is never lost: it is in the composer, queued for the turn
//     that runs (internal/tui/queued), or in the conversation.
//   - A goroutine reads a turn into a channel, and a command takes all events
//     that have come. So a slow screen gets fewer, larger pieces, and a model
//     waits for the screen only while the channel is full.
//   - Text of a model or a tool reaches the screen through internal/tui/termtext
//     only.
//   - No key approves a call: an answer is a word and enter, as in the line-based
//     dialog. An approval never takes the keyboard from a user who is writing.
package tui

import (
	"context"
	"io"
	"iter"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/alert"
	"callgate/internal/tui/attach"
	"callgate/internal/tui/proposals"
	"callgate/internal/tui/recall"
	"callgate/internal/tui/tasks"
	"callgate/internal/tui/undo"
	"callgate/tool"
)

// Conversation is an open conversation. *client.Conversation is one.
type Conversation interface {
	SendMessage(ctx context.Context, m protocol.SendMessage) iter.Seq2[protocol.TurnEvent, error]
	Resume(ctx context.Context) iter.Seq2[protocol.TurnEvent, error]
	Prompt(ctx context.Context) (protocol.Prompt, error)
	Close(ctx context.Context) error
}

// Kernel answers what concerns no open conversation. *client.Client is one.
type Kernel interface {
	Answer(ctx context.Context, id string, a protocol.Answer) (protocol.Approval, error)
	Locks(ctx context.Context) (protocol.Locks, error)
	CancelTurn(ctx context.Context, id string) (stopped bool, err error)
	Conversations(ctx context.Context, limit int) ([]protocol.ConversationInfo, error)
	History(ctx context.Context, id string) (protocol.History, error)
}

// OpenConversation is an open conversation and the kernel's description of it.
type OpenConversation struct {
	About protocol.Conversation
	Conversation
}

// Options configure a chat. Kernel and Open are required.
type Options struct {
	Kernel Kernel
	// Open begins a conversation or, with the ID of an earlier one, resumes it.
	Open   func(ctx context.Context, resume string) (OpenConversation, error)
	Resume string           // the conversation to begin with; "": a new one
	By     string           // the user's name, for the journal
	Now    func() time.Time // default time.Now
	// ReadFile reads the file that a call would change, for a preview. Nil: the
	// preview shows the new content only.
	ReadFile func(path string) ([]byte, error)
	// UserCalls opens the session of the user's own calls, which !COMMAND makes. Nil:
	// there are none.
	UserCalls func(ctx context.Context) (attach.Caller, error)
	// Edit has a text edited in the user's own editor. Nil: there is none.
	Edit   func(text string) (string, error)
	Past   *recall.File // what was said in this folder before; nil: nothing is kept
	Alerts alert.Mode   // how a user who looks elsewhere is called; "": as alert.Desktop
	// Notices is told where notices are shown as long as the screen is: what is written
	// beside it would garble it. It is told nil when the screen is gone. Nil: there are none.
	Notices func(show func(text string))
	Tasks   tasks.Client // shows what works outside of turns; nil: nothing does
	Undo    undo.Client  // puts files back; nil: nothing does
	// AnswerQuestion answers what the agent asks.
	AnswerQuestion func(ctx context.Context, id string, a protocol.AnswerQuestion) (protocol.Question, error)
	// Questions lists what agents ask; nil: nothing does.
	Questions func(ctx context.Context, state protocol.QuestionState) ([]protocol.Question, error)
	// Agents lists the agents that work for a conversation; nil: there are none.
	Agents func(ctx context.Context, conversation string) ([]protocol.Agent, error)
	// Proposals shows what agents propose to change; nil: nothing does.
	Proposals proposals.Client
}

// Screen is the terminal. The zero value is the process's own.
type Screen struct {
	In          io.Reader
	Out         io.Writer
	Environment []string // default the process's own
	NoColor     bool
}

// noticeMsg is a notice that belongs to no turn.
type noticeMsg string

// closeTimeout bounds how long the chat waits for a conversation to close.
const closeTimeout = 8 * time.Second

// Run shows the chat until the user leaves it or ctx ends.
func Run(ctx context.Context, o Options, s Screen) error {
	conv, err := o.Open(ctx, o.Resume)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	c := newChat(running, o, conv)
	defer func() {
		stop() // and with it a turn that is under way
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_ = c.conv.Close(closing)
	}()
	program := tea.NewProgram(c, s.options(running)...)
	if o.Notices != nil {
		o.Notices(func(text string) { program.Send(noticeMsg(text)) })
		defer o.Notices(nil)
	}
	_, err = program.Run()
	if err == nil {
		c.leave(s)
	}
	switch {
	case ctx.Err() != nil:
		return &tool.Error{Op: "tui.Run", Kind: tool.Cancelled, Message: "the chat was ended", Err: context.Cause(ctx)}
	case err != nil:
		return &tool.Error{
			Op: "tui.Run", Kind: tool.Failed, Message: "the chat failed", Err: err,
			Hint: "callgate chat --plain needs less of the terminal",
		}
	}
	return nil
}

// options sets the terminal up. Signals are handled by the program that ends
// ctx, not here.
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
