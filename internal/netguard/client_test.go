package netguard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"callgate/internal/netguard"
	"callgate/tool"
)

// echo starts a server that redirects to the query's "to", and otherwise writes
// the headers of the request.
func echo(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			status := http.StatusFound
			if r.URL.Query().Get("keep") != "" {
				status = http.StatusTemporaryRedirect
			}
			http.Redirect(w, r, to, status)
			return
		}
		fmt.Fprintln(w, r.Method)
		_ = r.Header.Write(w)
	}))
	t.Cleanup(s.Close)
	return s
}

func send(client *http.Client, method, url, body string) (string, error) {
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header = http.Header{
		"Authorization": {"Bearer hush"}, "Cookie": {"a=hush"}, "X-Api-Key": {"hush"}, "x-odd": {"hush"},
		"User-Agent": {"tester"}, "Accept": {"text/plain"},
	}
	resp, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var b strings.Builder
	fmt.Fprintln(&b, resp.StatusCode)
	buf := make([]byte, 4096)
	for {
		n, err := resp.Body.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			return b.String(), nil
		}
	}
}

func redirect(from, to, extra string) string {
	return from + "/?to=" + url.QueryEscape(to) + extra
}

func TestSecretsStayWithTheirHost(t *testing.T) {
	t.Parallel()
	s := echo(t)
	other := strings.Replace(s.URL, "127.0.0.1", "localhost", 1) // another host, the same server
	client := newGuard(t, netguard.Rules{Private: []string{"127.0.0.1", "localhost"}}).Client(5)
	defer client.CloseIdleConnections()
	for name, c := range map[string]struct {
		url    string
		secret bool
	}{
		"no redirect":       {s.URL, true},
		"the same host":     {redirect(s.URL, "/", ""), true},
		"another host":      {redirect(s.URL, other, ""), false},
		"there and back":    {redirect(s.URL, redirect(other, s.URL, ""), ""), false},
		"another port":      {redirect(s.URL, echo(t).URL, ""), false},
		"by way of another": {redirect(s.URL, redirect(other, "/", ""), ""), false},
	} {
		got, err := send(client, "GET", c.url, "")
		if err != nil || strings.Contains(got, "hush") != c.secret {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
		if !strings.Contains(got, "tester") || !strings.Contains(got, "text/plain") ||
			strings.Contains(got, "Referer: http") && !c.secret {
			t.Errorf("%s: harmless headers were lost, or the origin was sent:\n%s", name, got)
		}
	}
}

func TestChangesStayWithTheirHost(t *testing.T) {
	t.Parallel()
	s := echo(t)
	other := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	client := newGuard(t, netguard.Rules{Private: []string{"127.0.0.1", "localhost"}}).Client(5)
	defer client.CloseIdleConnections()
	if got, err := send(client, "POST", redirect(s.URL, "/", "&keep=1"), "body"); err != nil ||
		!strings.Contains(got, "POST") {
		t.Errorf("on the same host: %v %s", err, got)
	}
	if _, err := send(client, "POST", redirect(s.URL, other, "&keep=1"), "body"); tool.KindOf(err) != tool.Denied ||
		!strings.Contains(err.Error(), "another host") {
		t.Errorf("a POST to another host: %v", err)
	}
	if got, err := send(client, "POST", redirect(s.URL, other, ""), "body"); err != nil || !strings.Contains(got, "GET") {
		t.Errorf("a POST that becomes a GET: %v %s", err, got)
	}
}

func TestRedirectLimits(t *testing.T) {
	t.Parallel()
	s := echo(t)
	g := newGuard(t, netguard.Rules{Private: []string{"127.0.0.1"}})
	client := g.Client(3)
	defer client.CloseIdleConnections()
	chain := func(n int) string {
		url := s.URL
		for range n {
			url = redirect(s.URL, url, "")
		}
		return url
	}
	if _, err := send(client, "GET", chain(3), ""); err != nil {
		t.Errorf("three of three: %v", err)
	}
	if _, err := send(client, "GET", chain(4), ""); tool.KindOf(err) != tool.Failed ||
		!strings.Contains(err.Error(), "3 redirects were followed") {
		t.Errorf("four of three: %v", err)
	}
	none := g.Client(0)
	defer none.CloseIdleConnections()
	if got, err := send(none, "GET", chain(1), ""); err != nil || !strings.HasPrefix(got, "302") {
		t.Errorf("none allowed: %v %s", err, got)
	}
}

func TestDowngrade(t *testing.T) {
	t.Parallel()
	s := echo(t)
	secure := httptest.NewTLSServer(s.Config.Handler)
	defer secure.Close()
	for _, allowed := range []bool{false, true} {
		g := newGuard(t, netguard.Rules{Private: []string{"127.0.0.1"}, Downgrade: allowed})
		transport := g.Transport()
		transport.TLSClientConfig = secure.Client().Transport.(*http.Transport).TLSClientConfig
		client := &http.Client{Transport: transport, CheckRedirect: g.Redirects(3)}
		_, err := send(client, "GET", redirect(secure.URL, s.URL, ""), "")
		if allowed != (err == nil) || !allowed &&
			(tool.KindOf(err) != tool.Denied || !strings.Contains(err.Error(), "plain http")) {
			t.Errorf("allowed %v: %v", allowed, err)
		}
		client.CloseIdleConnections()
	}
}

// A proxy of the environment would connect in the guard's place.
func TestNoProxyOfTheEnvironment(t *testing.T) {
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer s.Close()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"} {
		t.Setenv(name, s.URL)
	}
	client := newGuard(t, netguard.Rules{Resolver: fixed{"10.0.0.1"}}).Client(1)
	if _, err := send(client, "GET", "http://example.com/", ""); tool.KindOf(err) != tool.Denied || asked.Load() != 0 {
		t.Errorf("asked %d times, %v", asked.Load(), err)
	}
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		fmt.Fprint(w, r.Proto)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	transport := newGuard(t, netguard.Rules{Private: []string{"127.0.0.1"}}).Transport()
	transport.TLSClientConfig.RootCAs = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	client := &http.Client{Transport: transport}
	defer client.CloseIdleConnections()
	if got, err := send(client, "GET", s.URL, ""); err != nil || !strings.Contains(got, "HTTP/2.0") {
		t.Errorf("%s, %v", got, err)
	}
}
