package remote_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"callgate/internal/source/mcp/remote"
	"callgate/internal/source/mcp/sdkerror"
	"callgate/tool"
)

// login is a token that can be renewed.
type login struct {
	token, next string
	err         error
	renewed     int
}

func (l *login) Token(context.Context) (string, error) { return l.token, l.err }

func (l *login) Renew(context.Context, string) (string, error) {
	l.renewed++
	return l.next, nil
}

// to is a transport to a handler.
func to(t *testing.T, h http.HandlerFunc, c remote.Config) *remote.Transport {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	c.Server, c.URL, c.Base = "far", u, remote.Dialer()
	return &remote.Transport{Config: c}
}

func post(t *remote.Transport, body string) (string, error) {
	resp, err := t.Client().Post(t.URL.String(), "application/json", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.Status + " " + string(data), err
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		login   *login
		headers map[string]string
		status  int // of an answer to a wrong token
		detail  string
		want    string
	}{
		{"good", &login{token: "good"}, nil, 401, "", "200 OK body"},
		{"renewed", &login{token: "stale", next: "good"}, nil, 401, "", "200 OK body"},
		{"renewed in vain", &login{token: "stale", next: "bad"}, nil, 401, "", "no longer valid (run: callgate mcp login far)"},
		{"cannot be renewed", &login{token: "stale"}, nil, 401, "", "no longer valid"},
		{"none", &login{}, nil, 401, "", "needs a login, and there is none (run: callgate mcp login far)"},
		{"no login at all", nil, nil, 401, "", "needs a login"},
		{"a header of one's own", nil, map[string]string{"authorization": "Bearer mine"}, 401, "", "refuses the Authorization header"},
		{"too narrow", &login{token: "narrow"}, nil, 403, `Bearer error="insufficient_scope", scope="write"`, "does not reach far enough; it asks for: write"},
		{"forbidden", &login{token: "narrow"}, nil, 403, "", "403 Forbidden "},
		{"unreadable", &login{err: errors.New("no disk")}, nil, 401, "", "no disk"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := remote.Config{Headers: c.headers}
			if c.login != nil {
				cfg.Login = c.login
			}
			tr := to(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer good" {
					w.Header().Set("WWW-Authenticate", c.detail)
					w.WriteHeader(c.status)
					return
				}
				io.Copy(w, r.Body)
			}, cfg)
			got, err := post(tr, "body")
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("got %q; want %q", got, c.want)
			}
			var e *tool.Error
			if c.status == 401 && err != nil && c.name != "unreadable" && (!errors.As(err, &e) || e.Kind != tool.Denied) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"application/json", "text/event-stream"} {
		tr := to(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			chunk := bytes.Repeat([]byte("x"), 1<<20)
			for range remote.MaxBody>>20 + 1 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}, remote.Config{})
		resp, err := tr.Client().Get(tr.URL.String())
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if bounded := kind == "application/json"; bounded != (err != nil) || bounded && n != remote.MaxBody {
			t.Errorf("of %s came %d bytes, %v", kind, n, err)
		}
	}
}

func TestOneOriginOnly(t *testing.T) {
	t.Parallel()
	tr := to(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) }, remote.Config{})
	for _, other := range []string{"http://other.invalid/", strings.Replace(tr.URL.String(), "http:", "https:", 1), "http://" + tr.URL.Hostname() + "/"} {
		if _, err := tr.Client().Get(other); err == nil || !strings.Contains(err.Error(), "is refused") {
			t.Errorf("%s: %v", other, err)
		}
	}
	if tr.LastPostStatus() != 0 {
		t.Errorf("nothing was posted, and the answer was %d", tr.LastPostStatus())
	}
	if _, err := post(tr, "x"); err != nil || tr.LastPostStatus() != http.StatusMethodNotAllowed {
		t.Errorf("posted with %d, %v", tr.LastPostStatus(), err)
	}
}

// A session that the server no longer has is an error of the one request that
// names it: the server did not take it.
func TestSessionsThatAreGone(t *testing.T) {
	t.Parallel()
	tr := to(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNotFound) }, remote.Config{})
	for _, c := range []struct {
		name, method, session string
		gone                  bool
	}{
		{"a request of a session", http.MethodPost, "s1", true},
		{"a request without a session", http.MethodPost, "", false},
		{"a stream of a session", http.MethodGet, "s1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), c.method, tr.URL.String(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.session != "" {
				req.Header.Set("Mcp-Session-Id", c.session)
			}
			resp, err := tr.Client().Do(req)
			if err == nil {
				resp.Body.Close()
			}
			if errors.Is(err, remote.ErrSessionGone) != c.gone {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestNotSent: a server that nobody could reach was sent nothing; one that broke the
// connection may have been.
func TestNotSent(t *testing.T) {
	t.Parallel()
	broken := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer broken.Close()
	for address, want := range map[string]bool{"http://127.0.0.1:1/": true, broken.URL: false} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		tr := &remote.Transport{Config: remote.Config{Server: "far", URL: u, Base: remote.Dialer()}}
		_, err = tr.Client().Post(address, "application/json", strings.NewReader("{}"))
		if got := errors.Is(err, sdkerror.ErrNotSent); err == nil || got != want {
			t.Errorf("%s: not sent %v: %v", address, got, err)
		}
	}
}
