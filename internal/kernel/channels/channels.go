// Package channels delivers the messages of apps.
//
// # Law
//
//   - A delivery is a task: it is stored before anybody is told that a message is on
//     its way, and outlives the call, the conversation and the kernel. It is made at
//     least once. Its ID says what it delivers, so asking for it twice is once, and the
//     receiver is told the same ID on every attempt.
//   - An attempt that may help is made again, later each time, as often as the channel
//     says. What was given up is a dead letter: it is kept and shown, the conversation
//     that sent it is told, and a human may have it tried again, under the same ID.
//   - A message that an agent asks for, at once or by a schedule, is a call of
//     send_message or reply, judged by the gate. What the kernel sends without a call is
//     what a human accepted as a line of its own: the answer to a trigger's event, and
//     the words of a hook; and what a human sends to try a channel.
//   - Each attempt is judged by what holds then: the app file as it is, what a human
//     accepts of it, its rules about that message, and the secrets. A channel that is gone, or is not
//     accepted, or is denied, has nothing delivered.
//   - A file is written under the lock that the calls of tools take for it, inside the
//     workspace, and never one that holds rules.
//   - The conversation itself is a channel that every app has. A message to it is a
//     notice.
package channels

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"callgate/internal/app"
	"callgate/internal/app/channels"
	"callgate/internal/channel"
	"callgate/internal/channel/console"
	"callgate/internal/channel/desktop"
	"callgate/internal/gate/lock"
	"callgate/internal/kernel/apps"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/tasks"
	"callgate/internal/task"
	"callgate/tool"
)

// Kind is the kind of the tasks that are deliveries.
const Kind = "delivery"

// Apps loads the app file of a folder.
type Apps interface {
	Load(ctx context.Context, workspace, file string) (*apps.Loaded, error)
}

// Runner runs durable tasks.
type Runner interface {
	Handle(kind string, h tasks.Handler)
	Start(ctx context.Context, t task.Task) (task.Task, error)
	Tell(ctx context.Context, notice task.Task) error
	Wait(ctx context.Context, id string) error
	Store() task.Store
}

// Secrets knows the values of secrets.
type Secrets interface {
	Expand(text string) (string, error)
	ValuesFor(user string, refs []string) (map[string]string, error)
	ScrubString(text string) string
}

// Options is what Channels needs of the kernel.
type Options struct {
	Apps    Apps
	Runner  Runner
	Secrets Secrets
	Locks   *lock.Table
	// Session returns a session that bears an ID, in which a call is made: the asker's may
	// be gone.
	Session func(id string) (*session.Session, error)
	Hidden  []string  // the kernel's own folders, which no message is written to
	Stdout  io.Writer // of the kernel; nil: it has none
	// ReplyTo returns where the answer to the event goes that a conversation works on;
	// may be nil, and returns nothing for a conversation that answers no event.
	ReplyTo func(ctx context.Context, conversation string) (channel, event string)
}

// Channels delivers messages. Make one with New.
type Channels struct {
	opt     Options
	console *console.Sender
	desktop *desktop.Sender
}

// New makes Channels, which runs the deliveries of the runner.
func New(o Options) *Channels {
	c := &Channels{opt: o, console: console.New(o.Stdout), desktop: desktop.New()}
	o.Runner.Handle(Kind, c.deliver)
	return c
}

// Message is one message to be delivered.
type Message struct {
	Channel string
	ID      string // says what is delivered; twice is once
	Title   string
	Text    string
	Event   string // the event that it answers; "": none
	// Conversation is told of a message to the conversation itself, and of one that was
	// given up; "": the asker's session.
	Conversation string
}

// delivery is the input of a delivery's task.
type delivery struct {
	Channel      string    `json:"channel"`
	ID           string    `json:"id"` // the receiver's
	At           time.Time `json:"at"`
	Title        string    `json:"title,omitempty"`
	Text         string    `json:"text"`
	Event        string    `json:"event,omitempty"`
	Conversation string    `json:"conversation,omitempty"`
}

// Deliver has a text delivered for an owner. It returns when the delivery is stored. The
// ID says what it delivers: a delivery of that ID to the same channel is not made again.
func (c *Channels) Deliver(ctx context.Context, owner task.Asker, channel, id, text string) error {
	_, err := c.Send(ctx, owner, Message{Channel: channel, ID: id, Text: text})
	return err
}

// Send has a message delivered for an owner, and returns the delivery when it is stored.
func (c *Channels) Send(ctx context.Context, owner task.Asker, m Message) (task.Task, error) {
	const op = "channels.Send"
	switch {
	case m.ID == "":
		return task.Task{}, tool.Errorf(op, tool.Internal, "a message has no ID")
	case strings.TrimSpace(m.Text) == "":
		return task.Task{}, tool.Errorf(op, tool.Invalid, "the message is empty").WithHint("say something in it")
	case len(m.Text) > channel.MaxText:
		return task.Task{}, tool.Errorf(op, tool.Invalid, "the message has %d bytes, and %d are the most", len(m.Text),
			channel.MaxText).WithHint("put the whole into a file, and say where it is")
	}
	if err := c.Check(ctx, owner, m.Channel); err != nil {
		return task.Task{}, err
	}
	if channels.IsConversation(m.Channel) {
		m.Channel = channels.Conversation
	}
	from := owner.Principal
	id := "delivery-" + channel.HashID(from.User, from.Session, owner.Workspace, owner.AppFile, m.Channel, m.ID)
	input, err := json.Marshal(delivery{
		Channel: m.Channel, ID: id, At: time.Now().UTC(), Title: c.opt.Secrets.ScrubString(m.Title),
		Text: c.opt.Secrets.ScrubString(m.Text), Event: m.Event, Conversation: cmp.Or(m.Conversation, from.Session),
	})
	if err != nil {
		return task.Task{}, tool.Errorf(op, tool.Invalid, "the message cannot be stored: %w", err)
	}
	return c.opt.Runner.Start(ctx, task.Task{
		ID: id, Kind: Kind, Asker: owner, Input: input, Label: label(m.Channel, m.Title, m.Text),
	})
}

// label is a delivery in a line.
func label(channel, title, text string) string {
	line := strings.Join(strings.Fields(cmp.Or(title, text)), " ")
	return channel + ": " + tool.TruncateTo(line, 80)
}

// Check returns why a message to a channel would be given up at once.
func (c *Channels) Check(ctx context.Context, owner task.Asker, name string) error {
	loaded, err := c.load(ctx, owner)
	if err != nil {
		return err
	}
	_, err = c.find(loaded, channel.Message{Channel: name})
	return err
}

// Names lists the channels of an app that a human accepted, in its order.
func Names(l *apps.Loaded) []string {
	var names []string
	for _, ch := range Accepted(l) {
		names = append(names, ch.Name)
	}
	return names
}

// Accepted are the channels of an app that a human accepted.
func Accepted(l *apps.Loaded) []app.Channel {
	if l.App == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(l.App.Runtime.Channels), func(ch app.Channel) bool {
		return l.Accepted.Check("channels", needs(l, ch)) != nil
	})
}
