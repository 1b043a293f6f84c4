// Package permissions is where the permissions of a session are changed: see
// internal/gate/permission.
//
// Law: only who could say yes to what a session asks may let it do more without asking;
// whoever owns the session may let it do less. Each change is in the journal.
package permissions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"callgate/internal/gate/approval"
	"callgate/internal/gate/permission"
	"callgate/internal/journal"
	"callgate/internal/kernel/session"
	"callgate/internal/secret"
	"callgate/tool"
)

// Options is what Permissions need of the kernel. All fields are required.
type Options struct {
	Approvals *approval.Queue
	Journal   *journal.Journal
	Secrets   *secret.Vault
	User      string
}

// Permissions are those of a kernel's sessions. Make them with New.
type Permissions struct {
	*permission.Table
	opt Options
}

// New makes the permissions of a kernel.
func New(o Options) *Permissions {
	p := &Permissions{opt: o}
	p.Table = permission.NewTable(p.settle)
	return p
}

// maxAllow bounds what one person can keep in view.
const maxAllow = 200

// Change is what is to be changed.
type Change struct {
	Mode  string   // empty: it stays
	Allow []string // added: see permission.ParseEntry
	// Unattended says that nobody answers what the session asks; nil: it stays as it is.
	Unattended *bool
	// Form names the human who chose the mode in a form of the client that has the session,
	// and could have said yes there to each of its calls. It allows no patterns.
	Form string
}

// Set changes the permissions of a session. asker is who asks in it, as the one who
// changes them sees it.
func (p *Permissions) Set(
	ctx context.Context, who approval.Credential, s *session.Session, asker approval.Requester, c Change,
) (permission.State, error) {
	now := p.Of(s.ID())
	next, err := p.next(ctx, who, s, now, c)
	if err != nil {
		return now, err
	}
	authority := p.opt.Approvals.MayLoosen(who, asker)
	if c.Form != "" && len(c.Allow) == 0 {
		authority = nil
	}
	if authority != nil && now.Loosens(next) {
		return now, withFlag(authority)
	}
	var did []string
	refused := false
	p.Change(s.ID(), func(before permission.State) permission.State { // others may have changed it since
		now := before
		wanted := authority == nil && next.Mode == permission.Plan && !now.Human // by a human too
		if c.Mode != "" && (now.Mode != next.Mode || wanted) {
			now.Mode, now.By, now.Human = next.Mode, next.By, authority == nil
			did = append(did, "set the permission mode "+string(now.Mode))
		}
		if c.Unattended != nil {
			now.Unattended = *c.Unattended
		}
		for _, e := range next.Allow {
			if !slices.ContainsFunc(now.Allow, func(o permission.Entry) bool { return o.String() == e.String() }) {
				now.Allow = append(now.Allow, e)
				did = append(did, "allowed "+e.String())
			}
		}
		if refused = authority != nil && before.Loosens(now); refused {
			return before
		}
		return now
	})
	if refused {
		return p.Of(s.ID()), withFlag(authority)
	}
	p.Settle(ctx)
	if len(did) == 0 {
		return p.Of(s.ID()), nil
	}
	return p.Of(s.ID()), p.record(next.By, s.ID(), strings.Join(did, "; "))
}

// next is the state that a change leads to.
func (p *Permissions) next(
	ctx context.Context, who approval.Credential, s *session.Session, now permission.State, c Change,
) (permission.State, error) {
	next := now
	next.By = cmp.Or(who.By, p.opt.User, "its owner")
	switch {
	case who.Token != "":
		next.By = "token " + who.Token
	case c.Form != "":
		next.By = c.Form
	}
	if c.Mode != "" {
		mode, err := permission.ParseMode(c.Mode)
		if err != nil {
			return now, err
		}
		next.Mode = mode
	}
	for _, text := range c.Allow {
		e, err := permission.ParseEntry(text, func(name string) (*tool.Tool, error) {
			found, err := s.View().Tool(ctx, name)
			return found.Tool, err
		})
		if err != nil {
			return now, err
		}
		e.By = next.By
		next.Allow = append(next.Allow, e)
	}
	if len(next.Allow) > maxAllow {
		return now, tool.Errorf("permissions.Set", tool.Limited, "%d patterns are allowed here already", len(now.Allow)).
			WithHint("allow more with one pattern, or give a lasting grant")
	}
	return next, nil
}

// withFlag tells who may not loosen permissions how a script does.
func withFlag(err error) error {
	return &tool.Error{Op: "permissions.Set", Kind: tool.KindOf(err), Err: err,
		Message: "what this session may do without asking is for a human to say",
		Hint:    "do it at a terminal; for a script, a human makes a token there: callgate token create --role approver"}
}

// Allowed keeps the yes of a request for the rest of its session, and answers those
// that wait and that it covers; the queue calls it.
func (p *Permissions) Allowed(ctx context.Context, r approval.Request) {
	e, ok, err := permission.FromAnswer(r)
	if err != nil || !ok {
		return // it was approved once
	}
	p.Allow(r.Call.Principal.Session, e)
	p.Settle(context.WithoutCancel(ctx))
}

// Scripted keeps an answer for the rest of its script, and answers those that wait and
// that it decides; the queue calls it.
func (p *Permissions) Scripted(ctx context.Context, r approval.Request) {
	if p.Table.Scripted(r) {
		p.Settle(context.WithoutCancel(ctx))
		p.EndStopped(r.Script.Call)
	}
}

// settle answers a request that permissions decide.
func (p *Permissions) settle(ctx context.Context, d permission.Decided) {
	a := approval.Answer{Approve: d.Verdict == permission.Allow, Feedback: d.Told, Unasked: true}
	// One that cannot be answered now waits on; somebody may have been faster.
	_ = p.opt.Approvals.AnswerVouched(ctx, approval.Voucher{By: d.Reason}, d.Request, a)
}

func (p *Permissions) record(by, session, did string) error {
	note := p.opt.Secrets.ScrubText(fmt.Sprintf("%s, in %s: %s", by, session, did)).Truncate(1000)
	return p.opt.Journal.Append(journal.Record{Kind: journal.Noted, Note: note})
}
