package fetch_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"callgate/internal/module/fetch"
	"callgate/internal/module/fetch/fetchtest"
	"callgate/tool"
)

// newCall returns a call under settings that a test may change first.
func newCall(t *testing.T, change func(*fetch.Settings)) fetch.Call {
	t.Helper()
	s := &fetch.Settings{Timeout: 2, UserAgent: "tester", MaxDownload: 1 << 20,
		PrivateHosts: []string{"127.0.0.1", "localhost"}}
	if change != nil {
		change(s)
	}
	if err := s.Prepare("demo", false); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return fetch.Call{Op: "demo.get", Grant: tool.Grant{Root: root, Workspace: dir, Network: true}, Settings: s}
}

func TestURL(t *testing.T) {
	t.Parallel()
	c := newCall(t, nil)
	for name, row := range map[string]struct {
		text, want string
		kind       tool.Kind
		errHas     string
	}{
		"plain":      {"https://example.com/a?b=c", "https://example.com/a?b=c", "", ""},
		"spaces":     {"  https://example.com/a b ", "https://example.com/a%20b", "", ""},
		"a fragment": {"https://example.com/a#b", "https://example.com/a", "", ""},
		"private":    {"http://127.0.0.1:80/", "http://127.0.0.1/", "", ""},
		"canonical":  {"HTTPS://Bücher.example.:443/a/%2e%2e/%62", "https://xn--bcher-kva.example/b", "", ""},
		"odd spells": {"http://2130706433/", "", tool.Denied, "unusual spelling"},
		"no scheme":  {"example.com/a", "", tool.Invalid, "did you mean https://example.com/a?"},
		"no URL":     {"http://a b/", "", tool.Invalid, "is not a URL"},
		"a socket":   {"wss://example.com", "", tool.Invalid, "web sockets"},
		"a file":     {"file:///etc/passwd", "", tool.Denied, "scheme file"},
		"not public": {"http://10.0.0.1/", "", tool.Denied, "tools.modules.demo.constraints.private_hosts"},
		"empty":      {"", "", tool.Invalid, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, err := c.URL(row.text)
			if row.kind != "" {
				fetchtest.CheckError(t, err, row.kind, row.errHas)
				if e := new(tool.Error); !errors.As(err, &e) || e.Op != "demo.get" {
					t.Errorf("the error is of %q", e.Op)
				}
				return
			}
			if err != nil || u.String() != row.want {
				t.Errorf("%v, %v", u, err)
			}
		})
	}
}

func TestFailure(t *testing.T) {
	t.Parallel()
	c := newCall(t, nil)
	for name, row := range map[string]struct {
		err   error
		kind  tool.Kind
		texts []string
	}{
		"deadline":     {context.DeadlineExceeded, tool.Timeout, []string{"host did not answer within 1.5 seconds"}},
		"cancelled":    {context.Canceled, tool.Cancelled, []string{"cancelled"}},
		"refused":      {syscall.ECONNREFUSED, tool.Failed, []string{"host refused the connection", "check the address and the port"}},
		"no route":     {syscall.EHOSTUNREACH, tool.Failed, []string{"cannot be reached"}},
		"cut off":      {io.ErrUnexpectedEOF, tool.Failed, []string{"closed the connection before the answer was complete"}},
		"reset":        {syscall.ECONNRESET, tool.Failed, []string{"closed the connection"}},
		"no TLS":       {tls.RecordHeaderError{}, tool.Failed, []string{"does not speak TLS", "http://"}},
		"TLS to HTTP":  {errors.New("http: server gave HTTP response to HTTPS client"), tool.Failed, []string{"does not speak TLS"}},
		"another host": {certificate(x509.HostnameError{Certificate: &x509.Certificate{}}), tool.Failed, []string{"cannot be trusted", "another host"}},
		"expired":      {certificate(x509.CertificateInvalidError{Reason: x509.Expired}), tool.Failed, []string{"it has expired"}},
		"untrusted":    {certificate(x509.UnknownAuthorityError{}), tool.Failed, []string{"no authority"}},
		"something":    {errors.New("odd"), tool.Failed, []string{"there is no usable answer from host", "odd"}},
		"explained":    {tool.Errorf("netguard", tool.Denied, "it is denied").WithHint("ask"), tool.Denied, []string{"it is denied", "ask"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrapped := &url.Error{Op: "Get", URL: "http://host/?secret=hush", Err: fmt.Errorf("wrapped: %w", row.err)}
			got := c.Failure(t.Context(), "host", wrapped, 1500*time.Millisecond)
			fetchtest.CheckError(t, got, row.kind, row.texts...)
			if got.Op != "demo.get" || strings.Contains(got.Error(), "hush") {
				t.Errorf("%s: %v", got.Op, got)
			}
		})
	}
}

func certificate(err error) error { return &tls.CertificateVerificationError{Err: err} }

func TestSettings(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		settings fetch.Settings
		errHas   string
	}{
		"nothing":            {fetch.Settings{}, ""},
		"a URL as a host":    {fetch.Settings{AllowedHosts: []string{"https://example.com"}}, "write the host alone"},
		"a bad private host": {fetch.Settings{PrivateHosts: []string{"10.0.0.0/99"}}, "10.0.0.0/99"},
		"a bad denied host":  {fetch.Settings{DeniedHosts: []string{"a/b"}}, "a/b"},
		"a line end":         {fetch.Settings{UserAgent: "a\nb"}, "config.user_agent"},
	} {
		err := row.settings.Prepare("demo", false)
		if (err == nil) != (row.errHas == "") || err != nil && !strings.Contains(err.Error(), row.errHas) {
			t.Errorf("%s: %v, want %q", name, err, row.errHas)
		}
	}
	s := newCall(t, nil).Settings
	for address, want := range map[string]bool{
		"https://example.com/": true, "http://example.com/": false, "http://localhost:80/": true, "http://10.0.0.1/": false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.MaySendSecrets(u); got != want {
			t.Errorf("secrets to %s: %v", address, got)
		}
	}
	if got := s.TimeLimit(0); got != 2*time.Second {
		t.Errorf("the usual time is %v", got)
	}
	if got := s.TimeLimit(0.5); got != 500*time.Millisecond {
		t.Errorf("half a second is %v", got)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"": "try again later", "7": "try again after 7 seconds",
		"Mon, 06 May 2024 07:08:09 GMT": "try again after Mon, 06 May 2024 07:08:09 GMT",
	} {
		if got := fetch.RetryAfter(http.Header{"Retry-After": {header}}); got != want {
			t.Errorf("%q: %q", header, got)
		}
	}
	for status, want := range map[string]string{"418 I'm a teapot": "I'm a teapot", "418": "I'm a teapot",
		"299 Odd": "Odd"} {
		if got := fetch.StatusText(&http.Response{Status: status, StatusCode: 418}); got != want {
			t.Errorf("%q: %q", status, got)
		}
	}
}
