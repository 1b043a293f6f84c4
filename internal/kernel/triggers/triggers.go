// Package triggers starts turns of apps when something happens outside.
//
// # Law
//
//   - An app runs in the background once somebody started it, and until somebody stops
//     it, whatever kernels come and go: that is kept. Its triggers are active while a
//     human accepts them as they are in its file now, each one by itself, and the kernel
//     serves. Nothing runs for a folder that nobody accepted, and what was taken back
//     ends at once.
//   - No secret of an app is stored with an event, or told to a model: what comes from
//     outside is scrubbed before it is kept.
//   - What does not fit the schema of the app (runtime.payload_schema) starts no turn. A
//     webhook's sender is told so and nothing is kept; from other sources it is a dead
//     letter.
//   - An event is a task: it is stored before its source is told that it was taken, and
//     outlives the kernel. Its ID is made of the source's own, so an event that comes
//     twice is one.
//   - An event starts a turn of the app, without a client, in a conversation of its own
//     or in the one of its trigger. What it holds is data in a fence: the model is told
//     so, and only the app's author tells it what to do. What is too large to be shown
//     whole can be read on by the event's ID.
//   - A turn that a kernel left is gone on with, and is not begun again. A turn that
//     failed because its model could not be asked is tried again, later each time. An
//     event that was given up is a dead letter: it is kept and shown, and a human may
//     have it tried again.
//   - The answer goes to the trigger's channel, once, unless the agent replied there
//     itself.
//   - Of one app a few turns run at a time, and a few hundred events wait. A source that
//     sends more is told to come later.
package triggers

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"callgate/internal/app"
	"callgate/internal/channel"
	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/document"
	"callgate/internal/kernel/apps"
	"callgate/internal/kernel/channels"
	"callgate/internal/kernel/consent"
	"callgate/internal/kernel/tasks"
	"callgate/internal/task"
	"callgate/tool"
)

// Kind is the kind of the tasks that are events.
const Kind = "trigger"

// Apps loads the app file of a folder.
type Apps interface {
	Load(ctx context.Context, workspace, file string) (*apps.Loaded, error)
	Workdir(ctx context.Context, workspace, file string, named bool) (string, string, error)
}

// Turns runs turns without a client.
type Turns interface {
	Run(ctx context.Context, h conversation.Headless) (id string, end history.End, err error)
	History(ctx context.Context, id string, after int64) (history.Info, []history.Event, error)
}

// Runner runs durable tasks.
type Runner interface {
	Handle(kind string, h tasks.Handler)
	Start(ctx context.Context, t task.Task) (task.Task, error)
	Store() task.Store
}

// Sender delivers messages.
type Sender interface {
	Send(ctx context.Context, owner task.Asker, m channels.Message) (task.Task, error)
	Replied(ctx context.Context, conversation, event string) (bool, error)
}

// Secrets knows the values of secrets.
type Secrets interface {
	Expand(text string) (string, error)
	Values(names []string) (map[string]string, error)
	ScrubString(text string) string
}

// Consents knows what a human accepts of an app now.
type Consents interface {
	Of(a *app.App) consent.Accepted
}

// Options is what Triggers needs of the kernel.
type Options struct {
	Apps      Apps
	Turns     Turns
	Runner    Runner
	Sender    Sender
	Secrets   Secrets
	Consents  Consents
	Documents document.Store
	User      string
	Log       *slog.Logger
	Waiting   int // how many events of one app may wait, or be worked on; 0: 500
	// Hold says why no event is taken now; nil: events are.
	Hold func() error
	// Go runs work in the background, unless the kernel closes.
	Go func(func(context.Context)) bool
}

// Hook is a webhook that is to be listened for.
type Hook struct {
	Key     string // tells it from all others
	App     string
	Trigger app.Trigger
	Secret  func() (string, error) // of the callers; as it is now
	// Accept keeps an event. An event without an ID has one of its body, and is the same
	// as one of the same body that came within the window. It reports whether the event
	// is a new one.
	Accept func(ctx context.Context, e channel.Event, window time.Duration) (id string, fresh bool, err error)
}

// Listener listens for webhooks. Listen takes hooks in the place of those before, and
// says of each what became of it, by its key.
type Listener interface {
	Listen(hooks []Hook) map[string]Heard
}

// Heard is where a webhook is listened for, or why it is not.
type Heard struct {
	Address string // with the port that it has
	Err     error
}

// Triggers are the background apps of a kernel. Make one with New.
type Triggers struct {
	opt Options

	changing sync.Mutex // held while apps are started and stopped
	keeping  sync.Mutex // held while an event is stored

	mu       sync.Mutex
	listener Listener // nil: this kernel does not serve
	apps     map[string]*background
	turns    map[string]chan struct{} // by app: the turns that run
	shared   map[string]chan struct{} // by trigger: the one turn of its conversation
	working  map[string]work          // by conversation: the event it works on
	waiting  map[string]int           // by app: events that have not ended
}

// work is what a conversation works on.
type work struct{ channel, event string }

// New makes Triggers, which runs the turns of events.
func New(o Options) *Triggers {
	if o.Waiting == 0 {
		o.Waiting = 500
	}
	t := &Triggers{
		opt: o, apps: map[string]*background{}, turns: map[string]chan struct{}{}, shared: map[string]chan struct{}{},
		working: map[string]work{}, waiting: map[string]int{},
	}
	o.Runner.Handle(Kind, t.run)
	return t
}

// ReplyTo returns where the answer to the event goes that a conversation works on, and
// the event; "" for a conversation that works on none.
func (t *Triggers) ReplyTo(_ context.Context, conversation string) (channel, event string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.working[conversation]
	return w.channel, w.event
}

// Running returns how many apps run in the background.
func (t *Triggers) Running() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.apps)
}

// find returns a trigger of an app as the file has it now, if a human accepts it.
func find(l *apps.Loaded, name string) (app.Trigger, error) {
	const op = "triggers"
	if l.App != nil {
		for _, tr := range l.App.Runtime.Triggers {
			if tr.Name == name {
				return tr, l.Accepted.Check(op, consent.Trigger(l.App, tr))
			}
		}
	}
	return app.Trigger{}, tool.Errorf(op, tool.NotFound, "the app has no trigger %q", tool.Truncate(name))
}

// slot returns a semaphore by its name.
func (t *Triggers) slot(from map[string]chan struct{}, name string, n int) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if from[name] == nil {
		from[name] = make(chan struct{}, n)
	}
	return from[name]
}

// enter takes a place of a semaphore, unless ctx ends first.
func enter(ctx context.Context, slot chan struct{}) (leave func(), err error) {
	select {
	case slot <- struct{}{}:
		return func() { <-slot }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
