package console_test

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"callgate/internal/client"
	"callgate/internal/daemon/console"
	"callgate/internal/daemon/httpapi"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol"
	"callgate/tool"
)

func TestMain(m *testing.M) { kerneltest.Main(m, nil) }

// site is a console over a real kernel, and a browser without a script.
type site struct {
	testing.TB
	*client.Client
	kernel    *kernel.Kernel
	workspace string
	server    *httptest.Server
	person    console.Person
	onRead    atomic.Pointer[func()] // runs once, between the kernel's reading of a history and its answer
}

// between has a history come later than it was read.
func (s *site) between(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ok, _ := path.Match("/v1/conversations/*", r.URL.Path)
		if !ok || r.Method != http.MethodGet {
			api.ServeHTTP(w, r)
			return
		}
		then := s.onRead.Swap(nil)
		if then == nil {
			api.ServeHTTP(w, r)
			return
		}
		read := httptest.NewRecorder()
		api.ServeHTTP(read, r)
		(*then)()
		maps.Copy(w.Header(), read.Header())
		w.WriteHeader(read.Code)
		_, _ = w.Write(read.Body.Bytes())
	})
}

// open opens a console on a folder, for somebody with the human's key.
func open(t testing.TB, workspace string) *site {
	t.Helper()
	return openWith(t, workspace, kernel.Config{State: kerneltest.StateDir(t)})
}

func openWith(t testing.TB, workspace string, config kernel.Config) *site {
	t.Helper()
	k := kerneltest.OpenWith(t, config)
	api := httpapi.New(k, httpapi.Lifecycle{Context: t.Context(), Stop: func() {}})
	t.Cleanup(api.Close)
	s := &site{
		TB: t, kernel: k, workspace: workspace, person: console.Person{Name: "ada", Role: "admin", CSRF: "csrf-of-ada"},
	}
	inner := httptest.NewServer(s.between(api))
	t.Cleanup(inner.Close)
	address := inner.Listener.Addr().String()
	key, err := k.State().HumanKey()
	kerneltest.OK(t, err)
	c := client.New(client.Options{HumanKey: key, Dial: func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}})
	t.Cleanup(c.Close)
	s.Client = c
	pages := console.New(console.Options{
		Client:    func(*http.Request) *client.Client { return c },
		Person:    func(*http.Request) console.Person { return s.person },
		Workspace: workspace,
	})
	s.server = httptest.NewServer(pages)
	t.Cleanup(s.server.Close)
	t.Cleanup(pages.Close)
	return s
}

// read returns an answer's page, which must have a status.
func (s *site) read(r *http.Response, err error, status int) string {
	s.Helper()
	kerneltest.OK(s, err)
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	kerneltest.OK(s, err)
	if r.StatusCode != status {
		s.Fatalf("%s answers %d: %s", r.Request.URL, r.StatusCode, plain(string(data)))
	}
	return string(data)
}

func (s *site) get(page string) string {
	s.Helper()
	r, err := s.server.Client().Get(s.server.URL + page)
	return s.read(r, err, http.StatusOK)
}

// fails gets a page that must not be shown.
func (s *site) fails(page string, status int) string {
	s.Helper()
	r, err := s.server.Client().Get(s.server.URL + page)
	return s.read(r, err, status)
}

// post sends a form, and returns the page that it leads to.
func (s *site) post(page string, form url.Values) string {
	s.Helper()
	r, err := s.server.Client().PostForm(s.server.URL+page, form)
	return s.read(r, err, http.StatusOK)
}

// call makes a call in the workspace, and does not wait for a human.
func (s *site) call(name, args string) *tool.Result {
	s.Helper()
	session, err := s.OpenSession(s.Context(), protocol.OpenSession{Workspace: s.workspace})
	kerneltest.OK(s, err)
	got, err := session.Call(s.Context(), protocol.CallRequest{Name: name, Args: []byte(args), NoWait: true})
	kerneltest.OK(s, err)
	return got
}

// wants checks that a page says something.
func (s *site) wants(page string, texts ...string) {
	s.Helper()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			s.Errorf("the page does not say %q:\n%s", text, plain(page))
		}
	}
}

var tags = regexp.MustCompile(`(?s)<head>.*?</head>|<[^>]*>|\n\s*\n+`)

// plain is a page without its tags, for messages.
func plain(page string) string { return tags.ReplaceAllString(page, " ") }

// folder makes a workspace with files.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		kerneltest.Write(t, filepath.Join(dir, name), text)
	}
	return dir
}

func TestNowSaysWhatWaits(t *testing.T) {
	t.Parallel()
	s := open(t, folder(t, map[string]string{"a.txt": "one\n"}))
	s.wants(s.get("/"), "Nothing waits", "No call was made yet", "Every call that began has an end")
	s.call("filesystem.delete", `{"path":"a.txt"}`)
	s.wants(s.get("/"), "filesystem.delete", "waiting", `data-live="now"`, "(1) Now")
}

func TestEveryPageHasItsHeaders(t *testing.T) {
	t.Parallel()
	s := open(t, folder(t, nil))
	r, err := s.server.Client().Get(s.server.URL + "/")
	page := s.read(r, err, http.StatusOK)
	if got := r.Header.Get("Content-Security-Policy"); !strings.Contains(got, "default-src 'none'") || strings.Contains(got, "unsafe") {
		t.Errorf("the policy is %q", got)
	}
	if strings.Contains(page, "<script>") || strings.Contains(page, "style=") || strings.Contains(page, "onclick") {
		t.Error("something inline is in the page")
	}
	for _, file := range regexp.MustCompile(`/static/[a-z]+-[0-9a-f]{12}\.[a-z]+`).FindAllString(page, -1) {
		r, err := s.server.Client().Get(s.server.URL + file)
		s.read(r, err, http.StatusOK)
		if !strings.Contains(r.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s is kept as %q", file, r.Header.Get("Cache-Control"))
		}
	}
	s.fails("/static/../console.go", http.StatusNotFound)
	s.wants(s.fails("/nosuch", http.StatusNotFound), "there is no page /nosuch")
}
