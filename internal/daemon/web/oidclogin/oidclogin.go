// Package oidclogin lets people log in by an OpenID Connect provider.
//
// # Law
//
// Who the provider says that somebody is gives a role only if the configuration names it: nobody comes in because they
// have an account there. A login is begun and ended in the same browser: what comes back carries the state of a
// login that was begun here, in a cookie too, and is used once. The provider's word is a signed token for this
// client, with the nonce of that login. An address of mail counts only if the provider has verified it.
// Where the configuration says by which claim, a login stands for a user; who has no such claim does not come in.
// Programs come with what the provider signed by the law of bearer.go.
package oidclogin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"callgate/internal/daemon/hosts"
	"callgate/internal/token"
	"callgate/internal/user"
	"callgate/tool"
)

// Config names a provider, and who of its people may come in.
type Config struct {
	Issuer       string // its address, https or on this machine
	ClientID     string
	ClientSecret string   // empty: the provider knows the client as a public one
	Redirect     string   // where it sends browsers back to; empty: to the server's address, as the browser has it
	People       []Rule   // the first that fits counts
	User         string   // the claim that names the user for whom a login stands; empty: the kernel's own user
	Teams        string   // the claim that names their teams; empty: they have none
	Bearers      *Bearers // programs that come with what the provider signed; nil: none does
}

// Rule gives a role to people by what the provider says of them.
type Rule struct {
	Claim string // email, sub, groups or any other
	Value string // of the claim, or one of its values
	Role  token.Role
}

// Person is somebody who logged in.
type Person struct {
	Name string // for people: an address or a subject, and the provider
	Role token.Role
	token.Person
}

const (
	loginTime  = 10 * time.Minute // in which a login that was begun ends
	maxPending = 1000
	askTime    = 20 * time.Second // in which the provider answers
)

// Provider lets people in. Make it with New.
type Provider struct {
	cfg    Config
	host   string
	client *http.Client

	mu       sync.Mutex
	provider *oidc.Provider // nil: it was not reached yet
	pending  map[string]login
	keys     *oidc.IDTokenVerifier // of bearers; nil: the provider was not reached for them yet
}

// login is one that was begun.
type login struct {
	nonce, verifier, redirect string
	end                       time.Time
}

// New checks a configuration. The provider is asked when somebody logs in.
func New(c Config) (*Provider, error) {
	const op = "oidclogin.New"
	at, err := url.Parse(c.Issuer)
	switch {
	case err != nil || at.Host == "" || at.Scheme != "https" && !(at.Scheme == "http" && hosts.IsLoopback(at.Hostname())):
		return nil, tool.Errorf(op, tool.Invalid, "the issuer %q is no address with https", tool.Truncate(c.Issuer)).
			WithHint("write it as the provider does: https://accounts.example.org")
	case c.ClientID == "":
		return nil, tool.Errorf(op, tool.Invalid, "client_id is missing").
			WithHint("the provider gave it to you for this server")
	case c.Teams != "" && c.User == "":
		return nil, tool.Errorf(op, tool.Invalid, "teams are a user's, and user is missing").
			WithHint("say by which claim users are known: user: sub")
	case len(c.People) == 0:
		return nil, tool.Errorf(op, tool.Invalid, "nobody may come in: people is empty").
			WithHint("name who may: - {claim: email, value: ada@example.org, role: admin}")
	}
	if err := errors.Join(checkRules("people", c.People), c.Bearers.check(c)); err != nil {
		return nil, err
	}
	return &Provider{cfg: c, host: at.Hostname(), client: &http.Client{Timeout: askTime}, pending: map[string]login{}}, nil
}

func checkRules(where string, rules []Rule) error {
	for _, r := range rules {
		if r.Claim == "" || r.Value == "" || !isRole(r.Role) {
			return tool.Errorf("oidclogin.New", tool.Invalid, "%s: %q %q has the role %q", where, tool.Truncate(r.Claim),
				tool.Truncate(r.Value), tool.Truncate(string(r.Role))).
				WithHint("each has a claim, a value and a role: viewer, operator, approver or admin")
		}
	}
	return nil
}

func isRole(r token.Role) bool { return r != token.Client && slices.Contains(token.Roles(), r) }

// Host names the provider for people.
func (p *Provider) Host() string { return p.host }

// Begin returns where to send a browser that wants to log in, and the state that it keeps in a cookie. back is where
// the provider sends it then.
func (p *Provider) Begin(ctx context.Context, back string) (at, state string, err error) {
	provider, err := p.reach(ctx)
	if err != nil {
		return "", "", err
	}
	if p.cfg.Redirect != "" {
		back = p.cfg.Redirect
	}
	l := login{nonce: rand.Text(), verifier: oauth2.GenerateVerifier(), redirect: back, end: time.Now().Add(loginTime)}
	state = rand.Text()
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, other := range p.pending {
		if time.Now().After(other.end) {
			delete(p.pending, key)
		}
	}
	if len(p.pending) >= maxPending {
		return "", "", tool.Errorf("oidclogin.Begin", tool.Limited, "%d logins were begun and not ended", maxPending).
			WithHint("try again in a few minutes")
	}
	p.pending[state] = l
	at = p.oauth(provider, back).AuthCodeURL(state, oidc.Nonce(l.nonce), oauth2.S256ChallengeOption(l.verifier))
	return at, state, nil
}

