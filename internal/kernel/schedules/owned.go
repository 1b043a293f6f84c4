package schedules

import (
	"cmp"
	"context"
	"slices"

	"callgate/internal/control"
	"callgate/internal/kernel/deferred"
	"callgate/internal/kernel/session"
	"callgate/internal/task"
	"callgate/tool"
)

// owns reports whether a session's owner owns a schedule. That of a conversation is the
// conversation's alone; that of another session, which is gone, belongs to whoever that
// session was, within the same limits.
func (s *Scheduler) owns(own *session.Session, e entry) bool {
	asker := e.owner
	if e.parent != "" {
		return e.parent == own.ID() && asker.Principal.User == own.Principal().User
	}
	_, err := s.opt.Session(asker.Principal.Session)
	return asker.OwnedBy(deferred.AskerOf(own, tool.Call{}), err != nil)
}

// find returns a schedule that a session's owner owns. Those of others are NotFound.
func (s *Scheduler) find(ctx context.Context, own *session.Session, id string) (task.Task, error) {
	t, err := s.opt.Runner.Store().Get(ctx, id)
	if err == nil && (t.Kind != Kind || !s.owns(own, entry{owner: &t.Asker, parent: t.Parent})) {
		err = task.NotFound(id)
	}
	return t, err
}

// CancelJob cancels a job by its ID or its name. One that has ended stays as it is.
func (s *Scheduler) CancelJob(ctx context.Context, call tool.Call, job string) (control.Job, error) {
	own, _, err := s.open(call)
	if err != nil {
		return control.Job{}, err
	}
	t, err := s.find(ctx, own, job)
	if tool.KindOf(err) == tool.NotFound {
		t, err = s.named(ctx, own, job)
	}
	if err != nil {
		return control.Job{}, err
	}
	if !t.State.Final() {
		if err := s.stop(ctx, t, "cancel_schedule"); err != nil {
			return control.Job{}, err
		}
		if t, err = s.opt.Runner.Store().Get(ctx, t.ID); err != nil {
			return control.Job{}, err
		}
	}
	return describe(t)
}

// named returns the job of a session's owner that has a name.
func (s *Scheduler) named(ctx context.Context, own *session.Session, name string) (task.Task, error) {
	named, err := s.jobs.all(ctx, func(e entry) bool { return e.name == name && s.owns(own, e) })
	if err != nil {
		return task.Task{}, err
	}
	for id := range named {
		t, err := s.find(ctx, own, id)
		if err == nil && !t.State.Final() || err != nil && tool.KindOf(err) != tool.NotFound {
			return t, err
		}
	}
	return task.Task{}, tool.Errorf("schedules.Cancel", tool.NotFound, "you have no schedule %q", tool.Truncate(name)).
		WithHint("schedule_list shows those that have not ended")
}

// Jobs returns the jobs of a caller's that have not ended.
func (s *Scheduler) Jobs(ctx context.Context, call tool.Call) ([]control.Job, error) {
	own, _, err := s.open(call)
	if err != nil {
		return nil, err
	}
	mine, err := s.jobs.all(ctx, func(e entry) bool { return s.owns(own, e) })
	if err != nil {
		return nil, err
	}
	var active []task.Task
	for id := range mine {
		t, err := s.opt.Runner.Store().Get(ctx, id)
		switch {
		case tool.KindOf(err) == tool.NotFound || err == nil && t.State.Final():
			s.jobs.remove(id)
		case err != nil:
			return nil, err
		default:
			active = append(active, t)
		}
	}
	slices.SortFunc(active, func(a, b task.Task) int {
		return cmp.Or(a.RunAt.Compare(b.RunAt), cmp.Compare(a.ID, b.ID))
	})
	jobs := make([]control.Job, len(active))
	for i, t := range active {
		if jobs[i], err = describe(t); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}
