package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"callgate/internal/daemon/hosts"
	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/protocol"
	"callgate/internal/token"
	"callgate/tool"
)

// CSRFHeader carries the CSRF token of a request that a page makes; CSRFField is the field of its
// forms.
const (
	CSRFHeader = "Callgate-CSRF"
	CSRFField  = "csrf"
)

// whoIs is authenticate, also for requests that a page makes for the person who looks at it: they have
// their login already, and were checked when the page was asked for.
func (s *Server) whoIs(r *http.Request, role token.Role) (token.Token, error) {
	login, ok := route.LoginOf(r)
	if !ok {
		return s.authenticate(r, role)
	}
	if !login.Role.Includes(role) {
		return login.Token, tool.Errorf("web", tool.Denied, "the token %s has the role %s, and this needs %s",
			login.Name, login.Role, role)
	}
	return login.Token, nil
}

// authenticate returns the token that a request brings, if it may do what a role may.
func (s *Server) authenticate(r *http.Request, role token.Role) (token.Token, error) {
	value, isCookie := s.valueOf(r)
	if value == "" {
		return token.Token{}, missing()
	}
	use := s.opt.Tokens.Use
	if isCookie {
		use = s.opt.Tokens.UseLogin
	}
	who, err := use(r.Context(), value, role)
	if err != nil {
		return token.Token{}, err
	}
	if isCookie && !isSafe(r.Method) && !hmac.Equal([]byte(csrfOf(r)), []byte(csrfFor(value))) {
		return token.Token{}, tool.Errorf("web", tool.Denied, "the request does not carry the CSRF token of its page").
			WithHint("load the page again")
	}
	return who, nil
}

func missing() error {
	return tool.Errorf("web", tool.Denied, "this needs a token").
		WithHint("send Authorization: Bearer TOKEN; a human makes one: callgate token create --role operator")
}

// valueOf returns the token's value that a request brings, and whether it is a browser's cookie.
func (s *Server) valueOf(r *http.Request) (value string, isCookie bool) {
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, value, _ := strings.Cut(header, " ")
		if strings.EqualFold(scheme, "Bearer") {
			return strings.TrimSpace(value), false
		}
		return "", false
	}
	if c, err := r.Cookie(s.cookieName()); err == nil && s.isOwnName(r.Host) {
		return c.Value, true
	}
	return "", false
}

// isOwnName reports whether a browser that calls this server by a name calls no other by it. A cookie is
// sent to every port of its host: whatever else listens on this machine, such as a page that an agent
// serves, would be given it at 127.0.0.1 or localhost. So a browser comes by a name that nobody else knows,
// and which is this machine's as every name below localhost is, or by one that the kernel's user has listed.
func (s *Server) isOwnName(host string) bool {
	return s.opt.TLS != nil || hosts.IsListed(host, append([]string{s.name}, s.opt.Hosts...))
}

func isSafe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// csrfFor is the CSRF token of a login: only who has the cookie, or was sent a page for it, has it.
func csrfFor(value string) string {
	mac := hmac.New(sha256.New, []byte(value))
	mac.Write([]byte("callgate console forms"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// csrfOf is the CSRF token that a request carries. Only forms are read for it: their bodies are small.
func csrfOf(r *http.Request) string {
	if header := r.Header.Get(CSRFHeader); header != "" {
		return header
	}
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		return ""
	}
	r.Body = http.MaxBytesReader(nil, r.Body, maxForm)
	return r.PostFormValue(CSRFField)
}

// maxForm is the size of a form at most.
const maxForm = 8 << 20

// refuse answers a request that may not have what it asks for.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if tool.KindOf(err) == tool.Denied {
		s.refusals.add(r, err)
	}
	var untrusted *token.Untrusted
	if errors.As(err, &untrusted) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="callgate", error="invalid_token"`)
		route.FailWith(w, http.StatusUnauthorized, err)
		return
	}
	if _, cookie := s.valueOf(r); !cookie && r.Header.Get("Authorization") == "" && tool.KindOf(err) == tool.Denied {
		w.Header().Set("WWW-Authenticate", `Bearer realm="callgate"`)
		route.FailWith(w, http.StatusUnauthorized, err)
		return
	}
	route.Fail(w, err)
}

// refusals puts refusals on record, and does not let a stranger fill the journal: one of each reason in a while, with
// how many there were since the last. What somebody with a token is refused is not lost among the guesses of strangers,
// for the reason names the token.
type refusals struct {
	note func(string)

	mu     sync.Mutex
	recent map[string]*recentRefusals // by reason
}

type recentRefusals struct {
	next  time.Time
	since int // not on record yet
}

const (
	refusalPause = 5 * time.Second
	maxReasons   = 1000
)

func (f *refusals) add(r *http.Request, err error) {
	if f.note == nil {
		return
	}
	reason := tool.Truncate(err.Error())
	others, isDue := f.count(reason, time.Now())
	if !isDue {
		return
	}
	from, _, _ := net.SplitHostPort(r.RemoteAddr)
	// The path is written as it was sent: a decoded one could break the line.
	text := fmt.Sprintf("refused over the network: %s %s from %s: %s",
		r.Method, tool.Truncate(r.URL.EscapedPath()), from, reason)
	if others > 0 {
		text += fmt.Sprintf(" (and %d more since the last of these)", others)
	}
	f.note(text)
}

// count counts a refusal, and says whether it is put on record, and for how many others.
func (f *refusals) count(reason string, now time.Time) (others int, isDue bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.recent[reason]
	if one == nil {
		if f.recent == nil || len(f.recent) >= maxReasons {
			f.recent = map[string]*recentRefusals{}
		}
		one = &recentRefusals{}
		f.recent[reason] = one
	}
	if now.Before(one.next) {
		one.since++
		return 0, false
	}
	others = one.since
	one.next, one.since = now.Add(refusalPause), 0
	return others, true
}

// hasToken reports whether a text could be the value of a token: nothing else is put into a cookie.
func hasToken(value string) bool { return strings.HasPrefix(value, protocol.TokenPrefix) }
