package kernel

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"strings"
	"sync"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/token"
	"callgate/tool"
)

const (
	loginOffer = 10 * time.Minute // how long a code lets somebody in
	loginLast  = 12 * time.Hour   // how long a login counts
	maxOffers  = 20
)

// logins are the codes that let a person in over the network, each once. They end with the kernel.
type logins struct {
	mu   sync.Mutex
	open map[[sha256.Size]byte]offer
}

type offer struct {
	by  string
	end time.Time
}

// OfferLogin returns a code that lets one person in as an administrator, once and soon. It takes
// what making a token takes: a person at a terminal.
func (t *Tokens) OfferLogin(who approval.Credential) (string, error) {
	const op = "kernel.OfferLogin"
	if who.Token != "" {
		return "", tool.Errorf(op, tool.Denied, "a token cannot let anybody in").
			WithHint("a human asks for it at a terminal, without CALLGATE_TOKEN")
	}
	if err := t.approvals.HasPersonAuthority(who, t.askers(who)); err != nil {
		return "", err
	}
	return t.logins.offer(cmp.Or(who.By, t.user))
}

// OfferOwnLogin is OfferLogin for the person who started this very process at a terminal.
func (t *Tokens) OfferOwnLogin() (string, error) { return t.logins.offer(t.user) }

func (l *logins) offer(by string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for sum, o := range l.open {
		if now.After(o.end) {
			delete(l.open, sum)
		}
	}
	if len(l.open) >= maxOffers {
		return "", tool.Errorf("kernel.OfferLogin", tool.Limited, "%d links are open that nobody has used", len(l.open)).
			WithHint("use one of them, or wait: each ends after %v", loginOffer)
	}
	if l.open == nil {
		l.open = map[[sha256.Size]byte]offer{}
	}
	code := strings.ToLower(rand.Text())
	l.open[sha256.Sum256([]byte(code))] = offer{by, now.Add(loginOffer)}
	return code, nil
}

// take returns what a code offers, and ends it.
func (l *logins) take(code string) (offer, bool) {
	sum := sha256.Sum256([]byte(code)) // what is looked up is a hash: its time tells nothing of the code
	l.mu.Lock()
	defer l.mu.Unlock()
	o, ok := l.open[sum]
	delete(l.open, sum)
	return o, ok && time.Now().Before(o.end)
}

// Login gives a person in exchange for a code the token with which their browser comes from now on.
func (t *Tokens) Login(ctx context.Context, code string) (token.Token, string, error) {
	o, ok := t.logins.take(code)
	if !ok {
		return token.Token{}, "", tool.Errorf("kernel.Login", tool.Denied,
			"this link was used, or has ended, or never was one").
			WithHint("callgate console makes another")
	}
	return t.LoginBy(ctx, o.by, token.Admin)
}

// LoginBy gives a person, whom the web face knows, the token with which their browser comes from now on.
func (t *Tokens) LoginBy(ctx context.Context, by string, role token.Role) (token.Token, string, error) {
	made, value, err := t.store.Create(ctx, token.Token{
		Name: "console-" + strings.ToLower(rand.Text()[:6]), Role: role, By: by, Login: true,
		Expires: time.Now().Add(loginLast).UTC().Truncate(time.Second),
	})
	if err != nil {
		return token.Token{}, "", err
	}
	return made, value, t.record("logged in and has", made, by)
}

// Logout ends a login.
func (t *Tokens) Logout(ctx context.Context, login token.Token) error {
	if !login.Login {
		return nil // a token of a script stays
	}
	_, err := t.end(ctx, login.ID, login.Name)
	return err
}
