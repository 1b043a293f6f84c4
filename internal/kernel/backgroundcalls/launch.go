package backgroundcalls

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"callgate/internal/control"
	"callgate/internal/gate/detach"
	"callgate/internal/journal"
	"callgate/internal/task"
	"callgate/tool"
)

// launch begins a task, and looks for a moment whether it ends at once.
func (c *Calls) launch(ctx context.Context, call tool.Call, r control.BackgroundRequest) (*tool.Result, error) {
	if c.opt.ShortLived {
		if t, err := c.find(ctx, call, taskID(call.ID)); err == nil { // an earlier kernel had begun it
			return c.tellLaunch(ctx, call, t, r)
		}
		return nil, tool.Errorf(op, tool.Unavailable,
			"this kernel ends with the command that started it, and so would the task").
			WithHint("start a kernel that stays (callgate up), or run %s in the foreground", r.Target.Name)
	}
	asker, parent, err := c.opt.Asker(call)
	if err != nil {
		return nil, err
	}
	id := taskID(call.ID)
	if err := c.checkLimit(ctx, asker, id); err != nil {
		return nil, err
	}
	in, err := json.Marshal(input{
		Call: callID(id), Name: r.Target.Name, Args: r.Target.Args,
		NotifyWhen: r.NotifyWhen, NotifyEvery: r.NotifyEvery.Seconds(),
	})
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Invalid, Message: "the parameters cannot be kept", Err: err}
	}
	out := c.enter(id, callID(id))
	defer c.leave(out)
	t, err := c.opt.Runner.Start(ctx, task.Task{
		ID: id, Kind: Kind, Parent: parent, Asker: asker, Input: in, Label: label(r.Target.Name, r.Target.Args),
	})
	if err != nil {
		return nil, err
	}
	if r.WaitFor != "" {
		return c.awaitOutput(ctx, call, t, r)
	}
	if t, err = c.settle(ctx, t.ID, r.Settle); err != nil {
		return nil, err
	}
	return c.tellLaunch(ctx, call, t, r)
}

// checkLimit refuses more tasks than a session may have.
func (c *Calls) checkLimit(ctx context.Context, asker task.Asker, id string) error {
	active, err := c.opt.Runner.Store().List(ctx, task.Query{
		Session: asker.Principal.Session, Kinds: []string{Kind}, Active: true, Limit: maxActive + 1,
	})
	if err != nil {
		return err
	}
	for _, t := range active {
		if t.ID == id { // it was begun before
			return nil
		}
	}
	if len(active) < maxActive {
		return nil
	}
	return tool.Errorf(op, tool.Limited, "%d tasks run in the background already", len(active)).
		WithHint(`wait for some to end, or cancel those that are of no use: {"list":true} lists them`)
}

// settle returns a task once it has ended, or as it stands after a time.
func (c *Calls) settle(ctx context.Context, id string, d time.Duration) (task.Task, error) {
	if d > 0 {
		c.awaitEnd(ctx, id, d)
	}
	return c.opt.Runner.Store().Get(ctx, id)
}

// pollPause is between two looks at a task that nobody runs here now.
const pollPause = 200 * time.Millisecond

// awaitEnd waits until a task has ended, at most so long. It reports whether it has.
func (c *Calls) awaitEnd(ctx context.Context, id string, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for {
		if c.opt.Runner.Wait(ctx, id) != nil {
			return false
		}
		if t, err := c.opt.Runner.Store().Get(ctx, id); err != nil || t.State.Final() {
			return err == nil
		}
		timer := time.NewTimer(pollPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false
		}
	}
}

// tellLaunch tells of a task that was begun. One that failed at once is told as the
// call itself would be, so that its caller can mend it.
func (c *Calls) tellLaunch(
	ctx context.Context, call tool.Call, t task.Task, r control.BackgroundRequest,
) (*tool.Result, error) {
	result := resultOf(t)
	if t.State != task.Failed && t.State != task.InDoubt || result == nil || result.Error == nil {
		return c.tell(ctx, call, t, r.Tail)
	}
	if err := c.told(ctx, call, t); err != nil {
		return nil, err
	}
	return result, nil
}

// store keeps that a call goes on in the background, and tells its caller: see
// detach.Store.
func (c *Calls) store(ctx context.Context, moved *detach.Call) (*tool.Result, error) {
	if c.opt.ShortLived {
		return nil, tool.Errorf(op, tool.Unavailable, "this kernel ends with the command that started it")
	}
	call := moved.Call
	asker, parent, err := c.opt.Asker(call)
	if err != nil {
		return nil, err
	}
	id := taskID(call.ID)
	if err := c.checkLimit(ctx, asker, id); err != nil {
		return nil, err
	}
	name := moved.Tool.ID.String()
	made := input{Call: call.ID, Name: name, Args: call.Args, Moved: true}
	if n, ok := moved.Tool.Handler.(detach.Notifier); ok {
		made.NotifyWhen = n.NotifyWhen(call.Args)
	}
	in, err := json.Marshal(made)
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Internal, Message: "the call cannot be kept", Err: err}
	}
	one := c.enterMoved(id, moved)
	t, err := c.opt.Runner.Start(ctx, task.Task{
		ID: id, Kind: Kind, Parent: parent, Asker: asker, Input: in, Label: label(name, call.Args),
	})
	if err != nil {
		c.leave(one)
		return nil, err
	}
	c.note(moved, id)
	return c.tellMoved(moved, t)
}

// note puts on record that a call goes on. A record that cannot be written is lost: the
// call's end will be there.
func (c *Calls) note(moved *detach.Call, id string) {
	call := moved.Call
	_ = c.opt.Journal.Append(journal.Record{
		Kind: journal.Noted, Call: call.ID, Parent: call.Parent, Principal: &call.Principal, Name: call.Name,
		Tool: moved.Tool.ID.String(), Note: "nobody waits for it any more: it goes on in the background as task " + id,
	})
}

// movedTail is how many lines of its output the caller of a moved call is shown.
const movedTail = 40

// tellMoved is what the caller of a call is told that goes on in the background.
func (c *Calls) tellMoved(moved *detach.Call, t task.Task) (*tool.Result, error) {
	s := summarize(t)
	s.Output, s.OutputBytes = moved.Output.Tail(movedTail)
	s.Hint = hints(t, s)
	result, err := tool.OK(fmt.Sprintf("%s goes on in the background as task %s (so far %v)", moved.Tool.ID.Dotted(), t.ID,
		moved.Ran().Round(100*time.Millisecond)), s)
	if err == nil {
		result.Content, result.Call = s.content(nil), moved.Call.ID
	}
	return result, err
}
