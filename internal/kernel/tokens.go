package kernel

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/peer"
	"callgate/internal/token"
	"callgate/tool"
)

// Tokens makes, lists and revokes tokens. A person makes them; no token makes
// another.
type Tokens struct {
	store     *token.Store
	approvals *approval.Queue
	askers    func(approval.Credential) []approval.Requester
	journal   *journal.Journal
	user      string
}

// Create makes a token and returns its value, which nobody is told again.
func (t *Tokens) Create(ctx context.Context, who approval.Credential, want token.Token) (token.Token, string, error) {
	if who.Token != "" {
		return token.Token{}, "", tool.Errorf("kernel.CreateToken", tool.Denied, "a token cannot make a token").
			WithHint("a human makes it at a terminal, without CALLGATE_TOKEN")
	}
	if err := t.approvals.HasPersonAuthority(who, t.askers(who)); err != nil {
		return token.Token{}, "", err
	}
	want.By = cmp.Or(who.By, t.user)
	made, value, err := t.store.Create(ctx, want)
	if err != nil {
		return token.Token{}, "", err
	}
	return made, value, t.record("made", made, want.By)
}

// List returns the tokens.
func (t *Tokens) List(ctx context.Context, who approval.Credential) ([]token.Token, error) {
	if err := t.approvals.HasHumanAuthority(who); err != nil {
		return nil, err
	}
	return t.store.List(ctx)
}

// Revoke ends a token, by its ID or name.
func (t *Tokens) Revoke(ctx context.Context, who approval.Credential, name string) (token.Token, error) {
	if err := t.approvals.HasHumanAuthority(who); err != nil {
		return token.Token{}, err
	}
	ended, err := t.store.Revoke(ctx, name)
	if err != nil {
		return ended, err
	}
	return ended, t.record("revoked", ended, cmp.Or(who.By, t.user))
}

// Use returns the token with a value, if it has a role and still counts.
func (t *Tokens) Use(ctx context.Context, value string, role token.Role) (token.Token, error) {
	return t.store.Use(ctx, value, role)
}

func (t *Tokens) record(did string, about token.Token, by string) error {
	note := fmt.Sprintf("%s %s the token %s, role %s", cmp.Or(by, "a human"), did, about.Name, about.Role)
	return t.journal.Append(journal.Record{Kind: journal.Noted, Note: note})
}

// askers are those of the open sessions that no person opened, but for the one who
// asks for something now: none of them may consent to anything.
func (k *Kernel) askers(who approval.Credential) []approval.Requester {
	var askers []approval.Requester
	self := cmp.Or(who.PID, os.Getpid())
	for _, r := range k.Sessions.Requesters() {
		if !r.Human && r.PID != self && !hasEnded(r) {
			askers = append(askers, r)
		}
	}
	return askers
}

// hasEnded reports whether the process of a session is gone. A client that was killed
// leaves its session open, and must not bar the terminal that it ran in for good.
func hasEnded(r approval.Requester) bool {
	return r.Started != 0 && peer.Started(r.PID) != r.Started
}

// ChallengeConsent returns the code that a person types at the terminal before they
// accept an app or a server, or make a token; empty if none is needed.
func (k *Kernel) ChallengeConsent(who approval.Credential) (string, error) {
	return k.Approvals.ChallengeConsent(who, k.askers(who))
}

// IsAskers reports whether a process is of the family of an open session that no
// person opened.
func (k *Kernel) IsAskers(pid int) bool {
	return k.Approvals.Belongs(pid, k.askers(approval.Credential{PID: pid}))
}
