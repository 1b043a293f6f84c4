package openapi

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"callgate/internal/secret/scope"
	"callgate/tool"
)

// auth is what an operation is sent beside its arguments, so that the API lets it in.
type auth struct {
	parts  []authPart
	wanted string // what the document asks for and nobody gave, in words; "": nothing
}

// authPart is one security scheme, and the secret for it.
type authPart struct {
	scheme string // its name in the document
	kind   authKind
	in     string // header, query or cookie
	name   string // of the header, the parameter or the cookie
	secret string // the name of the secret
}

// authKind is how the value of a secret is written.
type authKind int

const (
	plainKey authKind = iota
	bearerToken
	basicLogin // the secret is user:password
)

// security chooses how an operation shows who calls it: the first of the ways the document
// names for which the app file names secrets.
func (b *builder) security(op *operation, base *url.URL) *auth {
	alternatives := b.doc.Security
	if op.Security != nil {
		alternatives = *op.Security
	}
	var wanted []string
	for _, way := range alternatives {
		if len(way) == 0 {
			wanted = nil // it may be called by anybody
			continue
		}
		parts, missing := b.parts(way)
		if len(missing) == 0 && b.main != nil && sameHost(b.main, base) {
			return &auth{parts: parts}
		}
		if len(missing) == 0 {
			missing = []string{"a credential, which is not sent to " + base.Host}
		}
		wanted = append(wanted, strings.Join(missing, " and "))
	}
	return &auth{wanted: tool.TruncateTo(strings.Join(wanted, ", or "), 300)}
}

// parts are the secrets for one way in, and what is missing of it.
func (b *builder) parts(way openapi3.SecurityRequirement) (parts []authPart, missing []string) {
	unnamed := 0
	for _, name := range slices.Sorted(maps.Keys(way)) {
		part, err := b.scheme(name)
		if err != nil {
			missing = append(missing, err.Error())
			continue
		}
		if part.secret = b.cfg.Credentials[name]; part.secret == "" {
			part.secret = b.cfg.Credential
			unnamed++
		}
		if part.secret == "" || unnamed > 1 {
			missing = append(missing, part.String())
		}
		parts = append(parts, part)
	}
	return parts, missing
}

// scheme reads a security scheme of the document.
func (b *builder) scheme(name string) (authPart, error) {
	part := authPart{scheme: tool.Truncate(name), in: "header", name: "Authorization"}
	var s *openapi3.SecurityScheme
	if b.doc.Components != nil {
		if ref := b.doc.Components.SecuritySchemes[name]; ref != nil {
			s = ref.Value
		}
	}
	if s == nil {
		return part, fmt.Errorf("the scheme %s, which the document does not describe", part.scheme)
	}
	switch scheme := strings.ToLower(s.Scheme); {
	case s.Type == "apiKey":
		part.in, part.name = s.In, s.Name
		if !slices.Contains([]string{"header", "query", "cookie"}, s.In) || s.Name == "" {
			return part, fmt.Errorf("the scheme %s, whose key has no place", part.scheme)
		}
	case s.Type == "http" && scheme == "bearer", s.Type == "oauth2", s.Type == "openIdConnect":
		part.kind = bearerToken
	case s.Type == "http" && scheme == "basic":
		part.kind = basicLogin
	default:
		return part, fmt.Errorf("the scheme %s (%s %s), which is not known here", part.scheme,
			tool.Truncate(s.Type), tool.Truncate(s.Scheme))
	}
	return part, nil
}

// String says in words what a part is.
func (p authPart) String() string {
	switch p.kind {
	case bearerToken:
		return "the scheme " + p.scheme + " (a bearer token)"
	case basicLogin:
		return "the scheme " + p.scheme + " (user:password)"
	}
	return fmt.Sprintf("the scheme %s (a key in the %s %s)", p.scheme, p.in, tool.Truncate(p.name))
}

// secrets are the names of the secrets that an operation is given.
func (a *auth) secrets() (names []string) {
	for _, p := range a.parts {
		names = append(names, p.secret)
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// sends reports whether a parameter is one that the credential is sent in.
func (a *auth) sends(in, name string) bool {
	return slices.ContainsFunc(a.parts, func(p authPart) bool {
		if p.in == "header" && in == "header" {
			return textproto.CanonicalMIMEHeaderKey(p.name) == textproto.CanonicalMIMEHeaderKey(name)
		}
		return p.in == in && p.name == name
	})
}

// apply puts the values of the secrets on a request.
func (a *auth) apply(r *http.Request, values map[string]string) error {
	for _, p := range a.parts {
		value := strings.TrimSpace(values[p.secret])
		if value == "" {
			return fmt.Errorf("the secret %s is empty", scope.InWords(p.secret, false))
		}
		switch p.kind {
		case bearerToken:
			value = "Bearer " + value
		case basicLogin:
			if !strings.Contains(value, ":") {
				return fmt.Errorf("the secret %s must be user:password", scope.InWords(p.secret, false))
			}
			value = "Basic " + base64.StdEncoding.EncodeToString([]byte(value))
		}
		if strings.ContainsAny(value, "\r\n\x00") {
			return fmt.Errorf("the secret %s holds more than one line", scope.InWords(p.secret, false))
		}
		switch p.in {
		case "header":
			r.Header.Set(p.name, value)
		case "cookie":
			r.AddCookie(&http.Cookie{Name: p.name, Value: value})
		default:
			if r.URL.RawQuery != "" {
				r.URL.RawQuery += "&"
			}
			r.URL.RawQuery += escape(p.name) + "=" + escape(value)
		}
	}
	return nil
}
