package session

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	"callgate/internal/app"
	"callgate/internal/gate/appmode"
	"callgate/internal/kernel/apps"
	"callgate/internal/visible"
	"callgate/tool"
)

// Reloaded is what a reload found, and did.
type Reloaded struct {
	Files    []string      // app files in force, as they were read
	Changes  []apps.Change // each once
	Waits    []string      // what nobody accepted, and did not wait before
	Sessions int           // that have the new rules, or would
}

// place is the sessions that have one app, as it was loaded first among them.
type place struct {
	old      *apps.Loaded
	sessions []*Session
	now      *apps.Loaded
}

// Reload reads the app files of the open sessions again, and has these sessions work by them: all sessions by all
// files, or none. A new session reads the files as they are without it.
//
// The law: a file with a mistake changes nothing. What would need a human's consent at a first start needs it here,
// and without it nothing changes. A call goes on by the rules that it began with; the next one has the new. Hooks of
// turns, models, prompts and setup steps are those with which a conversation was opened.
//
// With dry, what would change is told, and nothing else happens. also is a folder that is checked although no session
// is open in it; nil: none. Where no session is open at all, the files that sessions had before are checked.
func (b *Builder) Reload(ctx context.Context, dry bool, also *apps.Loaded) (Reloaded, error) {
	b.reloading.Lock()
	defer b.reloading.Unlock()
	places := b.places()
	var report Reloaded
	if also != nil && !slices.ContainsFunc(places, func(p *place) bool { return alike(p.old, also) }) {
		if _, err := b.Apps.Reread(ctx, also); err != nil {
			return report, err
		}
	}
	if len(places) == 0 && also == nil {
		return report, b.checkKnown(ctx, &report)
	}
	for _, p := range places {
		if err := b.look(ctx, p, &report); err != nil {
			return report, err
		}
		report.Sessions += len(p.sessions)
	}
	if dry {
		return report, nil
	}
	if len(report.Waits) > 0 {
		return report, waitsError(report.Waits)
	}
	return report, b.apply(ctx, places)
}

// checkKnown reads the app files that sessions had before, where none is open now: what is wrong with them is known
// before the next one is opened. The report has those that are right.
func (b *Builder) checkKnown(ctx context.Context, report *Reloaded) (all error) {
	for _, one := range b.Apps.Known() {
		if _, err := b.Apps.Reread(ctx, one); err != nil {
			all = errors.Join(all, err)
			continue
		}
		report.addFiles(one)
	}
	return all
}

func (r *Reloaded) addFiles(of *apps.Loaded) {
	for _, file := range []string{of.Files.Project, of.Files.User} {
		if file != "" && !slices.Contains(r.Files, file) {
			r.Files = append(r.Files, file)
		}
	}
}

// apply loads the files of all places and gives the sessions what they say. If one of them fails, what the others
// registered is taken back.
func (b *Builder) apply(ctx context.Context, places []*place) (err error) {
	var restores []func(context.Context) error
	defer func() {
		if err == nil {
			return
		}
		for _, restore := range slices.Backward(restores) {
			if failed := restore(context.WithoutCancel(ctx)); failed != nil {
				err = errors.Join(err, failed)
			}
		}
	}()
	for _, p := range places {
		restores = append(restores, b.Apps.Keep(p.old))
		if p.now, err = b.Apps.Load(ctx, p.old.Workspace, p.old.Named()); err != nil {
			return err
		}
		if waits := b.Apps.Unaccepted(p.old, p.now.App); len(waits) > 0 { // the file changed in the meantime
			return waitsError(waits)
		}
	}
	return b.swap(ctx, places)
}

func waitsError(waits []string) error {
	return tool.Errorf("session.Reload", tool.Denied, "nothing was changed: nobody has accepted that the app may %s",
		visible.Text(strings.Join(waits, "; "))).WithHint("look at it and accept it in its folder with callgate app trust; " +
		"then reload again")
}

// places are the open sessions by their app.
func (b *Builder) places() (all []*place) {
	sessions := b.Table.all()
	slices.SortFunc(sessions, func(a, b *Session) int { return cmp.Compare(a.id, b.id) })
	for _, s := range sessions {
		old := s.Loaded()
		i := slices.IndexFunc(all, func(p *place) bool { return alike(p.old, old) })
		if i < 0 {
			i, all = len(all), append(all, &place{old: old})
		}
		all[i].sessions = append(all[i].sessions, s)
	}
	return all
}

func alike(a, b *apps.Loaded) bool { return a.Workspace == b.Workspace && a.Named() == b.Named() }

// look adds to a report what the files of one place say otherwise.
func (b *Builder) look(ctx context.Context, p *place, r *Reloaded) error {
	now, err := b.Apps.Reread(ctx, p.old)
	if err != nil {
		return err
	}
	changes, err := b.Apps.Compare(ctx, p.old, now)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if !slices.Contains(r.Changes, c) {
			r.Changes = append(r.Changes, c)
		}
	}
	for _, line := range b.Apps.Unaccepted(p.old, now) {
		if !slices.Contains(r.Waits, line) {
			r.Waits = append(r.Waits, line)
		}
	}
	r.addFiles(p.old)
	return nil
}

// swap gives every session its new state, once all of them are made. A session that has ended meanwhile needs none.
func (b *Builder) swap(ctx context.Context, places []*place) error {
	type pair struct {
		s    *Session
		next *state
	}
	var pairs []pair
	defer func() {
		for _, one := range pairs {
			one.s.use.leave()
		}
	}()
	for _, p := range places {
		for _, s := range p.sessions {
			if !s.use.enter() {
				continue
			}
			next, err := s.again(ctx, p.now)
			if err != nil {
				s.use.leave()
				for _, made := range pairs {
					made.next.end()
				}
				return err
			}
			pairs = append(pairs, pair{s, next})
		}
	}
	for _, one := range pairs {
		one.s.now.Swap(one.next).end()
	}
	for _, one := range pairs {
		if tell := one.s.reloaded.Load(); tell != nil {
			(*tell)()
		}
	}
	return nil
}

// OnReload has whoever shows the session's tools told after each reload. Tell must not block: the next reload waits
// for it.
func (s *Session) OnReload(tell func()) { s.reloaded.Store(&tell) }

// within returns the spec as it is for an app that was read again: an agent has what its app gives it now.
func (s Spec) within(before, now *apps.Loaded) Spec {
	was, known := agentOf(before.App, s.Agent)
	is, still := agentOf(now.App, s.Agent)
	switch {
	case !known || !still:
	case reflect.DeepEqual(s.Only, was.Only()):
		s.Only = is.Only()
	case s.Only != nil:
		s.Only = appmode.Intersect(s.Only, is.Only())
	}
	return s
}

func agentOf(a *app.App, id string) (app.Agent, bool) {
	if a == nil || id == "" {
		return app.Agent{}, false
	}
	i := slices.IndexFunc(a.Agents, func(one app.Agent) bool { return one.ID == id })
	if i < 0 {
		return app.Agent{}, false
	}
	return a.Agents[i], true
}
