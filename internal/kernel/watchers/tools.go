package watchers

import (
	"cmp"
	"context"
	"slices"

	"callgate/internal/control"
	"callgate/internal/kernel/deferred"
	"callgate/internal/kernel/session"
	"callgate/internal/task"
	"callgate/internal/watch"
	"callgate/tool"
)

var _ control.Watchers = (*Set)(nil)

// get returns a watcher that a call may know of.
func (s *Set) get(ctx context.Context, op string, call tool.Call, id string) (task.Task, error) {
	in, err := s.session(call)
	if err != nil {
		return task.Task{}, err
	}
	t, err := s.opt.Runner.Store().Get(ctx, id)
	if tool.KindOf(err) == tool.NotFound || err == nil && (t.Kind != Kind || !s.owns(in, t)) {
		return task.Task{}, notFound(op, id)
	}
	return t, err
}

// owns reports whether a session may know of a watcher: it is its own, or that of a
// client without a conversation who has gone, and whom it follows within the same limits.
func (s *Set) owns(in *session.Session, t task.Task) bool {
	gone := false
	if t.Parent == "" {
		_, err := s.opt.Sessions.Get(t.Asker.Principal.Session)
		gone = err != nil
	}
	return t.Asker.OwnedBy(deferred.AskerOf(in, tool.Call{}), gone)
}

// Stop ends a watcher. Its conversation, which asked for it, is not told of that.
func (s *Set) Stop(ctx context.Context, call tool.Call, id string) (watch.Overview, error) {
	const op = "watch_stop"
	t, err := s.get(ctx, op, call, id)
	if err != nil {
		return watch.Overview{}, err
	}
	if t.State.Final() {
		return s.overview(t)
	}
	runner := s.opt.Runner
	if err := runner.Cancel(ctx, id, "watch_stop"); err != nil {
		return watch.Overview{}, err
	}
	if err := runner.Wait(ctx, id); err != nil {
		return watch.Overview{}, err
	}
	if t, err = runner.Store().Get(ctx, id); err != nil {
		return watch.Overview{}, err
	}
	if t.Owed() {
		if err := runner.Store().Told(ctx, id); err != nil {
			return watch.Overview{}, err
		}
	}
	return s.overview(t)
}

// Pause stops the checks of a watcher.
func (s *Set) Pause(ctx context.Context, call tool.Call, id string) (watch.Overview, error) {
	return s.turn(ctx, "watch_pause", call, id, (*watch.Watcher).Pause)
}

// Resume lets a watcher check again.
func (s *Set) Resume(ctx context.Context, call tool.Call, id string) (watch.Overview, error) {
	return s.turn(ctx, "watch_resume", call, id, (*watch.Watcher).Resume)
}

// turn changes where a watcher stands, and stores it.
func (s *Set) turn(
	ctx context.Context, op string, call tool.Call, id string, change func(*watch.Watcher) error,
) (watch.Overview, error) {
	t, err := s.get(ctx, op, call, id)
	if err != nil {
		return watch.Overview{}, err
	}
	var l *live
	if !t.State.Final() {
		if l = s.awaitLive(ctx, id); l == nil { // it may have ended meanwhile
			if t, err = s.get(ctx, op, call, id); err != nil {
				return watch.Overview{}, err
			}
		}
	}
	if l == nil {
		w, err := decode(t)
		if err != nil {
			return watch.Overview{}, err
		}
		if t.State.Final() {
			endedAs(w, t)
			return watch.Overview{}, change(w)
		}
		return watch.Overview{}, tool.Errorf(op, tool.Unavailable, "the watcher %s does not run yet", id).
			WithHint("try again in a moment")
	}
	l.with(func(w *watch.Watcher) { err = change(w) })
	if err != nil {
		return watch.Overview{}, err
	}
	signal(l.poke)
	l.run.Log(ctx, op, nil)
	return l.overview(), l.save(ctx)
}

// Look returns a watcher with its last checks.
func (s *Set) Look(ctx context.Context, call tool.Call, id string, last int) (watch.Detail, error) {
	t, err := s.get(ctx, "watch_status", call, id)
	if err != nil {
		return watch.Detail{}, err
	}
	return s.detail(t, last)
}

// detail is a watcher as it stands: as it runs, or as it was stored.
func (s *Set) detail(t task.Task, last int) (watch.Detail, error) {
	if l := s.find(t.ID); l != nil {
		return l.detail(last), nil
	}
	w, err := decode(t)
	if err != nil {
		return watch.Detail{}, err
	}
	endedAs(w, t)
	return w.Detail(t.Times.Created, last), nil
}

func (s *Set) overview(t task.Task) (watch.Overview, error) {
	d, err := s.detail(t, 0)
	return d.Overview, err
}

// endedAs gives a watcher the end of its task: one that nobody ran when it was
// cancelled does not know of it.
func endedAs(w *watch.Watcher, t task.Task) {
	if !t.State.Final() || w.Status != watch.Running && w.Status != watch.Paused {
		return
	}
	as := watch.Stopped
	switch t.State {
	case task.Done:
		as = watch.Completed
	case task.Failed, task.InDoubt:
		as = watch.Failed
	}
	why := "it ended"
	if t.CancelledBy != "" {
		why = "stopped by " + t.CancelledBy
	} else if t.Outcome != nil {
		why = cmp.Or(t.Outcome.Summary, why)
	}
	w.End(as, why)
}

// maxListed is how many watchers that have ended a list shows.
const maxListed = 50

// List returns the watchers that a call may know of: those that run, those that are
// paused, then the rest but for those that were stopped.
func (s *Set) List(ctx context.Context, call tool.Call) ([]watch.Overview, error) {
	in, err := s.session(call)
	if err != nil {
		return nil, err
	}
	found, err := s.owned(ctx, in)
	if err != nil {
		return nil, err
	}
	all := []watch.Overview{}
	rest := 0
	for _, t := range found {
		o, err := s.overview(t)
		if err != nil {
			return nil, err
		}
		if t.State.Final() {
			if rest++; o.Status == watch.Stopped || rest > maxListed {
				continue
			}
		}
		all = append(all, o)
	}
	slices.SortStableFunc(all, func(a, b watch.Overview) int {
		return cmp.Or(cmp.Compare(rank(a.Status), rank(b.Status)), a.Created.Compare(b.Created))
	})
	return all, nil
}

func rank(s watch.Status) int {
	switch s {
	case watch.Running:
		return 0
	case watch.Paused:
		return 1
	}
	return 2
}

// owned returns the tasks of a session's watchers, the newest first: its own, and those
// of clients that have gone, if it follows them.
func (s *Set) owned(ctx context.Context, in *session.Session) ([]task.Task, error) {
	store := s.opt.Runner.Store()
	own, err := store.List(ctx, task.Query{Session: in.ID(), Kinds: []string{Kind}, Newest: true, Limit: 2 * maxPerOwner})
	if err != nil || s.opt.Conversation(in.ID()) {
		return own, err
	}
	left, err := store.List(ctx, task.Query{Kinds: []string{Kind}, Active: true, Newest: true})
	if err != nil {
		return nil, err
	}
	for _, t := range left {
		if t.Asker.Principal.Session != in.ID() && s.owns(in, t) {
			own = append(own, t)
		}
	}
	return own, nil
}
