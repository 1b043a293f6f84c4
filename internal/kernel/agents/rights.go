package agents

import (
	"context"
	"slices"

	"callgate/internal/conversation"
	"callgate/internal/gate"
	"callgate/internal/gate/appmode"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/match"
	"callgate/internal/gate/policy"
	"callgate/internal/kernel/deferred"
	"callgate/internal/kernel/session"
	"callgate/internal/task"
	"callgate/tool"
)

// # The rights of an agent
//
// An agent that works for another has the same user, folder, app file, rules and lasting
// grants. It is given what both its specialist's modules and its parent's give, and not
// what its parent's client was not given. Its permission mode is at most its parent's, and
// follows it; what a human allowed its parent for a session does not count for it. What
// guards the calls of those above it guards its own. While its parent is open, the parent
// is asked about each of its calls as if it were the parent's, and the stricter decision
// counts: so whatever narrows the parent meanwhile narrows it.
//
// Where an app was called there is another app's rules in what its caller is asked: who works
// for it does nothing while its caller is closed.
//
// It never sets goals or makes lists of work: those are its parent's.

// goals are the tools that an agent which works for another does not have.
var goals = []string{"memory.set_goal", "memory.task_create", "memory.task_update"}

// within asks the session that an agent works for about its calls.
type within struct {
	agents *Agents
	parent string // a session
	under  bool   // it works for an app that was called, within whose caller's rights it stays
	daemon bool   // asked about the kernel's own calls
}

var _ policy.Narrower = within{}

// AsDaemon asks as the kernel itself: about setup steps, and what hooks do.
func (w within) AsDaemon() policy.Narrower {
	w.daemon = true
	return w
}

// caller is whom the session is asked as.
func (w within) caller(s *session.Session) *gate.Caller {
	if w.daemon {
		return s.Caller().AsDaemon()
	}
	return s.Caller()
}

// alone is the decision where whom an agent works for is closed: what that was given stands
// in the agent's own limits, unless another app's rules are in it.
func (w within) alone() policy.Decision {
	if w.under {
		return goneDecision()
	}
	return policy.Decision{Verdict: policy.Allow}
}

// TakeRate counts a call against the limits of an app that called theirs. Those of its own
// app are counted with the call itself.
func (w within) TakeRate(t *tool.Tool, take func(*policy.Rules, *tool.Tool, tool.Principal) error) error {
	s, err := w.agents.opt.Sessions.Get(w.parent)
	if err != nil {
		return nil // and it was refused
	}
	return s.Caller().TakeRate(t, func(r *policy.Rules, t *tool.Tool, p tool.Principal) error {
		if r == s.Caller().RateRules() {
			return nil
		}
		return take(r, t, p)
	})
}

// Look has the parent look whether its app files have changed.
func (w within) Look() {
	if s, err := w.agents.opt.Sessions.Get(w.parent); err == nil {
		s.Caller().Look()
	}
}

// Decide returns what the parent is told of a tool.
func (w within) Decide(t *tool.Tool) policy.Decision {
	if !w.daemon && slices.Contains(goals, t.ID.Dotted()) {
		return policy.Decision{
			Verdict: policy.Hide, Rule: "kernel.agents", Reason: "goals and lists of work are those of whom an agent works for",
		}
	}
	s, err := w.agents.opt.Sessions.Get(w.parent)
	if err != nil {
		return w.alone()
	}
	if err := w.caller(s).Withheld(t); err != nil {
		return policy.Decision{Verdict: policy.Deny, Rule: "kernel.agents", Reason: "for whom you work: " + err.Error()}
	}
	return w.caller(s).Decide(t)
}

// DecideCall returns what the parent is told of one call.
func (w within) DecideCall(t *tool.Tool, call *match.Call) policy.Decision {
	s, err := w.agents.opt.Sessions.Get(w.parent)
	if err != nil {
		return w.alone()
	}
	return w.caller(s).DecideCall(t, call)
}

// Limit gives what is called later for an agent no more than the agent itself has. A
// session that works for nobody is left as it is.
func (a *Agents) Limit(ctx context.Context, s *session.Spec) error {
	t, err := a.opt.Runner.Store().Get(ctx, s.ID)
	if tool.KindOf(err) == tool.NotFound || err == nil && t.Kind != Kind {
		return nil
	}
	if err != nil {
		return err
	}
	o, err := orderOf(t)
	if err != nil {
		return err
	}
	spec, err := a.specOf(ctx, t, o)
	if err != nil {
		return err
	}
	c := spec.Child
	s.Only, s.Off = appmode.Intersect(c.Only, s.Only), slices.Concat(s.Off, c.Off)
	s.Above, s.Within, s.Guards, s.RuleFiles = c.Above, c.Within, c.Guards, c.RuleFiles
	return nil
}

// spec is the conversation of an agent: no more than its parent's.
func (a *Agents) spec(t task.Task, o order) conversation.Spec {
	spec := conversation.Spec{
		Workspace: t.Asker.Workspace, Named: true, AppFile: t.Asker.AppFile, Agent: o.Specialist,
		Requester: deferred.RequesterOf(t.Asker),
		Child: &conversation.Child{
			Parent: t.Parent, Above: o.Above, Only: t.Asker.Only, Off: t.Asker.Off, MaxTurns: o.MaxTurns, Memory: o.Root,
			AppMode: o.AppMode,
			Within:  within{agents: a, parent: t.Parent, under: o.Under},
			Asked:   func(r approval.Request) { a.opt.Conversations.Asked(o.Root, r) },
		},
	}
	if root, err := a.opt.Conversations.Get(o.Root); err == nil { // it may have been opened again, by another process
		spec.Requester = root.Session().Caller().Requester()
	}
	spec.Requester.Path = o.path()
	if o.Under || o.App != nil {
		spec.Child.Guards = guards{a, t.Parent, o.App == nil}.hooks
		if s, err := a.opt.Sessions.Get(t.Parent); err == nil { // else nothing is allowed
			spec.Child.RuleFiles = s.Caller().Place().RuleFiles
		}
	}
	return spec
}
