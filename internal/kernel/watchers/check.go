package watchers

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/app"
	"callgate/internal/gate"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/tasks"
	"callgate/internal/task"
	"callgate/internal/watch"
	"callgate/tool"
)

// check makes one check and deals with what comes of it. While a notice of an earlier one
// cannot be told there is none: it would take the notice's place.
func (s *Set) check(ctx context.Context, l *live, kept *shared, due time.Time, pushed bool) {
	if err := s.tellPending(ctx, l); err != nil {
		s.logUntold(l, err)
		return
	}
	var c watch.Check
	var b batch
	if l.w.Tool == watch.Journal {
		var ok bool
		if c, b, ok = s.checkJournal(ctx, l, kept); !ok {
			return
		}
	} else {
		c = s.call(ctx, l, kept, due)
	}
	if ctx.Err() != nil { // a check that was cut off says nothing
		return
	}
	c.Pushed = pushed
	var told, news bool
	var number int
	l.with(func(w *watch.Watcher) {
		before := w.Last.Error
		told = w.Check(c)
		l.checked(b)
		news, number = before != w.Last.Error, w.Checks
	})
	var err error
	switch {
	case told:
		err = s.tellPending(ctx, l)
	case news:
		err = l.save(ctx)
		l.run.Log(ctx, fmt.Sprintf("check %d: %s", number, outcome(c)), nil)
	default:
		err = l.saveNow(ctx)
	}
	if err != nil && ctx.Err() == nil {
		s.opt.Log.Error("a watcher cannot be stored, or cannot tell its conversation", "watcher", l.run.ID, "error", err)
	}
}

// outcome is what a check gave, in a line.
func outcome(c watch.Check) string {
	if c.Error != nil {
		return "failed: " + tool.TruncateTo(c.Error.Error(), 300)
	}
	return "works again"
}

// call makes the call of a check.
func (s *Set) call(ctx context.Context, l *live, kept *shared, due time.Time) watch.Check {
	began := time.Now()
	return checkOf(kept.CallDue(ctx, due, request(l.w.Spec, l.run.Asker.Call), mayWatch), began)
}

// request is the call of a check. It is made by nobody's hand, so it has no ID under
// which it could be asked for again.
func request(s watch.Spec, parent string) gate.CallRequest {
	return gate.CallRequest{Name: s.Tool, Args: s.Params, Parent: parent, Whole: true, Unattended: true}
}

// mayWatch returns an error for a session whose app has no watchers.
func mayWatch(s *session.Session) error {
	if slices.Contains(s.Loaded().Features, app.FeatureWatchers) {
		return nil
	}
	return tool.Errorf("watchers", tool.Denied, "this app has no watchers").
		WithHint("callgate.yaml turns them on with runtime: {watchers: true}, which a human accepts with callgate app trust")
}

// checkOf is what the call of a check gave. A call that was refused before it ran is
// not allowed any more.
func checkOf(r *tool.Result, began time.Time) watch.Check {
	c := watch.Check{At: began, Took: time.Since(began)}
	if r.Status == tool.Success && r.Error == nil {
		c.Result = resultOf(r)
		return c
	}
	if c.Error = r.Error; c.Error == nil {
		c.Error = tool.Errorf("watchers", tool.Failed, "the call ended as %s: %s", r.Status, r.Summary)
	}
	c.Refused = c.Error.Kind == tool.Denied && r.Took == 0
	return c
}

