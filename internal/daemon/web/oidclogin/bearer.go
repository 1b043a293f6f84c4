package oidclogin

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

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
//
// One audience is for one face. An MCP client keeps its token where the agent that it serves can read it, so that
// token must not be able to approve what the agent asks. The audiences of MCP clients and those of the API are
// therefore disjoint, and a token that names one of each is refused at both faces.

// Bearers states which tokens of the provider count.
type Bearers struct {
	Audience   []string      // of the API: a token for it names one of these
	Roles      []Rule        // the first that fits counts
	Default    token.Role    // where none fits; empty: viewer
	MCP        []string      // the audiences of MCP clients; none: no MCP client comes in with such a token
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
	case slices.Contains(b.MCP, ""):
		return tool.Errorf(op, tool.Invalid, "bearer: mcp names an empty audience").WithHint("%s", mcpLine)
	case slices.ContainsFunc(b.MCP, func(a string) bool { return slices.Contains(b.Audience, a) }):
		return tool.Errorf(op, tool.Invalid, "bearer: audience and mcp share an audience, so an agent that holds the "+
			"token of its MCP client could approve its own calls").WithHint("%s", mcpLine)
	case slices.Contains(b.Audience, c.ClientID) || slices.Contains(b.MCP, c.ClientID):
		return tool.Errorf(op, tool.Invalid, "bearer: the audience %q is the client_id, so the ID token of every login "+
			"would be a bearer token", tool.Truncate(c.ClientID)).
			WithHint("register an audience for this server at the provider, and write that: audience: [callgate-api]")
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

// mcpLine mends a configuration whose MCP clients have no audience of their own.
const mcpLine = "register another audience for MCP clients at the provider, and write that: mcp: [callgate-mcp]"

// TakesBearers reports whether programs may come with what the provider signed.
func (p *Provider) TakesBearers() bool { return p.cfg.Bearers != nil }

const (
	maxBearer = 16 << 10
	clockSkew = token.ClockSkew
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
	claims := map[string]any{}
	err = checkType(signed)
	var verified *oidc.IDToken
	if err == nil {
		verified, err = verifier.Verify(oidc.ClientContext(ctx, p.client), signed)
	}
	if err == nil {
		err = unambiguous(signed)
	}
	if err == nil {
		err = verified.Claims(&claims)
	}
	if err == nil {
		err = p.checkBearer(verified, claims)
	}
	if err == nil {
		err = p.checkAudience(verified.Audience, isClient)
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
		// "api" is part of the key since the days when there was one for each face: what was opened stays theirs.
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
		made.Role = token.Client
	}
	return made, nil
}

// checkAudience checks that a token is for the face at which it is brought, and for no other.
func (p *Provider) checkAudience(named []string, isClient bool) error {
	b := p.cfg.Bearers
	names := func(those []string) bool {
		return slices.ContainsFunc(named, func(a string) bool { return slices.Contains(those, a) })
	}
	forAPI, forMCP := names(b.Audience), names(b.MCP)
	switch {
	case forAPI && forMCP:
		return errors.New("it is for the API and for MCP clients, and a token counts at one of them")
	case isClient && len(b.MCP) == 0:
		return errors.New("it is not for MCP clients: the configuration of logins names no audience for them (bearer.mcp)")
	case isClient && forAPI:
		return errors.New("it is for the API, and an MCP client needs one with another audience")
	case !isClient && forMCP:
		return errors.New("it is for an MCP client, and does not count at the API")
	case !forAPI && !forMCP:
		return errors.New("it is for another server")
	}
	return nil
}

// checkBearer checks what the verifier leaves to others.
func (p *Provider) checkBearer(t *oidc.IDToken, claims map[string]any) error {
	b, now := p.cfg.Bearers, time.Now()
	notBefore, _ := claims["nbf"].(float64)
	switch {
	case t.Subject == "":
		return errors.New("it names nobody")
	case t.IssuedAt.IsZero() || t.IssuedAt.Unix() <= 0:
		return errors.New("it does not say when it was issued")
	case t.IssuedAt.After(now.Add(clockSkew)):
		return errors.New("it was issued in the future")
	case notBefore > float64(now.Add(clockSkew).Unix()): // the library allows five minutes
		return errors.New("it does not count yet")
	case now.Sub(t.IssuedAt) > b.MaxAge:
		return errors.New("it was issued more than " + b.MaxAge.String() + " ago")
	}
	return nil
}

// checkType refuses a token that says of itself that it is something else than a token for access, such as the message
// of a logout that the same keys sign.
func checkType(signed string) error {
	head, _, _ := strings.Cut(signed, ".")
	data, err := base64.RawURLEncoding.DecodeString(head)
	var header struct {
		Type string `json:"typ"`
	}
	if err != nil || json.Unmarshal(data, &header) != nil {
		return errors.New("it cannot be read")
	}
	kind := strings.TrimPrefix(asciiLower(header.Type), "application/")
	if !slices.Contains([]string{"", "jwt", "at+jwt"}, kind) {
		return errors.New("it is no token for access, by its typ")
	}
	return nil
}

// unambiguous returns an error if two names of claims differ in case alone: the libraries that read claims ignore
// case, so a name that a stranger chose could take the place of one that the provider sets.
func unambiguous(signed string) error {
	parts := strings.Split(signed, ".")
	if len(parts) != 3 {
		return errors.New("it cannot be read")
	}
	data, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return errors.New("it cannot be read")
	}
	seen := map[string]bool{}
	in := json.NewDecoder(bytes.NewReader(data))
	if open, err := in.Token(); err != nil || open != json.Delim('{') {
		return errors.New("it cannot be read")
	}
	for in.More() {
		name, err := in.Token()
		var skipped json.RawMessage
		if err != nil || in.Decode(&skipped) != nil {
			return errors.New("it cannot be read")
		}
		folded := strings.Map(smallestFold, name.(string))
		if seen[folded] {
			return errors.New("it has two claims of one name")
		}
		seen[folded] = true
	}
	return nil
}

// smallestFold is the smallest of the characters that are the same but for their case, as encoding/json folds names.
func smallestFold(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}

// asciiLower is a text with the letters A to Z in lower case, and no other changed: to Unicode, the sign for Kelvin is
// a k.
func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
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

// verifier returns what checks signatures. The provider is asked for its description once, and nothing is locked
// meanwhile.
func (p *Provider) verifier(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	found, err := p.forBearers.get(ctx, p.cfg.Issuer)
	if err != nil {
		return nil, &tool.Error{Op: "oidclogin.Bearer", Kind: tool.Unavailable, Err: err,
			Message: "the provider " + p.host + " cannot be asked for its keys", Hint: "look at its address, and try again"}
	}
	return found.Verifier(&oidc.Config{SkipClientIDCheck: true, SupportedSigningAlgs: p.cfg.Bearers.Algorithms}), nil
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
