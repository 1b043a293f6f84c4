package session

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"callgate/internal/gate"
	"callgate/internal/gate/appmode"
	"callgate/internal/hook"
	"callgate/internal/kernel/apps"
	"callgate/internal/kernel/hooks"
	"callgate/internal/visible"
)

// latest follows the app files of a session: see gate.Latest. It belongs to one state, so a
// reload begins with a new one.
type latest struct {
	builder *Builder
	spec    Spec
	was     *apps.Loaded
	hooks   gate.Hooks // the session's; may be nil

	looking sync.Mutex // so that a later look has the last word
	ended   bool
	found   atomic.Pointer[found]
}

// found is what one look found. It never changes.
type found struct {
	now     *apps.Loaded
	problem string
	newest  *gate.Newest
	guards  *hooks.Set // nil: none
}

var _ gate.Latest = (*latest)(nil)

// Look reads the files where they have changed.
func (l *latest) Look() {
	l.looking.Lock()
	defer l.looking.Unlock()
	if l.ended { // what still runs goes on by what it has
		return
	}
	now, err := l.builder.Apps.Latest(context.WithoutCancel(l.builder.Base), l.was)
	problem := ""
	if err != nil {
		what, _, _ := strings.Cut(err.Error(), "\n") // the lines after it show what the file says
		problem = visible.Text("an app file was changed and cannot be used, so the rules from before the change still count: " + what)
	}
	last := l.found.Load()
	if last == nil && now == nil && problem == "" || last != nil && last.now == now && last.problem == problem {
		return
	}
	if problem != "" && (last == nil || last.problem != problem) {
		l.builder.log().Warn(problem, "session", l.spec.ID)
	}
	next := &found{now: now, problem: problem}
	if next.newest = l.newest(now, problem); now != nil {
		if next.guards = l.guards(now); next.guards != nil {
			next.newest.Hooks = guarded(l.hooks, next.guards.Calls)
		}
	}
	l.found.Store(next)
	last.end()
}

func (l *latest) end() {
	l.looking.Lock()
	defer l.looking.Unlock()
	l.found.Load().end()
	l.ended = true
}

func (f *found) end() {
	if f != nil {
		f.guards.End()
	}
}

// guards are the hooks that may refuse calls by what the files say now, and that the session does not have.
func (l *latest) guards(now *apps.Loaded) *hooks.Set {
	if now.App == nil {
		return nil
	}
	added := *now.App
	added.Runtime.Hooks = nil
	for _, h := range now.App.Runtime.Hooks {
		known := l.was.App != nil && slices.ContainsFunc(l.was.App.Runtime.Hooks, func(one hook.Hook) bool {
			return reflect.DeepEqual(one, h)
		})
		if h.On == hook.ToolStart && h.Guards() && !known {
			added.Runtime.Hooks = append(added.Runtime.Hooks, h)
		}
	}
	with := *now
	with.App = &added
	spec := l.spec
	spec.Kept = false
	return l.builder.hooks(l.builder.Base, &spec, &with)
}

// Newest returns what the last look found.
func (l *latest) Newest() *gate.Newest {
	if f := l.found.Load(); f != nil {
		return f.newest
	}
	return nil
}

func (l *latest) newest(now *apps.Loaded, problem string) *gate.Newest {
	var told atomic.Bool
	n := &gate.Newest{Problem: problem, Tell: func() bool { return told.CompareAndSwap(false, true) }}
	if now == nil {
		if problem == "" {
			return nil
		}
		return n
	}
	spec := l.spec.within(l.was, now)
	n.Rules = &gate.Rules{Policy: now.Rules, Off: off(spec, now), Only: spec.Only}
	if spec.Profile != "" {
		n.Rules.Only, n.Rules.Profile = map[string][]string{}, spec.Profile
		if profile, err := now.App.Profile(spec.Profile); err == nil {
			n.Rules.Only = appmode.Intersect(profile.Only(), spec.Only)
		}
	}
	n.Modules, n.RuleFiles = l.builder.Apps.Narrowed(l.was, now), now.RuleFiles()
	n.Limits = l.was.Rules.WithLimits(now.Rules)
	n.Relaxed = now.App != nil && now.Relaxed()
	return n
}
