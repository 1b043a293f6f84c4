// Package grants is where humans make, see and revoke lasting grants. Law: making
// and revoking one needs a human's authority, and each is in the journal; a grant
// that an answer to an approval makes has the authority of that answer.
package grants

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"callgate/internal/document"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/lasting"
	"callgate/internal/journal"
	"callgate/internal/secret"
	"callgate/internal/user"
)

// Options is what Grants need of the kernel. All fields but Unread are required.
type Options struct {
	Documents document.Store
	Approvals *approval.Queue
	Journal   *journal.Journal
	Secrets   *secret.Vault
	User      string
	Log       *slog.Logger
	// Askers are the open sessions that no person opened: none of them may make a grant.
	Askers func(approval.Credential) []approval.Requester
	// Nodes are the kernels that share the documents.
	Nodes lasting.Nodes
	// Unread is why the documents cannot be read; nil: they can.
	Unread error
}

// Grants are the kernel's lasting grants. Make them with Open.
type Grants struct {
	*lasting.Store
	opt Options
}

// Open reads the grants.
func Open(ctx context.Context, o Options) (*Grants, error) {
	store, problems, err := lasting.Open(ctx, o.Documents, o.Nodes)
	if err != nil {
		return nil, err
	}
	for _, problem := range problems {
		o.Log.Warn("a lasting grant is left out", "error", problem)
	}
	return &Grants{store, o}, nil
}

// All returns the grants, or why they cannot be read.
func (g *Grants) All(ctx context.Context) ([]lasting.Grant, error) {
	if g.opt.Unread != nil {
		return nil, g.opt.Unread
	}
	if err := g.Reload(ctx); err != nil {
		return nil, err
	}
	return g.List(), nil
}

// One returns a grant, with the uses of all nodes.
func (g *Grants) One(ctx context.Context, id string) (lasting.Grant, error) {
	if err := g.Reload(ctx); err != nil {
		return lasting.Grant{}, err
	}
	return g.Get(id)
}

// Remember keeps the yes of a request that was just approved; the queue calls it.
func (g *Grants) Remember(ctx context.Context, r approval.Request) error {
	grant, ok, err := lasting.FromAnswer(r)
	if err != nil || !ok {
		return err
	}
	_, err = g.Add(ctx, grant)
	return err
}

// Keep makes a grant that a person was shown.
func (g *Grants) Keep(ctx context.Context, who approval.Credential, grant lasting.Grant) (lasting.Grant, error) {
	if err := g.opt.Approvals.HasPersonAuthority(who, g.opt.Askers(who)); err != nil {
		return grant, err
	}
	grant.By = cmp.Or(who.By, g.opt.User, "a human")
	grant.ID, grant.Approval = "", ""
	grant, err := g.Add(ctx, grant)
	if err != nil {
		return grant, err
	}
	return grant, g.record(who, fmt.Sprintf("made the lasting grant %s: %s, %s", grant.ID, grant.Tool, grant.Text))
}

// RevokeAs revokes grants on a human's word.
func (g *Grants) RevokeAs(ctx context.Context, who approval.Credential, ids []string) error {
	if err := g.opt.Approvals.HasHumanAuthority(who); err != nil {
		return err
	}
	if err := g.Revoke(ctx, ids...); err != nil || len(ids) == 0 {
		return err
	}
	return g.record(who, "revoked the lasting grants "+strings.Join(ids, ", "))
}

// Suggest proposes grants from what humans answered before.
func (g *Grants) Suggest(ctx context.Context) ([]lasting.Suggestion, error) {
	past, err := g.opt.Approvals.List(ctx, "", 0)
	if err != nil {
		return nil, err
	}
	past = slices.DeleteFunc(past, func(r approval.Request) bool { return user.Of(r.Call.Principal.User) != "" })
	return lasting.Suggest(past, func(c *lasting.Call) bool { return len(g.Find(ctx, c)) > 0 }), nil
}

func (g *Grants) record(who approval.Credential, did string) error {
	by := cmp.Or(who.By, g.opt.User, "a human")
	note := g.opt.Secrets.ScrubText(by + " " + did).Truncate(1000)
	return g.opt.Journal.Append(journal.Record{Kind: journal.Noted, Note: note})
}
