// Package oidclogin lets people log in by an OpenID Connect provider.
//
// # Law
//
// Who the provider says that somebody is gives a role only if the configuration names it: nobody comes in because they
// have an account there. A login is begun and ended in the same browser: everything that is known of one is in a
// cookie there, sealed with a key of this process, and what comes back carries the state that the cookie has. So logins
// that strangers begin and do not end cost nothing here. The provider's code is good once, by its own rule, and for
// the verifier in the cookie alone. The provider's word is a signed token for this
// client, with the nonce of that login. An address of mail counts only if the provider has verified it.
// Where the configuration says by which claim, a login stands for a user; who has no such claim does not come in.
// Programs come with what the provider signed by the law of bearer.go.
package oidclogin

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
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

// LoginTime is how long a login that was begun may take.
const LoginTime = 10 * time.Minute

const askTime = 20 * time.Second // in which the provider answers

// Provider lets people in. Make it with New.
type Provider struct {
	cfg    Config
	host   string
	client *http.Client
	seal   cipher.AEAD // of the cookies of logins that were begun

	forLogins, forBearers description
}

// login is one that was begun, as its browser's cookie has it.
type login struct {
	State, Nonce, Verifier, Redirect string
	End                              time.Time
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
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	p := &Provider{cfg: c, host: at.Hostname(), client: &http.Client{Timeout: askTime}, seal: seal}
	p.forLogins.client = p.client
	p.forBearers.client = &http.Client{Timeout: askTime, Transport: &seldom{next: http.DefaultTransport}}
	return p, nil
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

// Begin returns where to send a browser that wants to log in, and what its cookie keeps until it comes back. back is
// where the provider sends it then.
func (p *Provider) Begin(ctx context.Context, back string) (at, cookie string, err error) {
	provider, err := p.reach(ctx)
	if err != nil {
		return "", "", err
	}
	if p.cfg.Redirect != "" {
		back = p.cfg.Redirect
	}
	l := login{
		State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Redirect: back,
		End: time.Now().Add(LoginTime),
	}
	plain, err := json.Marshal(l)
	if err != nil {
		return "", "", err
	}
	cookie = base64.RawURLEncoding.EncodeToString(p.seal.Seal(nil, nil, plain, []byte(p.cfg.Issuer)))
	at = p.oauth(provider, back).AuthCodeURL(l.State, oidc.Nonce(l.Nonce), oauth2.S256ChallengeOption(l.Verifier))
	return at, cookie, nil
}

// reach returns the provider.
func (p *Provider) reach(ctx context.Context) (*oidc.Provider, error) {
	found, err := p.forLogins.get(ctx, p.cfg.Issuer)
	if err != nil {
		return nil, &tool.Error{Op: "oidclogin", Kind: tool.Unavailable, Err: err,
			Message: "the provider " + p.host + " cannot be asked",
			Hint:    "log in with callgate console, and look at its address"}
	}
	return found, nil
}

// description is what a provider says of itself. It is asked for once. Nothing is locked while the provider is asked,
// and each caller waits as long as its own request lasts.
type description struct {
	client *http.Client

	mu     sync.Mutex
	found  *oidc.Provider
	asking *asking // the request under way; nil: none is
}

type asking struct {
	done  chan struct{}
	found *oidc.Provider
	err   error
}

func (d *description) get(ctx context.Context, issuer string) (*oidc.Provider, error) {
	d.mu.Lock()
	found, now := d.found, d.asking
	if found == nil && now == nil {
		now = &asking{done: make(chan struct{})}
		d.asking = now
		// Its keys are asked for later with this context, so it must not end. The client has a timeout.
		go d.ask(oidc.ClientContext(context.WithoutCancel(ctx), d.client), issuer, now)
	}
	d.mu.Unlock()
	if found != nil {
		return found, nil
	}
	select {
	case <-now.done:
		return now.found, now.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (d *description) ask(ctx context.Context, issuer string, now *asking) {
	now.found, now.err = oidc.NewProvider(ctx, issuer)
	d.mu.Lock()
	d.found, d.asking = now.found, nil
	d.mu.Unlock()
	close(now.done)
}

func (p *Provider) oauth(provider *oidc.Provider, back string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.cfg.ClientID, ClientSecret: p.cfg.ClientSecret, RedirectURL: back, Endpoint: provider.Endpoint(),
		Scopes: []string{oidc.ScopeOpenID, "profile", "email", "groups"},
	}
}

// End returns who comes back from the provider with a code, if the browser's cookie has the state of the login.
func (p *Provider) End(ctx context.Context, query url.Values, cookie string) (Person, error) {
	l, ok := p.open(query.Get("state"), cookie)
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
	got, err := p.oauth(provider, l.Redirect).Exchange(ctx, query.Get("code"), oauth2.VerifierOption(l.Verifier))
	if err != nil {
		return Person{}, denied("the provider " + p.host + " gave nothing for the code")
	}
	raw, _ := got.Extra("id_token").(string)
	verified, err := provider.Verifier(&oidc.Config{ClientID: p.cfg.ClientID}).Verify(ctx, raw)
	if err != nil || subtle.ConstantTimeCompare([]byte(verified.Nonce), []byte(l.Nonce)) != 1 {
		return Person{}, denied("what the provider " + p.host + " says cannot be trusted")
	}
	claims := map[string]any{}
	if err := errors.Join(unambiguous(raw), verified.Claims(&claims)); err != nil {
		return Person{}, denied("what the provider " + p.host + " says cannot be read")
	}
	return p.person(verified.Subject, claims)
}

// open returns the login that a cookie keeps, if it is the one that comes back and has not ended.
func (p *Provider) open(state, cookie string) (l login, ok bool) {
	sealed, err := base64.RawURLEncoding.DecodeString(cookie)
	if err != nil {
		return l, false
	}
	plain, err := p.seal.Open(nil, nil, sealed, []byte(p.cfg.Issuer))
	if err != nil || json.Unmarshal(plain, &l) != nil {
		return login{}, false
	}
	same := subtle.ConstantTimeCompare([]byte(state), []byte(l.State)) == 1
	return l, same && l.State != "" && time.Now().Before(l.End)
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
		who.User = asciiLower(who.User)
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
		return text == r.Value || r.Claim == "email" && asciiLower(text) == asciiLower(r.Value)
	})
}

func denied(message string) *tool.Error { return tool.Errorf("oidclogin", tool.Denied, "%s", message) }
