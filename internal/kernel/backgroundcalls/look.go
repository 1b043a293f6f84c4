package backgroundcalls

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"callgate/internal/control"
	"callgate/internal/journal/outputbus/window"
	"callgate/internal/task"
	"callgate/tool"
)

// look tells how a task stands, after what the caller asks for: input, a signal,
// waiting for its output or its end.
func (c *Calls) look(ctx context.Context, call tool.Call, r control.BackgroundRequest) (*tool.Result, error) {
	t, err := c.find(ctx, call, r.Task)
	if err != nil {
		return nil, err
	}
	if r.Stdin != nil || r.EOF || r.Signal != "" {
		if refused, err := c.reach(ctx, call, t, r); err != nil || refused != nil {
			return refused, err
		}
		if r.WaitFor == "" && r.Mode == control.BackgroundStatus {
			if t, err = c.settle(ctx, t.ID, r.Settle); err != nil {
				return nil, err
			}
		}
	}
	switch {
	case r.WaitFor != "":
		return c.awaitOutput(ctx, call, t, r)
	case r.Mode == control.BackgroundWait:
		if t, err = c.settle(ctx, t.ID, r.Timeout); err != nil {
			return nil, err
		}
	}
	return c.tell(ctx, call, t, r.Tail)
}

// awaitOutput waits until the output of a task has what the caller waits for, the task
// has ended, or the time is over.
func (c *Calls) awaitOutput(
	ctx context.Context, call tool.Call, t task.Task, r control.BackgroundRequest,
) (*tool.Result, error) {
	pattern, err := window.ParsePattern(r.WaitFor)
	if err != nil {
		return nil, err
	}
	in, err := inputOf(t)
	if err != nil {
		return nil, err
	}
	waited, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	seen := false
	if !t.State.Final() {
		one := c.enter(t.ID, in.Call) // it may not have begun
		defer c.leave(one)
		found, stop := one.out.Find(pattern)
		defer stop()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.awaitEnd(waited, t.ID, r.Timeout)
		}()
		select {
		case <-found:
			seen = true
		case <-ended:
		}
		cancel()
		<-ended
	}
	if seen {
		c.awaitEnd(ctx, t.ID, r.Settle)
	}
	if t, err = c.opt.Runner.Store().Get(ctx, t.ID); err != nil {
		return nil, err
	}
	if made := resultOf(t); made != nil && !seen {
		seen = pattern.In([]byte(resultText(made)))
	}
	result, err := c.tell(ctx, call, t, r.Tail)
	if err != nil {
		return nil, err
	}
	return result, c.addMatch(result, r.WaitFor, seen, t)
}

// cancelTime is how long a cancelled task is waited for: the gate gives a handler a few
// seconds to return.
const cancelTime = 15 * time.Second

// cancel stops a task. One that has ended is told as it is.
func (c *Calls) cancel(ctx context.Context, call tool.Call, r control.BackgroundRequest) (*tool.Result, error) {
	t, err := c.find(ctx, call, r.Task)
	if err != nil {
		return nil, err
	}
	if !t.State.Final() {
		if err := c.opt.Runner.Cancel(ctx, t.ID, cmp.Or(call.Principal.Agent, call.Principal.User, "its asker")); err != nil {
			return nil, err
		}
		if t, err = c.settle(ctx, t.ID, cancelTime); err != nil {
			return nil, err
		}
	}
	return c.tell(ctx, call, t, r.Tail)
}

// maxListed is how many tasks are listed.
const maxListed = 100

// taskList is the data of a list.
type taskList struct {
	Tasks     []Summary `json:"tasks"`
	Total     int       `json:"total"`
	Running   int       `json:"running"`
	Completed int       `json:"completed"`
	Failed    int       `json:"failed"`
	Others    int       `json:"others,omitempty"` // cancelled, or in doubt
	Hint      string    `json:"hint,omitempty"`
}

// list lists the caller's tasks: those that run first, then by when they began.
func (c *Calls) list(ctx context.Context, call tool.Call) (*tool.Result, error) {
	all, err := c.owned(ctx, call)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b task.Task) int {
		if a.State.Final() != b.State.Final() {
			if a.State.Final() {
				return 1
			}
			return -1
		}
		return a.Times.Created.Compare(b.Times.Created)
	})
	made := taskList{Tasks: []Summary{}, Total: len(all)}
	for _, t := range all {
		switch t.State {
		case task.Done:
			made.Completed++
		case task.Failed:
			made.Failed++
		case task.Cancelled, task.InDoubt:
			made.Others++
		default:
			made.Running++
		}
	}
	if len(all) > maxListed { // those that ended longest ago are left out
		ended := slices.IndexFunc(all, func(t task.Task) bool { return t.State.Final() })
		if ended >= 0 {
			out := min(len(all)-maxListed, len(all)-ended)
			all = slices.Delete(all, ended, ended+out)
		}
		made.Hint = fmt.Sprintf("%d that ended earlier are not listed", made.Total-len(all))
	}
	for _, t := range all {
		made.Tasks = append(made.Tasks, c.brief(ctx, t))
	}
	result, err := tool.OK(fmt.Sprintf("%d tasks: %d running, %d completed, %d failed", made.Total, made.Running,
		made.Completed, made.Failed), made)
	return result, err
}

// owned returns the tasks of a caller: of its session, and those of sessions that are
// gone.
func (c *Calls) owned(ctx context.Context, call tool.Call) ([]task.Task, error) {
	store := c.opt.Runner.Store()
	own, err := store.List(ctx, task.Query{Session: call.Principal.Session, Kinds: []string{Kind}, Newest: true})
	if err != nil {
		return nil, err
	}
	newest, err := store.List(ctx, task.Query{Kinds: []string{Kind}, Newest: true})
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	all := slices.DeleteFunc(append(own, newest...), func(t task.Task) bool {
		if known[t.ID] || !c.owns(ctx, call, t) {
			return true
		}
		known[t.ID] = true
		return false
	})
	return all, nil
}
