package preview

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/module/fetch/fetchtest"
	"callgate/tool"
)

type block = fetchtest.Block

func write(t *testing.T, b *fetchtest.Bench, name, text string) {
	t.Helper()
	file := filepath.Join(b.Dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// open opens a preview, and returns it and a browser that came by its link.
func open(t *testing.T, b *fetchtest.Bench, name, args string) (made, *http.Client) {
	t.Helper()
	var m made
	if err := json.Unmarshal(call(t, b, name, args).Data, &m); err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return m, newBrowser(t, jar)
}

// newBrowser is a client to which every name ending in .localhost is this machine.
func newBrowser(t *testing.T, jar http.CookieJar) *http.Client {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+port)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Jar: jar, Transport: transport}
}

// get returns the status and the body of a page.
func get(t *testing.T, c *http.Client, address string) (int, string) {
	t.Helper()
	resp, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// at is an address of a preview without its secret.
func at(t *testing.T, link, path string) string {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	return "http://" + u.Host + path
}

func TestPublish(t *testing.T) {
	t.Parallel()
	b := fetchtest.Open(t, Module(), block{}, block{})
	write(t, b, "dist/index.html", "<h1>the bridge</h1>")
	write(t, b, "dist/plans/a & b.txt", "stones")
	write(t, b, "dist/.env", "KEY=1")
	write(t, b, "secret.txt", "outside of the folder")
	write(t, b, "closed/key", "the kernel's")
	closed, err := os.Stat(filepath.Join(b.Dir, "closed"))
	if err != nil {
		t.Fatal(err)
	}
	b.Grant.HiddenFiles, b.Grant.HiddenPaths = []os.FileInfo{closed}, []string{filepath.Join(b.Dir, "closed")}
	write(t, b, ".git/config", "the repository's")
	write(t, b, "dist/linked/x", "")
	for name, to := range map[string]string{"d": "../.git", "linked/index.html": "../../secret.txt", "up": "../secret.txt", "away": "/etc/passwd", "in": "../closed/key", "dot": ".env"} {
		if err := os.Symlink(to, filepath.Join(b.Dir, "dist", name)); err != nil {
			t.Fatal(err)
		}
	}
	m, browser := open(t, b, "publish", `{"path": "dist"}`)
	if status, text := get(t, browser, m.Link); status != 200 || text != "<h1>the bridge</h1>" {
		t.Errorf("the link shows %d %s", status, text)
	}
	for path, want := range map[string]string{
		"/index.html":          "the bridge",
		"/plans":               "a &amp; b.txt",
		"/plans/a%20&%20b.txt": "stones",
		"/up":                  "404",
		"/d/config":            "404",    // behind a link to a folder
		"/linked/":             "linked", // its page is a link: the folder is listed
		"/.env":                "404",
		"/dot":                 "404",
		"/away":                "404",
		"/in":                  "404",
		"/nothing":             "404",
		"/../secret.txt":       "404",
		"/%2e%2e/secret.txt":   "404",
		"/plans/..%2f.env":     "404",
	} {
		if _, text := get(t, browser, at(t, m.Link, path)); !strings.Contains(text, want) {
			t.Errorf("%s shows %s, not %s", path, text, want)
		}
	}
	resp, err := browser.Post(at(t, m.Link, "/index.html"), "text/plain", strings.NewReader("x"))
	if err != nil || resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a page is sent something: %v %v", resp, err)
	}
	_ = resp.Body.Close()
	if e := fail(t, b, "publish", `{"path": "../x"}`); tool.KindOf(e) != tool.Denied {
		t.Errorf("outside of the workspace: %v", e)
	}
	if e := fail(t, b, "publish", `{"path": "secret.txt"}`); tool.KindOf(e) != tool.Invalid {
		t.Errorf("a file: %v", e)
	}
}

// Without the link nobody gets in, by no name of the machine, and not after the end.
func TestStrangers(t *testing.T) {
	t.Parallel()
	b := fetchtest.Open(t, Module(), block{}, block{})
	write(t, b, "index.html", "mine")
	m, browser := open(t, b, "publish", `{}`)
	stranger := newBrowser(t, nil)
	if status, text := get(t, stranger, at(t, m.Link, "/")); status != http.StatusForbidden || strings.Contains(text, "mine") {
		t.Errorf("a stranger is shown %d %s", status, text)
	}
	if status, _ := get(t, stranger, at(t, m.Link, "/?preview=wrong")); status != http.StatusForbidden {
		t.Errorf("a wrong secret: %d", status)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, m.Link, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"evil.example:80", "localhost:" + req.URL.Port(), "127.0.0.1:" + req.URL.Port()} {
		req.Host = host
		resp, err := stranger.Do(req)
		if err != nil || resp.StatusCode != http.StatusMisdirectedRequest || len(resp.Cookies()) > 0 {
			t.Errorf("as %s: %v %v", host, resp, err)
		}
		_ = resp.Body.Close()
	}
	get(t, browser, m.Link)
	b.Caller.User = "other"
	if e := fail(t, b, "detach", `{"id": "`+m.ID+`"}`); tool.KindOf(e) != tool.NotFound {
		t.Errorf("another user ends it: %v", e)
	}
	b.Caller.User = "u"
	if r := call(t, b, "list", `{}`); !strings.Contains(string(r.Data), m.ID) {
		t.Errorf("it is not listed: %s", r.Data)
	}
	call(t, b, "detach", `{"id": "`+m.ID+`"}`)
	if _, err := browser.Get(m.Link); err == nil {
		t.Error("it goes on after its end")
	}
}

