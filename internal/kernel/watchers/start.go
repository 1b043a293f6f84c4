package watchers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"callgate/internal/condition"
	"callgate/internal/kernel/deferred"
	"callgate/internal/kernel/session"
	"callgate/internal/task"
	"callgate/internal/watch"
	"callgate/tool"
)

const startOp = "watch_start"

// Start starts a watcher for a session: it checks what it is to do, makes the first
// check, and stores it.
func (s *Set) Start(ctx context.Context, call tool.Call) (watch.Detail, error) {
	in, err := s.session(call)
	if err != nil {
		return watch.Detail{}, err
	}
	if t, err := s.opt.Runner.Store().Get(ctx, idOf(call.ID)); err == nil { // it was started before a crash
		return s.detail(t, watch.LastEntries)
	}
	spec, err := watch.Parse(call.Args, time.Now())
	if err != nil {
		return watch.Detail{}, err
	}
	result, err := s.resolve(ctx, in, &spec)
	if err != nil {
		return watch.Detail{}, err
	}
	w, err := watch.New(idOf(call.ID), spec, result)
	if err != nil {
		return watch.Detail{}, err
	}
	if err := s.room(ctx, call); err != nil {
		return watch.Detail{}, err
	}
	if err := s.rooms.take(ctx, w.ID, in.Principal()); err != nil {
		return watch.Detail{}, err
	}
	d, err := watch.Detail{}, s.firstCheck(ctx, in, call, w)
	if err == nil {
		d, err = s.store(ctx, in, call, w)
	}
	if err != nil {
		s.rooms.giveBack(w.ID)
		return d, err
	}
	s.rooms.stored(w.ID)
	return d, nil
}

// session finds the session of a call, which must have watchers.
func (s *Set) session(call tool.Call) (*session.Session, error) {
	in, err := s.opt.Sessions.Get(call.Principal.Session)
	if err != nil {
		return nil, err
	}
	return in, mayWatch(in)
}

// resolve finds the tools that a watcher calls, and checks their parameters. It returns
// what is known of the result.
func (s *Set) resolve(ctx context.Context, in *session.Session, spec *watch.Spec) (condition.Type, error) {
	var result condition.Type
	if spec.Tool == watch.Journal {
		if _, err := parseFilter(spec.Params); err != nil {
			return result, err
		}
		result = journalType()
	} else {
		found, err := deferred.FindTarget(ctx, in, &s.schemas, spec.Tool, spec.Params)
		if err != nil {
			return result, err
		}
		if found.Asks {
			return result, tool.Errorf(startOp, tool.Denied, "%s needs a human's approval for each call, "+
				"so no watcher can make it", found.Tool.ID.Dotted()).
				WithHint("watch a tool that runs unasked, or have the user grant it")
		}
		spec.Tool, spec.Params = found.Tool.ID.Dotted(), found.Args
		result = resultType(found.Tool)
	}
	for i, a := range spec.Actions {
		found, err := in.View().Tool(ctx, a.Tool)
		if err != nil {
			return result, err
		}
		if found.Runtime.Control {
			return result, tool.Errorf(startOp, tool.Invalid, "%s is one of the kernel's own tools, and cannot follow",
				found.ID.Name).WithHint("name the tool that is to be called")
		}
		if err := in.Caller().Withheld(found.Tool); err != nil {
			return result, err
		}
		spec.Actions[i].Tool = found.ID.Dotted()
	}
	return result, nil
}

// room returns an error if the session has as many watchers as it may have.
func (s *Set) room(ctx context.Context, call tool.Call) error {
	own, err := s.opt.Runner.Store().List(ctx, task.Query{
		Session: call.Principal.Session, Kinds: []string{Kind}, Active: true, Limit: maxPerOwner,
	})
	if err == nil && len(own) >= maxPerOwner {
		return tool.Errorf(startOp, tool.Limited, "%d watchers run here already", len(own)).
			WithHint("stop one with watch_stop first")
	}
	return err
}

// firstCheck makes the first check in the session that starts the watcher. A call that
// may not be made, or whose arguments are wrong, is the caller's to mend; one that fails
// is what watching is for.
func (s *Set) firstCheck(ctx context.Context, in *session.Session, call tool.Call, w *watch.Watcher) error {
	if w.Tool == watch.Journal {
		var err error
		w.Cursor, err = s.head(ctx)
		return err
	}
	began := time.Now()
	r := in.Call(ctx, request(w.Spec, call.ID))
	if ctx.Err() != nil {
		return &tool.Error{Op: startOp, Kind: tool.Cancelled, Message: "the first check was cut off", Err: context.Cause(ctx)}
	}
	c := checkOf(r, began)
	if c.Error != nil && r.Took == 0 {
		switch c.Error.Kind {
		case tool.Denied, tool.Invalid, tool.NotFound, tool.Ambiguous:
			return c.Error
		}
	}
	w.Check(c)
	w.Next = began.Add(w.Interval)
	return nil
}

// store makes the watcher a task, and has it run.
func (s *Set) store(ctx context.Context, in *session.Session, call tool.Call, w *watch.Watcher) (watch.Detail, error) {
	input, err := json.Marshal(w.Spec)
	if err != nil {
		return watch.Detail{}, err
	}
	state, err := json.Marshal(w.State)
	if err != nil {
		return watch.Detail{}, err
	}
	t := task.Task{
		ID: w.ID, Kind: Kind, Label: labelOf(w.Spec), Asker: deferred.AskerOf(in, call), Input: input, Data: state,
	}
	if s.opt.Conversation(in.ID()) {
		t.Parent = in.ID()
	}
	stored, err := s.opt.Runner.Start(ctx, t)
	if err != nil {
		return watch.Detail{}, err
	}
	return w.Detail(stored.Times.Created, watch.LastEntries), nil
}

// labelOf is a watcher in a line for people.
func labelOf(s watch.Spec) string {
	line := fmt.Sprintf("%s every %s", s.Tool, s.Interval)
	if s.Label != "" {
		line = s.Label + " (" + line + ")"
	}
	return tool.TruncateTo(line, 300)
}

// asError makes any error one that can be answered.
func asError(err error) *tool.Error {
	var e *tool.Error
	if errors.As(err, &e) {
		return e
	}
	return &tool.Error{Op: "watchers", Kind: tool.KindOf(err), Message: err.Error(), Err: err}
}