// tellPending stores a notice that was decided, tells it, and begins what follows. It
// may have been told already, by an earlier kernel; then it is not told again.
func (s *Set) tellPending(ctx context.Context, l *live) error {
	var n watch.Notice
	var label string
	l.with(func(w *watch.Watcher) {
		if w.Pending != nil {
			n = *w.Pending
		}
		label = w.Label
	})
	if n.ID == "" || n.Done {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if err := l.save(ctx); err != nil {
		return err
	}
	if l.run.Parent != "" {
		notice := task.Task{
			ID: n.ID, Parent: l.run.Parent, Asker: l.run.Asker, Label: label,
			Outcome: &task.Outcome{State: task.Done, Head: "WATCHER UPDATE " + cmp.Or(label, l.run.ID), Summary: n.Text},
		}
		if err := s.opt.Runner.Tell(ctx, notice); err != nil {
			return err
		}
	}
	for _, a := range n.Actions {
		if err := s.follow(ctx, l, a); err != nil {
			return err
		}
	}
	first, _, _ := strings.Cut(n.Text, "\n")
	l.run.Log(ctx, fmt.Sprintf("check %d: %s", n.Check, strings.TrimPrefix(first, "WATCHER UPDATE: ")), nil)
	l.with(func(w *watch.Watcher) {
		if w.Pending != nil && w.Pending.ID == n.ID {
			w.Pending.Done = true
		}
	})
	return nil
}

// tellLast tells a notice that is still to be told when a watcher ends, however long that
// takes. A kernel that closes leaves it to the next one, and who stops a watcher wants
// nothing more of it.
func (s *Set) tellLast(ctx context.Context, l *live) {
	for wait := tellAgain; ctx.Err() == nil; wait = min(2*wait, maxTellAgain) {
		err := s.tellPending(ctx, l)
		if err == nil {
			return
		}
		s.logUntold(l, err)
		pause(ctx, wait)
	}
}

// The times between two attempts to tell the last notice of a watcher.
const (
	tellAgain    = time.Second
	maxTellAgain = time.Minute
)

func (s *Set) logUntold(l *live, err error) {
	s.opt.Log.Error("a notice of a watcher cannot be told now", "watcher", l.run.ID, "error", err)
}

// pause waits. It reports whether the time passed before the context ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// follow begins a call that follows a notice: a task of its own, which may wait for a
// human while the watcher goes on.
func (s *Set) follow(ctx context.Context, l *live, a watch.Call) error {
	input, err := json.Marshal(action{Call: a, Conversation: l.run.Parent, Watcher: l.run.ID})
	if err != nil {
		return err
	}
	_, err = s.opt.Runner.Start(ctx, task.Task{
		ID: a.ID, Kind: KindAction, Asker: l.run.Asker, Input: input,
		Label: tool.Truncate(a.Tool) + ", after the watcher " + l.run.ID,
	})
	return err
}

// action is the input of a task that is a call after a notice.
type action struct {
	watch.Call
	Conversation string `json:"conversation,omitempty"`
	Watcher      string `json:"watcher"`
}

// act makes a call that follows a notice. Its conversation is told if it fails.
func (s *Set) act(ctx context.Context, r *tasks.Run) task.Outcome {
	var a action
	if err := json.Unmarshal(r.Input, &a); err != nil {
		return tasks.Failed(err)
	}
	var result *tool.Result
	if a.Error != "" {
		e := tool.Errorf("watchers.act", tool.Invalid, "%s", a.Error)
		result = &tool.Result{Status: tool.Failure, Summary: e.Error(), Error: e}
	} else {
		result = s.opt.Calls.Call(ctx, r.Asker, gate.CallRequest{
			ID: a.ID, Name: a.Tool, Args: a.Params, Parent: r.Asker.Call,
		})
	}
	if ctx.Err() != nil {
		return task.Outcome{State: task.Cancelled, Summary: "it was stopped"}
	}
	if result.Error == nil {
		return task.Outcome{State: task.Done, Summary: tool.TruncateTo(result.Summary, 500)}
	}
	o := tasks.Failed(result.Error)
	if result.Error.Kind == tool.InDoubt {
		o.State = task.InDoubt
	}
	if a.Conversation == "" {
		return o
	}
	text := fmt.Sprintf("WATCHER ACTION FAILED: %s, which follows the watcher %s: %s", a.Tool, a.Watcher, result.Error)
	err := s.opt.Runner.Tell(context.WithoutCancel(ctx), task.Task{
		ID: a.ID + "-failed", Parent: a.Conversation, Asker: r.Asker,
		Outcome: &task.Outcome{State: task.Done, Summary: text},
	})
	if err != nil {
		s.opt.Log.Error("a conversation cannot be told of a call that failed", "task", r.ID, "error", err)
	}
	return o
}
