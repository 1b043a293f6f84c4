package kernel

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/control"
	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel/parallelcalls"
	"callgate/internal/kernel/results"
	"callgate/internal/kernel/scripts"
	"callgate/internal/kernel/servers"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/toolview"
	"callgate/internal/question"
	"callgate/tool"
)

// controlSession is a session as the kernel's own tools see it.
type controlSession struct {
	*toolview.View
	session *session.Session
	kernel  *Kernel
}

var _ control.Session = controlSession{}

// controlSession finds the session on whose behalf a control tool is called.
func (k *Kernel) controlSession(id string) (control.Session, error) {
	s, err := k.Sessions.Get(id)
	if err != nil {
		return nil, err
	}
	return controlSession{s.View(), s, k}, nil
}

// Tool returns one tool by any of its names.
func (s controlSession) Tool(ctx context.Context, name string) (control.ToolView, error) {
	t, err := s.View.Tool(ctx, name)
	if err != nil {
		return control.ToolView{}, err
	}
	withheld := s.session.Caller().Withheld(t.Tool) != nil
	return control.ToolView{Tool: t.Tool, Policy: string(t.Decision.Verdict), Withheld: withheld}, nil
}

// CallChild makes a call as the child of another.
func (s controlSession) CallChild(ctx context.Context, parent, name string, args json.RawMessage) *tool.Result {
	return s.session.Call(ctx, gate.CallRequest{ID: gate.ChildID(parent), Name: name, Args: args, Parent: parent})
}

// Collect returns the result of a call that was left waiting for a human.
func (s controlSession) Collect(ctx context.Context, id string, wait time.Duration) (*tool.Result, error) {
	const op = "approvals.collect"
	if strings.HasPrefix(id, question.IDPrefix) {
		if q, err := s.kernel.Questions.Get(ctx, id); err == nil && s.owns(ctx, approvalOf(q)) {
			return s.collectAnswer(ctx, q, wait)
		}
	}
	r, err := s.kernel.Approvals.Get(ctx, id)
	if tool.KindOf(err) == tool.NotFound || err == nil && !s.owns(ctx, r) {
		return nil, tool.Errorf(op, tool.NotFound, "nothing of yours waits under the approval %q", tool.Truncate(id)).
			WithHint("give the id as the call that answered \"waiting for approval\" told it; " +
				"if that is lost, make the call again")
	}
	if err != nil {
		return nil, err
	}
	records, err := s.kernel.Journal.Read(ctx, journal.Query{Call: r.Call.ID})
	if err != nil {
		return nil, err
	}
	for _, rec := range slices.Backward(records) {
		switch rec.Kind {
		case journal.Ended:
			return s.kernel.gate.Collect(ctx, rec.Call)
		case journal.Resolved:
			if rec.Resolution.Retry != "" {
				return s.kernel.gate.Collect(ctx, rec.Resolution.Retry)
			}
		case journal.Doubted:
			const text = "%s was approved and began, and the kernel ended before it did: it may or may not have happened"
			return nil, tool.Errorf(op, tool.InDoubt, text, r.Call.Tool.Dotted()).
				WithHint("look at what it was to change before you call it again; callgate log show %s has its records", rec.Call)
		}
	}
	if r.State != approval.Pending {
		wait = max(wait, time.Second) // its end is about to be on record
	}
	return s.awaitEnd(ctx, r, wait)
}

// awaitEnd waits at most so long for the call to end, then answers with status waiting.
func (s controlSession) awaitEnd(ctx context.Context, r approval.Request, wait time.Duration) (*tool.Result, error) {
	within, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if wait > 0 {
		result, err := s.kernel.gate.Collect(within, r.Call.ID)
		if err == nil || within.Err() == nil || ctx.Err() != nil {
			return result, err
		}
		if now, err := s.kernel.Approvals.Get(ctx, r.ID); err == nil {
			r = now
		}
	}
	result, name := &tool.Result{Status: tool.Waiting, Call: r.Call.ID}, r.Call.Tool.Dotted()
	if r.State != approval.Pending {
		result.Summary = fmt.Sprintf("%s was approved, and has not ended yet: collect it again", name)
		return result, nil
	}
	const text = "%s still waits for a human: %s (a human must answer; then approvals.collect gives its result)"
	result.Approval = r.ID
	result.Summary = fmt.Sprintf(text, name, r.Reason)
	return result, nil
}

