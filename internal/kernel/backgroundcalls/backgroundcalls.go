// Package backgroundcalls makes calls that nobody waits for: those of background_run,
// and those that were moved to the background while they ran.
//
// # Law
//
//   - A call in the background is a task of the kind Kind. Its ID follows from that of
//     the call that began it, and the ID of the call that it makes from the task's: so
//     beginning twice is once, and so is the call.
//   - It is a call like any other: judged by the rules, locked, recorded. What is denied
//     is refused at once; what needs a human waits for one, and says so. It is made by
//     the law of package deferred, within what its asker had.
//   - After a crash a call that never began is made, one that ended has its result, and
//     one that began and did not end is in doubt: it is told so, once, and never made
//     again but by the law of package recovery.
//   - A task belongs to the session that began it. Who comes back as the same after that
//     session is gone, with the same profile and token, has its tasks; for everybody else
//     they do not exist.
//   - The end of a task is told once: with the result of the call that looks at it, or
//     else as a notice to its conversation.
//   - Waiting for a task is not holding it: it goes on when the waiting is over.
//     Cancelling one ends its call, with grace and then by force; what it asked a human
//     is withdrawn.
package backgroundcalls

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"sync"

	"callgate/internal/control"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/detach"
	"callgate/internal/journal"
	"callgate/internal/journal/outputbus"
	"callgate/internal/kernel/deferred"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/tasks"
	"callgate/internal/task"
	"callgate/tool"
)

// Kind is the kind of the tasks.
const Kind = "call"

// maxActive limits the tasks of one session that have not ended.
const maxActive = 100

// Runner runs durable tasks.
type Runner interface {
	Handle(kind string, h tasks.Handler)
	Start(ctx context.Context, t task.Task) (task.Task, error)
	Cancel(ctx context.Context, id, by string) error
	Wait(ctx context.Context, id string) error
	Tell(ctx context.Context, notice task.Task) error
	Store() task.Store
}

// Approvals is what is done with what a call asked a human.
type Approvals interface {
	Get(ctx context.Context, id string) (approval.Request, error)
	AnswerVouched(ctx context.Context, v approval.Voucher, id string, a approval.Answer) error
}

// Options is what Calls needs of the kernel. All fields but ShortLived are required.
type Options struct {
	Runner    Runner
	Deferred  *deferred.Calls
	Detach    *detach.Table
	Output    *outputbus.Bus
	Journal   *journal.Journal
	Approvals Approvals
	// Session returns an open session, or an error.
	Session func(id string) (*session.Session, error)
	// Asker returns on whose behalf what a call begins is done, and the conversation
	// that is told; an empty one is none.
	Asker func(call tool.Call) (task.Asker, string, error)
	// ShortLived says that the kernel ends with the command that started it.
	ShortLived bool
}

// Calls are the calls in the background of one kernel. Make one with New.
type Calls struct {
	opt Options

	mu   sync.Mutex
	live map[string]*live // by task
}

// New makes it, and has the runner run its tasks and the table move calls to it.
func New(o Options) *Calls {
	c := &Calls{opt: o, live: map[string]*live{}}
	o.Runner.Handle(Kind, c.run)
	o.Detach.SetStore(c.store)
	return c
}

// input is the input of a task.
type input struct {
	Call        string          `json:"call"` // the ID of the call
	Name        string          `json:"name"` // its tool
	Args        json.RawMessage `json:"args,omitempty"`
	Moved       bool            `json:"moved,omitempty"` // it ran already
	NotifyWhen  string          `json:"notify_when,omitempty"`
	NotifyEvery float64         `json:"notify_every,omitempty"` // seconds
}

// taskID is the ID of the task that a call begins: twelve hexadecimal digits.
func taskID(call string) string {
	sum := sha256.Sum256([]byte("task of " + call))
	return hex.EncodeToString(sum[:6])
}

// callID is the ID of the call that a task makes.
func callID(task string) string { return task + ".call" }

func inputOf(t task.Task) (in input, err error) {
	if err := json.Unmarshal(t.Input, &in); err != nil {
		return in, tool.Errorf("backgroundcalls", tool.Internal, "the input of the task %s cannot be read: %w", t.ID, err)
	}
	return in, nil
}

// Do does what a call of background_run asks for: see control.Background.
func (c *Calls) Do(ctx context.Context, call tool.Call, r control.BackgroundRequest) (*tool.Result, error) {
	switch r.Mode {
	case control.BackgroundList:
		return c.list(ctx, call)
	case control.BackgroundCancel:
		return c.cancel(ctx, call, r)
	case control.BackgroundWait, control.BackgroundStatus:
		return c.look(ctx, call, r)
	default:
		return c.launch(ctx, call, r)
	}
}

const op = "background_run"

// find returns a task of the caller's, or NotFound: others learn nothing of it.
func (c *Calls) find(ctx context.Context, call tool.Call, id string) (task.Task, error) {
	t, err := c.opt.Runner.Store().Get(ctx, id)
	if tool.KindOf(err) == tool.NotFound || err == nil && (t.Kind != Kind || !c.owns(ctx, call, t)) {
		return task.Task{}, tool.Errorf(op, tool.NotFound, "there is no task %q of yours", tool.Truncate(id)).
			WithHint(`{"list":true} lists your tasks`)
	}
	return t, err
}

// owns reports whether a task belongs to the session of a call. Nobody is told the
// result of a tool that they do not have, as a client of another profile.
func (c *Calls) owns(ctx context.Context, call tool.Call, t task.Task) bool {
	if t.Asker.Principal.Session == call.Principal.Session {
		return t.Asker.Principal.User == call.Principal.User
	}
	if _, err := c.opt.Session(t.Asker.Principal.Session); err == nil {
		return false // it is open, and has its tasks for itself
	}
	s, err := c.opt.Session(call.Principal.Session)
	if err != nil || !t.Asker.OwnedBy(deferred.AskerOf(s, call), true) {
		return false
	}
	in, err := inputOf(t)
	if err != nil {
		return false
	}
	_, err = s.View().Tool(ctx, in.Name)
	return err == nil
}

// label is a task in a line for people.
func label(name string, args json.RawMessage) string {
	if id, ok := tool.TryParseID(name); ok {
		name = id.Dotted()
	}
	var fields map[string]any
	if json.Unmarshal(args, &fields) == nil {
		for _, key := range []string{"description", "command", "path", "url", "query", "name"} {
			if text, ok := fields[key].(string); ok && strings.TrimSpace(text) != "" {
				return name + ": " + tool.TruncateTo(strings.Join(strings.Fields(text), " "), 100)
			}
		}
	}
	return name
}

// Move moves a call of a session to the background, by hand: it goes on as a task, and
// whoever waits for it is told so.
func (c *Calls) Move(ctx context.Context, session, call string) error {
	return c.opt.Detach.Move(ctx, session, call)
}
