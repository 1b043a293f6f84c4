package agents

import (
	"context"
	"os"
	"reflect"
	"slices"

	"callgate/internal/app"
	"callgate/internal/conversation"
	"callgate/internal/gate"
	"callgate/internal/gate/match"
	"callgate/internal/gate/policy"
	"callgate/internal/kernel/apps"
	"callgate/internal/task"
	"callgate/tool"
)

// # The rights of apps that are called
//
// What either file denies is denied, what either asks about is asked, and the rate limits of
// both count. What guards the caller's calls guards those of the called app. A module is set
// up as the called app's file says, so the caller's limits are not in it: unless both files
// say the same of a module, the called app is not given it. While the caller is closed,
// nothing is allowed.

// withinApp asks the session that called an app about its calls.
type withinApp struct {
	within
	app *app.App // the one that was called
}

var (
	_ policy.Narrower = withinApp{}
	_ policy.Rated    = withinApp{}
	_ policy.Rated    = within{}
)

func goneDecision() policy.Decision {
	return policy.Decision{
		Verdict: policy.Deny, Rule: "kernel.call_app", Reason: "who called this app is closed, so nothing is done for it",
	}
}

// AsDaemon asks as the kernel itself: see within.
func (w withinApp) AsDaemon() policy.Narrower {
	w.daemon = true
	return w
}

// Decide returns what the caller is told of a tool.
func (w withinApp) Decide(t *tool.Tool) policy.Decision {
	s, err := w.agents.opt.Sessions.Get(w.parent)
	if err != nil {
		return goneDecision()
	}
	if err := w.agents.opt.Narrow(w.parent, t); err != nil && !w.daemon {
		return policy.Decision{Verdict: policy.Deny, Rule: "kernel.call_app", Reason: "for whom you work: " + err.Error()}
	}
	if name := t.ID.Namespace; !alike(moduleOf(s.App(), name), moduleOf(w.app, name)) {
		return policy.Decision{
			Verdict: policy.Deny, Rule: "kernel.call_app",
			Reason: "the app that calls this one sets the module " + name + " up otherwise, so it is not given it; " +
				"write the same under tools.modules." + name + " in both files",
		}
	}
	return w.caller(s).Decide(t)
}

// DecideCall returns what the caller is told of one call.
func (w withinApp) DecideCall(t *tool.Tool, call *match.Call) policy.Decision {
	s, err := w.agents.opt.Sessions.Get(w.parent)
	if err != nil {
		return goneDecision()
	}
	return w.caller(s).DecideCall(t, call)
}

// TakeRate counts a call against the limits of the caller.
func (w withinApp) TakeRate(t *tool.Tool, take func(*policy.Rules, *tool.Tool, tool.Principal) error) error {
	s, err := w.agents.opt.Sessions.Get(w.parent)
	if err != nil {
		return nil // and it was refused
	}
	return s.Caller().TakeRate(t, take)
}

// moduleOf is what an app says of a module.
func moduleOf(a *app.App, name string) (m app.Module) {
	if a == nil {
		return m
	}
	if i := slices.IndexFunc(a.Modules, func(m app.Module) bool { return m.Name == name }); i >= 0 {
		m = a.Modules[i]
	}
	return m
}

// alike reports whether two apps set a module up in the same way.
func alike(one, other app.Module) bool {
	same := func(a, b map[string]any) bool { return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b) }
	return same(one.Config, other.Config) && same(one.Constraints, other.Constraints) && one.Credential == other.Credential
}

// guards are the hooks of a session that has somebody work for it.
type guards struct {
	agents *Agents
	parent string
	above  bool // without its own
}

func (g guards) hooks() gate.Hooks {
	s, err := g.agents.opt.Sessions.Get(g.parent)
	if err != nil {
		return nil // nothing is allowed then
	}
	return s.Guards(g.above)
}

// specOf is the conversation of an agent, or of an app that was called.
func (a *Agents) specOf(ctx context.Context, t task.Task, o order) (conversation.Spec, error) {
	spec := a.spec(t, o)
	if o.App == nil {
		return spec, nil
	}
	s, err := a.opt.Sessions.Get(t.Parent)
	if err != nil {
		return spec, err
	}
	var loaded *apps.Loaded
	if loaded, err = a.opt.Apps.Load(ctx, t.Asker.Workspace, o.App.File); err != nil {
		return spec, err
	}
	if err := admit(ctx, s, loaded, o.App.ID); err != nil {
		return spec, err
	}
	spec.AppFile, spec.Agent = o.App.File, ""
	spec.Child.Above, spec.Child.Memory = nil, o.Agent
	spec.Child.Within = withinApp{within{agents: a, parent: t.Parent, under: true}, loaded.App}
	return spec, nil
}

// sameFile reports whether two paths lead to one file.
func sameFile(one, other string) bool {
	if one == other {
		return true
	}
	a, err := os.Stat(one)
	if err != nil {
		return false
	}
	b, err := os.Stat(other)
	return err == nil && os.SameFile(a, b)
}