func TestProxy(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "own", Value: "1"})
		_, _ = io.WriteString(w, r.Method+" "+r.URL.Path+" "+r.Host+" "+r.Header.Get("Cookie"))
	}))
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	b := fetchtest.Open(t, Module(), block{}, block{"allowed_ports": []any{u.Port()}})
	m, browser := open(t, b, "proxy", `{"port": `+u.Port()+`}`)
	get(t, browser, m.Link)
	if _, text := get(t, browser, at(t, m.Link, "/a/b")); text != "GET /a/b localhost:"+u.Port()+" own=1" {
		t.Errorf("the server is asked %q", text)
	}
	server.Close()
	if status, text := get(t, browser, at(t, m.Link, "/")); status != http.StatusBadGateway || !strings.Contains(text, "no server listens") {
		t.Errorf("a server that is gone: %d %s", status, text)
	}
	if e := fail(t, b, "proxy", `{"port": 1}`); tool.KindOf(e) != tool.Denied {
		t.Errorf("a port that is not allowed: %v", e)
	}
	m2 := Module()
	if _, err := m2.Read(nil, map[string]any{"allowed_ports": []any{"80-70"}}); err == nil || !strings.Contains(err.Error(), "80-70") {
		t.Errorf("a wrong range: %v", err)
	}
}

func TestPreviewsAreBoundedAndEnd(t *testing.T) {
	t.Parallel()
	b := fetchtest.Open(t, Module(), block{"minutes": 2}, block{})
	var last made
	for range maxOfUser {
		last, _ = open(t, b, "publish", `{}`)
	}
	if e := fail(t, b, "publish", `{}`); tool.KindOf(e) != tool.Conflict {
		t.Errorf("one too many: %v", e)
	}
	if err := b.Instance.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := newBrowser(t, nil).Get(last.Link); err == nil {
		t.Error("it outlives the kernel")
	}
	if e := fail(t, b, "publish", `{}`); tool.KindOf(e) != tool.Unavailable {
		t.Errorf("after the end: %v", e)
	}
}

// One user's previews keep no other user out.
func TestPreviewsOfUsers(t *testing.T) {
	t.Parallel()
	s := &shelf{running: map[string]*preview{}}
	t.Cleanup(func() { _ = s.close() })
	begin := func(user string) error {
		_, err := s.begin(t.Context(), caller{settings: defaultSettings(), by: tool.Principal{User: user}}, 1, shown{
			words: "nothing", handler: http.NotFoundHandler(), release: func() {},
		})
		return err
	}
	for range maxOfUser {
		if err := begin("@ada"); err != nil {
			t.Fatal(err)
		}
	}
	if err := begin("@ada"); tool.KindOf(err) != tool.Conflict {
		t.Errorf("one too many of a user: %v", err)
	}
	if err := begin("@bob"); err != nil {
		t.Errorf("another user: %v", err)
	}
}

func TestItsTimeEnds(t *testing.T) {
	t.Parallel()
	s, released := &shelf{running: map[string]*preview{}}, make(chan struct{})
	p, err := s.begin(t.Context(), caller{settings: defaultSettings()}, 3, shown{
		words: "nothing", handler: http.NotFoundHandler(), release: func() { close(released) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(p.until); left > 3*time.Minute || left < 2*time.Minute {
		t.Errorf("it lasts for %s", left)
	}
	p.timer.Reset(0) // its time has come
	<-released
	if _, err := newBrowser(t, nil).Get(p.link); err == nil {
		t.Error("it goes on after its time")
	}
	s.end(p) // once more does nothing
}

func call(t *testing.T, b *fetchtest.Bench, name, args string) *tool.Result {
	t.Helper()
	r, err := b.Call(name, json.RawMessage(args))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func fail(t *testing.T, b *fetchtest.Bench, name, args string) error {
	t.Helper()
	_, err := b.Call(name, json.RawMessage(args))
	return err
}
