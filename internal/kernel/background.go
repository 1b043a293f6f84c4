package kernel

import (
	"context"

	"callgate/internal/conversation/owed"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel/agents"
	"callgate/internal/kernel/answeredcalls"
	"callgate/internal/kernel/backgroundcalls"
	"callgate/internal/kernel/deferred"
	"callgate/internal/kernel/proposals"
	"callgate/internal/kernel/questions"
	"callgate/internal/kernel/scripts"
	"callgate/internal/kernel/tasks"
	"callgate/internal/task"
)

// Lasting is the work that outlives a turn.
type Lasting struct {
	Tasks      *tasks.Runner
	Deferred   *deferred.Calls        // calls for askers who may be gone
	Background *backgroundcalls.Calls // calls for which nobody waits
	Answered   *answeredcalls.Calls   // calls that a human answered when nobody waited any more
	Questions  *questions.Queue       // what agents ask their users
	Proposals  *proposals.Proposals   // what agents would have changed
	Agents     *agents.Agents         // that work for others
	Scripts    *scripts.Runner        // programs over tools
}

// openTasks makes what runs durable tasks.
func openTasks(k *Kernel, cfg Config) {
	stores := k.database.Stores()
	o := tasks.Options{
		Store: stores.Tasks, Queue: stores.Queue, Leases: stores.Leases, Logs: stores.TaskLogs, Log: k.log,
		Go: k.background.Go, Holder: k.database.Holder(k.state.String()), Hold: k.database.Draining,
		ShortLived: cfg.ShortLived, Started: taskStarted(k), Ended: taskEnded(k), Recorded: k.Journal.Flush,
	}
	if carrier := k.database.Carrier(k.log); carrier != nil {
		o.Carrier = carrier
	}
	k.Tasks = tasks.New(o)
}

// openBackground makes what makes calls for which nobody waits.
func openBackground(k *Kernel, cfg Config) {
	k.Deferred = deferred.New(deferred.Options{
		Gate: k.gate, Apps: k.Apps, Sessions: bounded{k}, Tokens: k.Tokens, Open: k.Sessions.Get,
		Asked:  func(session string, r approval.Request) { k.Conversations.Asked(session, r) },
		Settle: func(ctx context.Context, call string) { k.recovery.AwaitRetry(ctx, call) },
	})
	k.Background = backgroundcalls.New(backgroundcalls.Options{
		Runner: k.Tasks, Deferred: k.Deferred, Detach: k.detach, Output: k.Output, Journal: k.Journal,
		Approvals: k.Approvals, Session: k.Sessions.Get, Asker: k.taskAsker, ShortLived: cfg.ShortLived,
	})
}

// openAnswered makes what ends the calls that a human answers when nobody waits for them.
func openAnswered(k *Kernel) {
	k.Answered = answeredcalls.New(answeredcalls.Options{
		Runner: k.Tasks, Journal: k.Journal, Gate: k.gate, Approvals: k.Approvals, Sessions: bounded{k}, Log: k.log,
		Go: k.background.Go, Settle: k.recovery.AwaitRetry,
	})
}

// backgroundNotice tells a model of the end of a call in the background.
func backgroundNotice(t task.Task, n int) string { return backgroundcalls.Notice(t, n, owed.Fence) }
