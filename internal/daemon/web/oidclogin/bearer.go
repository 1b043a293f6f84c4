package oidclogin

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"callgate/internal/token"
	"callgate/tool"
)

// # Programs
//
// A program comes with a JSON Web Token that the provider signed for this server: it names an audience of the
// configuration, is signed with an algorithm of it, is younger than it says, and has not expired. Its bearer is the
// user that it names, as in a login, and never the kernel's own. The role is that of the first rule that fits, else
// the least. It counts here and is sent nowhere else. The provider's keys are fetched when one is needed that is not
// known, and not more often than strangers who bring nonsense may cost.

// Bearers says what of what the provider signs counts.
type Bearers struct {
	Audience   []string      // of which a token names one
	Roles      []Rule        // the first that fits counts
	Default    token.Role    // where none fits; empty: viewer
	MCP        bool          // it is let in as an MCP client, too
	MaxAge     time.Duration // since it was issued; 0: an hour
	Algorithms []string      // of signatures; none: RS256
}

// asymmetric are the algorithms whose keys a provider publishes.
func asymmetric() []string {
	return []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384,
		oidc.PS512, oidc.EdDSA}
}

// check checks what a configuration says, and completes it.
func (b *Bearers) check(c Config) error {
	const op = "oidclogin.New"
	if b == nil {
		return nil
	}
	if b.Default == "" {
		b.Default = token.Viewer
	}
	if b.MaxAge == 0 {
		b.MaxAge = time.Hour
	}
	if len(b.Algorithms) == 0 {
		b.Algorithms = []string{oidc.RS256}
	}
	switch {
	case c.User == "":
		return tool.Errorf(op, tool.Invalid, "bearer: user is missing").
			WithHint("a program works for a user; say by which claim users are known: user: sub")
	case len(b.Audience) == 0 || slices.Contains(b.Audience, ""):
		return tool.Errorf(op, tool.Invalid, "bearer: audience is missing").
			WithHint("name what the provider calls this server: audience: [callgate]")
	case b.MaxAge < time.Minute || b.MaxAge > token.MaxBearerAge:
		return tool.Errorf(op, tool.Invalid, "bearer: max_age is %s, and must be from 1m to 24h", b.MaxAge)
	case !isRole(b.Default):
		return tool.Errorf(op, tool.Invalid, "bearer: the default is the role %q", tool.Truncate(string(b.Default))).
			WithHint("write viewer, operator, approver or admin")
	}
	for _, a := range b.Algorithms {
		if !slices.Contains(asymmetric(), a) {
			return tool.Errorf(op, tool.Invalid, "bearer: %q is no algorithm whose keys a provider publishes",
				tool.Truncate(a)).WithHint("write some of %s", strings.Join(asymmetric(), ", "))
		}
	}
	return checkRules("bearer.roles", b.Roles)
}

// TakesBearers reports whether programs may come with what the provider signed.
func (p *Provider) TakesBearers() bool { return p.cfg.Bearers != nil }

const (
	maxBearer = 16 << 10
	clockSkew = time.Minute // between the provider and here
)

// Bearer returns who brings a token of the provider. A client comes for MCP.
func (p *Provider) Bearer(ctx context.Context, signed string, isClient bool) (token.Bearer, error) {
	b := p.cfg.Bearers
	if len(signed) > maxBearer {
		return token.Bearer{}, token.UntrustedError("the token is too long for one of the provider " + p.host)
	}
	verifier, err := p.verifier(ctx)
	if err != nil {
		return token.Bearer{}, err
	}
	verified, err := verifier.Verify(oidc.ClientContext(ctx, p.client), signed)
	claims := map[string]any{}
	if err == nil {
		err = p.checkBearer(verified)
	}
	if err == nil {
		err = verified.Claims(&claims)
	}
	if err != nil {
		return token.Bearer{}, p.untrusted(err)
	}
	if isVerified, _ := claims["email_verified"].(bool); !isVerified {
		delete(claims, "email")
	}
	who, err := p.user(verified.Subject, claims)
	if err != nil {
		return token.Bearer{}, err
	}
	made := token.Bearer{
		Key: strings.Join([]string{p.cfg.Issuer, verified.Subject, "api"}, "\n"), Role: b.Default, Person: who,
		By:     tool.TruncateTo(who.User, 100) + " by " + p.host,
		Issued: verified.IssuedAt, Expires: verified.Expiry,
	}
	if last := verified.IssuedAt.Add(b.MaxAge); last.Before(made.Expires) {
		made.Expires = last
	}
	for _, r := range slices.Backward(b.Roles) {
		if r.fits(claims) {
			made.Role = r.Role
		}
	}
	if isClient {
		if !b.MCP {
			return token.Bearer{}, denied("tokens of the provider " + p.host + " are not for MCP clients here").
				WithHint("whoever runs this kernel allows it with bearer: {mcp: true} in its configuration of logins")
		}
		made.Role, made.Key = token.Client, strings.TrimSuffix(made.Key, "api")+"mcp"
	}
	return made, nil
}

