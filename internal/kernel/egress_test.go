package kernel_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"callgate/internal/app/starter"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// site is a web server that remembers which of its secrets it gave away.
type site struct {
	*httptest.Server
	mu     sync.Mutex
	served []string
}

func newSite(t *testing.T) *site {
	s := &site{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.served = append(s.served, r.Host+r.URL.Path)
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, "a page at "+r.URL.Path)
	}))
	t.Cleanup(s.Close)
	return s
}

// gave returns what was served since it was asked last.
func (s *site) gave() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := strings.Join(s.served, " ")
	s.served = nil
	return list
}

func (s *site) port() string { return s.URL[strings.LastIndexByte(s.URL, ':')+1:] }

func callNow(t *testing.T, s *session.Session, name, args string) *tool.Result {
	t.Helper()
	return s.Call(t.Context(), session.CallRequest{Name: name, Args: json.RawMessage(args), NoWait: true})
}

// A rule about URLs is about the address that is requested, in whatever spelling, and
// about each address that a redirect leads to.
func TestRulesBindTheRequestedURL(t *testing.T) {
	t.Parallel()
	web := newSite(t)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	open := func(rules string) *session.Session {
		folder := t.TempDir()
		const modules = `tools:
  modules:
    http: {constraints: {private_hosts: [127.0.0.1, localhost]}}
    web: {constraints: {private_hosts: [127.0.0.1, localhost]}, config: {robots: false, cache_minutes: 0}}
  capabilities:
`
		kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), modules+strings.ReplaceAll(rules, "PORT", web.port()))
		s := kerneltest.OpenAccepted(t, k, folder)
		t.Cleanup(s.Close)
		return s
	}
	denied := open(`    default_policy: auto
    deny:
      - {module: "*", match: {url: "http://localhost:PORT/secret/**"}}
`)
	host := "localhost:" + web.port()
	for _, name := range []string{"http.get", "http.head", "web.fetch"} {
		for _, url := range []string{
			"http://" + host + "/secret/x", "http://LOCALHOST:" + web.port() + "/secret/x", "HTTP://" + host + "/secret/x",
			"http://" + host + "/%73ecret/x", "http://localhost.:" + web.port() + "/secret/x", "http://localhost:0" + web.port() + "/secret/x",
			" http://" + host + "/secret/x", "http://ｌocalhost:" + web.port() + "/secret/x", "http://" + host + "/a/../secret/x",
			"http://" + host + "/a/%2e%2e/secret/x", "http://" + host + "//secret/x", "http://" + host + "/secret%2fx",
			`http://` + host + `\\secret\\x`, "http://" + host + "/?to=/secret/x", "http://" + host + "/?to=/%73ecret/x",
			"http://" + host + "/?to=HTTP://LOCALHOST.:" + web.port() + "/secret/x",
			"http://127.0.0.1:" + web.port() + "/?to=http://" + host + "/secret/x",
		} {
			r := callNow(t, denied, name, `{"url":"`+url+`"}`)
			if gave := web.gave(); r.Status == tool.Success || gave != "" {
				t.Errorf("%s %s: %s %s; the site gave %q", name, url, r.Status, r.Summary, gave)
			}
		}
		if r := callNow(t, denied, name, `{"url":"http://LOCALHOST:`+web.port()+`/a/./../b"}`); r.Status != tool.Success || web.gave() != host+"/b" {
			t.Errorf("%s of another page: %s %s", name, r.Status, r.Summary)
		}
	}

	granted := open(`    grant:
      - {module: http, match: {url: "http://127.0.0.1:PORT/open/**"}}
      - {module: web, match: {url: "http://127.0.0.1:PORT/open/**"}}
`)
	at := "http://127.0.0.1:" + web.port()
	for _, name := range []string{"http.get", "web.fetch"} {
		for url, want := range map[string]string{
			at + "/open/x": "", at + "/open/x?to=/open/y": "",
			at + "/open/x?to=http://" + host + "/secret/x": "http://" + host + "/secret/x was not requested",
			at + "/open/x?to=/secret/x":                    at + "/secret/x was not requested",
			at + "/open/x?to=/open/..%2Fsecret":            "was not requested",
		} {
			r := callNow(t, granted, name, `{"url":"`+url+`"}`)
			gave := web.gave()
			if (r.Status == tool.Success) != (want == "") || !strings.Contains(r.Summary, want) || strings.Contains(gave, "secret") {
				t.Errorf("%s %s: %s %s; the site gave %q", name, url, r.Status, r.Summary, gave)
			}
		}
		if r := callNow(t, granted, name, `{"url":"`+at+`/secret/x"}`); r.Status != tool.Waiting {
			t.Errorf("%s of a page that is not granted: %s %s", name, r.Status, r.Summary)
		}
	}
}