// owns reports whether the session may ask after an approval: it asked for it,
// or it is the same principal, in the same folder and under the same app, after
// the session that asked has ended. While that one is open, it alone may. Nobody is
// told the result of a tool that they do not have, as a client of another profile.
func (s controlSession) owns(ctx context.Context, r approval.Request) bool {
	me, asker := s.session.Principal(), r.Call.Principal
	if asker.Session == me.Session {
		return true
	}
	if _, err := s.kernel.Sessions.Get(asker.Session); err == nil {
		return false
	}
	if _, err := s.View.Tool(ctx, r.Call.Tool.Dotted()); err != nil {
		return false
	}
	if r.Asker.Token != s.session.Caller().Requester().Token {
		return false
	}
	asker.Session = me.Session
	return asker == me && r.Workspace == s.session.Workspace() && r.AppFile == s.session.Loaded().AppFile()
}

// openTools registers the kernel's own tools and those of the embedding program.
func (k *Kernel) openTools(_ context.Context, cfg Config) error {
	if err := k.Register(control.Namespace, control.Tools(k.controlSession)...); err != nil {
		return err
	}
	k.Scripts = scripts.New(scripts.Options{
		Sessions: k.Sessions, Journal: k.Journal, Approvals: k.Approvals, Permissions: k.Permissions.Table, Output: k.Output,
	})
	agents := []*tool.Tool{
		control.SkillTool(useSkill(k)),
		control.StepTool(stepSkill(k)),
		control.ParallelTool(k.controlSession, parallelcalls.Maker{Sessions: k.Sessions, Journal: k.Journal}.Call),
		control.ScriptTool(k.Scripts.Run),
		control.BackgroundTool(k.controlSession, k.Background.Do),
		control.TaskTool(k.Conversations.StartTask, k.Conversations.Task),
		control.AppTool(func(ctx context.Context, call tool.Call, r control.AppRequest) (*tool.Result, error) {
			return k.Agents.CallApp(ctx, call, r)
		}),
		control.ArtifactTool((&results.Reader{
			Journal: k.Journal, Artifacts: k.Artifacts, Secrets: k.vault, Sessions: k.Sessions, Events: k.Outside.Payload,
		}).Read),
	}
	if err := k.Register("agents", agents...); err != nil {
		return err
	}
	if err := openQuestions(k); err != nil {
		return err
	}
	openAgents(k)
	if err := openOutside(k, cfg); err != nil {
		return err
	}
	if err := openScheduler(k); err != nil {
		return err
	}
	if err := openWatchers(k); err != nil {
		return err
	}
	if err := openProposals(k, cfg); err != nil {
		return err
	}
	if err := openBuiltins(k); err != nil {
		return err
	}
	for _, b := range cfg.Backends {
		if err := addBackend(k, b); err != nil {
			return err
		}
	}
	return k.Register("embedder", cfg.Tools...)
}

// AcceptServer takes a human's word on a server of a session's app.
func (k *Kernel) AcceptServer(who approval.Credential, s *session.Session, name string, w servers.Word) error {
	err := k.Approvals.HasHumanAuthority(who)
	if w.Launch != "" || len(w.Accept) > 0 || err != nil { // a no lets nothing run
		err = k.Approvals.HasPersonAuthority(who, k.askers(who))
	}
	if err != nil {
		return err
	}
	w.By = cmp.Or(w.By, k.user)
	return k.Servers.In(s.Loaded().Scope).Accept(name, w)
}

// AcceptLogin takes a human's yes to those that take part in a login to a server. It is on record, and counts for the
// login that begins now.
func (k *Kernel) AcceptLogin(who approval.Credential, server, parties string) error {
	if err := k.Approvals.HasPersonAuthority(who, k.askers(who)); err != nil {
		return err
	}
	return k.Journal.Append(journal.Record{Kind: journal.Noted, Note: fmt.Sprintf(
		"%s accepted where the login to the MCP server %s goes (issuer, page, code): %s",
		cmp.Or(who.By, k.user), tool.Truncate(server), tool.TruncateTo(parties, 500))})
}

// AcceptApp takes a human's yes to what a session's app asks for, as it was shown.
func (k *Kernel) AcceptApp(who approval.Credential, s *session.Session, shown, by string) error {
	if err := k.Approvals.HasPersonAuthority(who, k.askers(who)); err != nil {
		return err
	}
	return k.consents.Accept(s.App(), shown, cmp.Or(by, k.user))
}

// RevokeApp takes back what a human accepted of a session's app. What the app does in the
// background has ended when it returns.
func (k *Kernel) RevokeApp(who approval.Credential, s *session.Session, by string) error {
	if err := k.Approvals.HasHumanAuthority(who); err != nil {
		return err
	}
	if err := k.consents.Revoke(s.App(), cmp.Or(by, k.user)); err != nil {
		return err
	}
	k.Outside.Triggers.Look()
	return k.Apps.Withdraw(s.Loaded().Scope)
}

// PendingConsent is what a session's app asks for and nobody has accepted yet, as a
// human is shown it; empty for nothing.
func (k *Kernel) PendingConsent(s *session.Session) string { return k.consents.Pending(s.App()) }