// checkBearer checks what the verifier leaves to others.
func (p *Provider) checkBearer(t *oidc.IDToken) error {
	b, now := p.cfg.Bearers, time.Now()
	switch {
	case !slices.ContainsFunc(t.Audience, func(a string) bool { return slices.Contains(b.Audience, a) }):
		return errors.New("it is for another server")
	case t.Subject == "":
		return errors.New("it names nobody")
	case t.IssuedAt.IsZero() || t.IssuedAt.Unix() <= 0:
		return errors.New("it does not say when it was issued")
	case t.IssuedAt.After(now.Add(clockSkew)):
		return errors.New("it was issued in the future")
	case now.Sub(t.IssuedAt) > b.MaxAge:
		return errors.New("it was issued more than " + b.MaxAge.String() + " ago")
	}
	return nil
}

// untrusted is the error for a token that does not count. It quotes nothing that a stranger wrote.
func (p *Provider) untrusted(err error) error {
	var expired *oidc.TokenExpiredError
	reason := "it cannot be verified"
	switch text := err.Error(); {
	case errors.As(err, &expired):
		reason = "it has expired"
	case errors.Is(err, errTooOften), strings.Contains(text, "fetching keys"):
		return &tool.Error{Op: "oidclogin.Bearer", Kind: tool.Unavailable, Err: err,
			Message: "the keys of the provider " + p.host + " cannot be asked for now", Hint: "try again in a minute"}
	case strings.HasPrefix(text, "it "):
		reason = text
	case strings.Contains(text, "issued by a different provider"):
		reason = "another provider issued it"
	case strings.Contains(text, "unsupported algorithm"), strings.Contains(text, "signature algorithm"):
		reason = "it is not signed with an algorithm that counts here"
	}
	return token.UntrustedError("the token is not one that the provider " + p.host + " gave for this server: " + reason)
}

// verifier returns what checks signatures. The provider is asked for its description once.
func (p *Provider) verifier(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.keys != nil {
		return p.keys, nil
	}
	client := &http.Client{Timeout: askTime, Transport: &seldom{next: http.DefaultTransport}}
	found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), client), p.cfg.Issuer)
	if err != nil {
		return nil, &tool.Error{Op: "oidclogin.Bearer", Kind: tool.Unavailable, Err: err,
			Message: "the provider " + p.host + " cannot be asked for its keys", Hint: "look at its address, and try again"}
	}
	p.keys = found.Verifier(&oidc.Config{SkipClientIDCheck: true, SupportedSigningAlgs: p.cfg.Bearers.Algorithms})
	return p.keys, nil
}

// seldom bounds how often the provider is asked for its keys: whoever signs with a key that nobody knows has it asked.
type seldom struct {
	next http.RoundTripper

	mu    sync.Mutex
	left  int
	since time.Time
}

const mostFetches = 20 // in a minute

var errTooOften = errors.New("the provider was asked too often")

// RoundTrip sends a request, unless too many were sent.
func (s *seldom) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	if now := time.Now(); now.Sub(s.since) > time.Minute {
		s.left, s.since = mostFetches, now
	}
	s.left--
	refused := s.left < 0
	s.mu.Unlock()
	if refused {
		return nil, errTooOften
	}
	return s.next.RoundTrip(r)
}