// What leaves the machine asks, whatever the method; what is read here does not.
func TestEgressAsksByDefault(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	plain, init := t.TempDir(), t.TempDir()
	kerneltest.Write(t, filepath.Join(init, "callgate.yaml"), string(starter.Text(init)))
	for _, folder := range []string{plain, init} {
		for _, name := range []string{".env", "a.txt", "tls.pem", ".env.example"} {
			kerneltest.Write(t, filepath.Join(folder, name), "API_KEY=sk-live-1\n")
		}
	}
	without, with := kerneltest.OpenSession(t, k, plain), kerneltest.OpenAccepted(t, k, init)
	defer without.Close()
	defer with.Close()
	// That example.com cannot be reached from a test does not matter: nothing is sent.
	for _, c := range []struct {
		name, args    string
		without, with tool.Status
	}{
		{"filesystem.read", `{"path":"a.txt"}`, tool.Success, tool.Success},
		{"filesystem.list", `{}`, tool.Success, tool.Success},
		{"filesystem.grep", `{"pattern":"API_KEY","hidden":true}`, tool.Success, tool.Success},
		{"filesystem.read", `{"path":".env.example"}`, tool.Success, tool.Success},
		{"filesystem.read", `{"path":".env"}`, tool.Waiting, tool.Waiting},
		{"filesystem.read", `{"path":"./x/../.env"}`, tool.Waiting, tool.Waiting},
		{"filesystem.read", `{"path":"tls.pem"}`, tool.Waiting, tool.Waiting},
		{"http.get", `{"url":"https://example.com/?d=1"}`, tool.Waiting, ""},
		{"http.head", `{"url":"https://example.com/?d=1"}`, tool.Waiting, ""},
		{"web.fetch", `{"url":"https://example.com/?d=1"}`, tool.Waiting, tool.Waiting},
		{"web.extract", `{"url":"https://example.com/?d=1","links":true}`, tool.Waiting, tool.Waiting},
		{"web.extract", `{"html":"<a href=x>x</a>","links":true}`, tool.Success, tool.Waiting},
		{"web.download", `{"url":"https://example.com/x","path":"x"}`, tool.Waiting, tool.Waiting},
		{"web.browse.navigate", `{"url":"https://example.com/?d=1"}`, tool.Waiting, ""},
		{"web.browse.navigate", `{"url":"example.com"}`, tool.Waiting, ""},
		{"http.post", `{"url":"https://example.com/"}`, tool.Waiting, ""},
		{"http.get", `{"url":"http://127.0.0.1:1/"}`, tool.Refused, ""}, // by the guard
	} {
		for folder, s := range map[string]*session.Session{"without rules": without, "with those of init": with} {
			want := c.without
			if s == with {
				want = c.with
			}
			r := callNow(t, s, c.name, c.args)
			if want != "" && r.Status != want && !(want == tool.Refused && r.Error != nil && r.Error.Kind == tool.Denied) {
				t.Errorf("%s, %s %s: %s %s, want %s", folder, c.name, c.args, r.Status, r.Summary, want)
			}
			if c.name == "filesystem.grep" && strings.Contains(fmt.Sprint(r.Content, string(r.Data)), ".env:") {
				t.Errorf("%s: a search shows secrets: %s", folder, r.Data)
			}
		}
	}
}

// A yes can count for a destination, and is never wider than that.
func TestAYesForADestination(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenSession(t, k, t.TempDir())
	defer s.Close()
	choices := func(name, args string) string {
		callNow(t, s, name, args)
		return offered(t, k)
	}
	for args, want := range map[string]string{
		`{"url":"HTTPS://Example.com./a?b"}`:   `calls like url: "https://example.com/**", in this folder`,
		`{"url":"https://example.com:8443/a"}`: `calls like url: "https://example.com:8443/**", in every folder`,
	} {
		if got := choices("http.get", args); !strings.Contains(got, want) {
			t.Errorf("%s: %s", args, got)
		}
	}
	if got := choices("web.download", `{"url":"https://example.com/a","path":"d/a.txt"}`); !strings.Contains(got, `calls like path: d/**, url: "https://example.com/**"`) ||
		strings.Contains(got, "calls like path: d/**, in") {
		t.Errorf("a download: %s", got)
	}
	if got := choices("http.delete", `{"url":"https://example.com/a"}`); strings.Contains(got, "calls like") {
		t.Errorf("a DELETE: %s", got)
	}
}

// offered returns the choices of the request that was made last.
func offered(t *testing.T, k *kernel.Kernel) string {
	t.Helper()
	pending, err := k.Approvals.List(t.Context(), approval.Pending, 100)
	kerneltest.OK(t, err)
	last := slices.MaxFunc(pending, func(a, b approval.Request) int { return a.AskedAt.Compare(b.AskedAt) })
	var texts []string
	for _, c := range last.Choices {
		texts = append(texts, c.Text)
	}
	return strings.Join(texts, "; ")
}
