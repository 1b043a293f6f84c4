package kernel

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/token"
	"callgate/tool"
)

// loginLast is how long a login counts.
const loginLast = 12 * time.Hour

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
	return t.logins.Offer(cmp.Or(who.By, t.user))
}

// OfferOwnLogin is OfferLogin for the person who started this very process at a terminal.
func (t *Tokens) OfferOwnLogin() (string, error) { return t.logins.Offer(t.user) }

// Login gives a person in exchange for a code the token with which their browser comes from now on.
func (t *Tokens) Login(ctx context.Context, code string) (token.Token, string, error) {
	by, ok := t.logins.Take(code)
	if !ok {
		return token.Token{}, "", tool.Errorf("kernel.Login", tool.Denied,
			"this link was used, or has ended, or never was one").
			WithHint("callgate console makes another")
	}
	return t.LoginBy(ctx, by, token.Admin, token.Person{})
}

// LoginBy gives a person, whom the web face knows, the token with which their browser comes from now on. It stands for
// a user, or for the kernel's own.
func (t *Tokens) LoginBy(ctx context.Context, by string, role token.Role, who token.Person) (
	made token.Token, value string, err error,
) {
	made, value, err = t.store.Create(ctx, token.Token{
		Name: "console-" + strings.ToLower(rand.Text()[:6]), Role: role, By: by, Person: who, Login: true,
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