// reach returns the provider, whose own description is asked for once.
func (p *Provider) reach(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.provider != nil {
		return p.provider, nil
	}
	// Its keys are asked for later with this context, so it must not end.
	found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.client), p.cfg.Issuer)
	if err != nil {
		return nil, &tool.Error{Op: "oidclogin", Kind: tool.Unavailable, Err: err,
			Message: "the provider " + p.host + " cannot be asked",
			Hint:    "log in with callgate console, and look at its address"}
	}
	p.provider = found
	return found, nil
}

func (p *Provider) oauth(provider *oidc.Provider, back string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.cfg.ClientID, ClientSecret: p.cfg.ClientSecret, RedirectURL: back, Endpoint: provider.Endpoint(),
		Scopes: []string{oidc.ScopeOpenID, "profile", "email", "groups"},
	}
}

// End returns who comes back from the provider with a code, if the browser's cookie has the state of the login.
func (p *Provider) End(ctx context.Context, query url.Values, cookie string) (Person, error) {
	l, ok := p.take(query.Get("state"), cookie)
	if !ok {
		return Person{}, denied("this login was not begun here, or has ended")
	}
	if said := query.Get("error"); said != "" {
		return Person{}, denied("the provider " + p.host + " says " + tool.Truncate(said))
	}
	provider, err := p.reach(ctx)
	if err != nil {
		return Person{}, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	got, err := p.oauth(provider, l.redirect).Exchange(ctx, query.Get("code"), oauth2.VerifierOption(l.verifier))
	if err != nil {
		return Person{}, denied("the provider " + p.host + " gave nothing for the code")
	}
	raw, _ := got.Extra("id_token").(string)
	verified, err := provider.Verifier(&oidc.Config{ClientID: p.cfg.ClientID}).Verify(ctx, raw)
	if err != nil || subtle.ConstantTimeCompare([]byte(verified.Nonce), []byte(l.nonce)) != 1 {
		return Person{}, denied("what the provider " + p.host + " says cannot be trusted")
	}
	claims := map[string]any{}
	if err := verified.Claims(&claims); err != nil {
		return Person{}, denied("what the provider " + p.host + " says cannot be read")
	}
	return p.person(verified.Subject, claims)
}

// take ends a login that was begun.
func (p *Provider) take(state, cookie string) (login, bool) {
	if state == "" || subtle.ConstantTimeCompare([]byte(state), []byte(cookie)) != 1 {
		return login{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l, ok := p.pending[state]
	delete(p.pending, state)
	return l, ok && time.Now().Before(l.end)
}

// person is who the claims are of, if they may come in.
func (p *Provider) person(subject string, claims map[string]any) (Person, error) {
	if isVerified, _ := claims["email_verified"].(bool); !isVerified {
		delete(claims, "email")
	}
	name, _ := claims["email"].(string)
	if name == "" {
		name = subject
	}
	name = tool.TruncateTo(name, 100) + " by " + p.host
	for _, r := range p.cfg.People {
		if r.fits(claims) {
			who, err := p.user(subject, claims)
			return Person{name, r.Role, who}, err
		}
	}
	return Person{}, denied(name + " may not come in").
		WithHint("whoever runs this kernel names you in its configuration of logins")
}

// user is for whom a login stands.
func (p *Provider) user(subject string, claims map[string]any) (who token.Person, err error) {
	switch p.cfg.User {
	case "":
		return who, nil
	case "sub": // it is unique at its provider alone
		who.User = subject + "@" + p.host
	case "email":
		who.User, _ = claims["email"].(string)
		who.User = strings.ToLower(who.User)
	default:
		who.User, _ = claims[p.cfg.User].(string)
	}
	if user.Check(who.User) != nil {
		return token.Person{}, denied("the provider " + p.host + " says no " + p.cfg.User +
			" that can name a user, and users are known by it here")
	}
	if full, _ := claims["name"].(string); user.IsText(full) {
		who.FullName = full
	}
	for _, team := range texts(claims[p.cfg.Teams]) {
		if len(who.Teams) < user.MaxTeams && user.Check(team) == nil && !slices.Contains(who.Teams, team) {
			who.Teams = append(who.Teams, team)
		}
	}
	return who, nil
}

// texts are the texts that a claim has.
func texts(claim any) (all []string) {
	switch value := claim.(type) {
	case string:
		return []string{value}
	case []any:
		for _, one := range value {
			if text, ok := one.(string); ok {
				all = append(all, text)
			}
		}
	}
	return all
}

func (r Rule) fits(claims map[string]any) bool {
	return slices.ContainsFunc(texts(claims[r.Claim]), func(text string) bool {
		return text == r.Value || r.Claim == "email" && strings.EqualFold(text, r.Value)
	})
}

func denied(message string) *tool.Error { return tool.Errorf("oidclogin", tool.Denied, "%s", message) }
