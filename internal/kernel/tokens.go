package kernel

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/users"
	"callgate/internal/token"
	"callgate/internal/token/logincode"
	"callgate/tool"
)

// Tokens makes, lists and revokes tokens. A person makes them; no token makes another.
type Tokens struct {
	store     *token.Store
	approvals *approval.Queue
	askers    func(approval.Credential) []approval.Requester
	journal   *journal.Journal
	user      string
	key       string // the human's; empty: there is none
	unread    error  // why none can be read; nil: they can
	logins    logincode.Codes
	Users     *users.Directory // whom tokens and logins stand for
	vouch     atomic.Pointer[Vouch]

	mu       sync.Mutex
	onRevoke []func(id string)
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
	if t.unread != nil {
		return nil, t.unread
	}
	return t.store.List(ctx)
}

// Revoke ends a token, by its ID or name.
func (t *Tokens) Revoke(ctx context.Context, who approval.Credential, name string) (token.Token, error) {
	if err := t.approvals.HasHumanAuthority(who); err != nil {
		return token.Token{}, err
	}
	return t.end(ctx, name, cmp.Or(who.By, t.user))
}

// end ends a token, and what was asked with it.
func (t *Tokens) end(ctx context.Context, name, by string) (token.Token, error) {
	ended, err := t.store.Revoke(ctx, name)
	if err != nil {
		return ended, err
	}
	t.mu.Lock()
	tell := slices.Clone(t.onRevoke)
	t.mu.Unlock()
	for _, f := range tell {
		f(ended.ID)
	}
	return ended, errors.Join(t.denyPending(ctx, ended, by), t.record("revoked", ended, by))
}

// denyPending denies what waits for a human and was asked with a token that was
// revoked: its holder has no call made any more.
func (t *Tokens) denyPending(ctx context.Context, ended token.Token, by string) error {
	pending, err := t.approvals.List(ctx, approval.Pending, 0)
	if err != nil {
		return err
	}
	for _, r := range pending {
		if r.Asker.Token != ended.ID {
			continue
		}
		deny := approval.Answer{Feedback: "the token " + ended.Name + " was revoked"}
		err := t.approvals.AnswerVouched(ctx, approval.Voucher{By: by}, r.ID, deny)
		if err != nil && tool.KindOf(err) != tool.Conflict { // somebody else was faster
			return err
		}
	}
	return nil
}

// OnRevoke has f called with the ID of each token that is revoked, when it no longer counts.
func (t *Tokens) OnRevoke(f func(id string)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onRevoke = append(t.onRevoke, f)
}

// Vouch returns who brings what a provider of identities has signed. A client comes for MCP, and for nothing else.
type Vouch func(ctx context.Context, signed string, isClient bool) (token.Bearer, error)

// Trust has what a provider signed count as tokens.
func (t *Tokens) Trust(v Vouch) { t.vouch.Store(&v) }

// IsSigned reports whether a value may be what a provider that is trusted here has signed.
func (t *Tokens) IsSigned(value string) bool {
	return t.vouch.Load() != nil && strings.Count(value, ".") == 2 && !strings.HasPrefix(value, token.Prefix)
}

// Use returns the token with a value, if it has a role and still counts. What a browser was given is none.
func (t *Tokens) Use(ctx context.Context, value string, role token.Role) (token.Token, error) {
	if !t.IsSigned(value) {
		return t.use(ctx, value, role, false)
	}
	bearer, err := (*t.vouch.Load())(ctx, value, role == token.Client)
	if err != nil {
		return token.Token{}, err
	}
	revoked, err := t.Users.Revoked(ctx, bearer.User)
	if err != nil {
		return token.Token{}, err
	}
	if bearer.IsRevoked(revoked) {
		return token.Token{}, token.UntrustedError("what " + bearer.By + " had was revoked")
	}
	found, err := t.store.UseBearer(ctx, bearer, role)
	if err == nil {
		err = t.Users.Saw(ctx, found.Person)
	}
	return found, err
}

// UseLogin is Use for what a browser was given, and for nothing else.
func (t *Tokens) UseLogin(ctx context.Context, value string, role token.Role) (token.Token, error) {
	return t.use(ctx, value, role, true)
}

func (t *Tokens) use(ctx context.Context, value string, role token.Role, login bool) (token.Token, error) {
	found, err := t.store.Use(ctx, value, role)
	if err == nil && found.Login != login {
		return token.Token{}, tool.Errorf("kernel.UseToken", tool.Denied,
			"the login of a browser counts in that browser alone, and a token of a program never there").
			WithHint("a program has a token of its own: callgate token create; a browser a link: callgate console")
	}
	if err == nil {
		err = t.Users.Saw(ctx, found.Person)
	}
	return found, err
}

// Check returns an error unless the token with an ID still counts.
func (t *Tokens) Check(ctx context.Context, id string) error { return t.store.Check(ctx, id) }

// Find returns the token with an ID, if it still counts.
func (t *Tokens) Find(ctx context.Context, id string) (token.Token, error) {
	return t.store.Find(ctx, id)
}

// Derive is a text of letters and digits that stays the same for what it is made of, and that only this kernel and
// the next ones in its state can make.
func (t *Tokens) Derive(parts ...string) string {
	mac := hmac.New(sha256.New, []byte(t.key))
	for _, p := range parts {
		mac.Write(binary.AppendUvarint(nil, uint64(len(p))))
		mac.Write([]byte(p))
	}
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(mac.Sum(nil)))
}

func (t *Tokens) record(did string, about token.Token, by string) error {
	note := cmp.Or(by, "a human") + " " + did + " the token " + about.Described()
	return t.journal.Append(journal.Record{Kind: journal.Noted, Note: note})
}

// askers are those of the open sessions that no person opened, but for the one who
// asks for something now: none of them may consent to anything.
func (k *Kernel) askers(who approval.Credential) []approval.Requester {
	var askers []approval.Requester
	self := cmp.Or(who.PID, os.Getpid())
	for _, r := range k.Sessions.Requesters() {
		if !r.Human && r.PID != self && !session.HasEnded(r) {
			askers = append(askers, r)
		}
	}
	return askers
}

// ChallengeConsent returns the code that a person types at the terminal before they
// accept an app or a server, or make a token; empty if none is needed.
func (k *Kernel) ChallengeConsent(who approval.Credential) (string, error) {
	return k.Approvals.ChallengeConsent(who, k.askers(who))
}

// IsAskers reports whether a process is of the family of an open session that no person opened.
func (k *Kernel) IsAskers(pid int) bool {
	return k.Approvals.Belongs(pid, k.askers(approval.Credential{PID: pid}))
}
