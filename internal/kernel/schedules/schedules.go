// Package schedules has calls made later, and conversations reminded: once, or again
// and again. When that is says internal/schedule; what may be done then says
// internal/kernel/deferred.
//
// # Law
//
//   - A schedule is a task that waits. It costs nothing until it is due, and is due to
//     the instant.
//   - A run has an ID that follows from the schedule and from the time that was planned.
//     So one time has one run, whatever happens: a call that an earlier kernel made for
//     it is not made again, and one that it left in the middle is told to be in doubt.
//   - Runs of one schedule follow each other. When one has ended, the next is the first
//     time that is planned after now, and after the time of the run. So times that passed
//     meanwhile (the run was long, the kernel was not there, the machine slept, the clock
//     was set forward) are left out: what was missed happens once, late. And a clock that
//     is set back has nothing happen again.
//   - A call is judged when it is asked for, so that its mistakes are told to who made
//     them, and again when it is made. One that needs a human waits for one; until then
//     its schedule has no other run.
//   - A channel is reached by a call of send_message that the asker makes: found and
//     judged when the schedule is asked for, and judged again, with its hooks, for each
//     run. A schedule sends nothing that its asker could not send. What is refused, or
//     fails, is told where a schedule without a channel tells.
//   - What a run brought is stored before the schedule goes on, under an ID that follows
//     from the run's: it is told once. It goes to the schedule's channel, or to the
//     conversation that asked, or stays with the schedule, where an MCP client asked.
//     A conversation that does not listen is owed the news of a few runs, not of all.
//   - A schedule belongs to the conversation that asked for it, and ends with it. One of
//     an MCP client goes on for whoever that client was. To others it is not there.
//   - An app has a limited number of schedules, which count from when they are asked for
//     until they have ended.
package schedules

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"sync"
	"time"

	"callgate/internal/app"
	"callgate/internal/control"
	"callgate/internal/gate"
	"callgate/internal/gate/permission"
	"callgate/internal/gate/schema"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/tasks"
	"callgate/internal/task"
	"callgate/tool"
)

// Kind is the kind of the tasks that are schedules.
const Kind = "schedule"

// Calls makes calls for askers who may be gone: see internal/kernel/deferred.
type Calls interface {
	Call(ctx context.Context, asker task.Asker, r gate.CallRequest) *tool.Result
	Made(ctx context.Context, id string) *tool.Result
}

// Channels knows the channels of apps.
type Channels interface {
	// Check returns why a message to a channel would be given up at once.
	Check(ctx context.Context, owner task.Asker, channel string) error
	// Deliver has a text delivered, once for its ID.
	Deliver(ctx context.Context, owner task.Asker, channel, id, text string) error
}

// Options is what a Scheduler needs of the kernel.
type Options struct {
	Runner   *tasks.Runner
	Calls    Calls
	Channels Channels // nil: there are none
	// Session returns an open session.
	Session func(id string) (*session.Session, error)
	// IsConversation reports whether a session is that of a conversation.
	IsConversation func(id string) bool
	// Mode returns the permission mode of a session.
	Mode func(id string) permission.Mode
	Log  *slog.Logger
	Now  func() time.Time // what the clock on the wall says; nil: time.Now
}

// Scheduler has calls made later. Make one with New.
type Scheduler struct {
	opt     Options
	schemas schema.Cache

	adding sync.Mutex // held while a job is added, so that names and quotas hold
	jobs   index
}

var _ control.Scheduler = (*Scheduler)(nil)

// New makes a scheduler, whose schedules run from now on.
func New(o Options) *Scheduler {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Scheduler{opt: o}
	s.jobs.store = o.Runner.Store()
	o.Runner.Handle(Kind, s.run)
	return s
}

// Tools returns the tools of the scheduler, which apps have that turn it on.
func (s *Scheduler) Tools() []*tool.Tool {
	all := control.ScheduleTools(s)
	for _, t := range all {
		t.Runtime.Feature = app.FeatureScheduler
	}
	return all
}

// jobID is the ID of the schedule that a call asks for: asked for again, it is the
// same.
func jobID(call string) string {
	sum := sha256.Sum256([]byte(call))
	return "sched_" + hex.EncodeToString(sum[:6])
}

// RunID is the ID of the run that a schedule has at a time, and of its call.
func RunID(job string, planned time.Time) string {
	return job + "-" + planned.UTC().Format("20060102T150405Z")
}
