package remote_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/signing"
	"callgate/tool"
	"callgate/toolcatalog"
	"callgate/toolcatalog/remote"
)

// server serves a catalog.
type server struct {
	*httptest.Server
	mu              sync.Mutex
	data, signature string
	down            bool
	asked, sent     int // for the catalog, and how often it was sent whole
}

func newServer(t *testing.T) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.down:
		http.Error(w, "down", http.StatusInternalServerError)
	case r.URL.Path == "/catalog.json.minisig" && s.signature != "":
		fmt.Fprint(w, s.signature)
	case r.URL.Path == "/catalog.json":
		s.asked++
		tag := fmt.Sprintf(`"%d"`, len(s.data))
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		s.sent++
		w.Header().Set("ETag", tag)
		fmt.Fprint(w, s.data)
	default:
		http.NotFound(w, r)
	}
}

// put has the server send a catalog of tools, signed as of a time.
func (s *server) put(t *testing.T, key signing.Secret, at int64, ids ...string) {
	t.Helper()
	var list []string
	for _, id := range ids {
		list = append(list, fmt.Sprintf(`{"id": %q, "description": "x", "user_template": "y"}`, id))
	}
	data := `{"tools": [` + strings.Join(list, ", ") + `]}`
	made, err := key.Sign([]byte(data), signing.Comment{File: "catalog.json", Time: time.Unix(at, 0)})
	if err != nil {
		t.Fatal(err)
	}
	s.set(data, string(made), false)
}

func (s *server) set(data, signature string, down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data, s.signature, s.down = data, signature, down
}

func (s *server) counts() (asked, sent int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked, s.sent
}

func secret(t *testing.T) signing.Secret {
	t.Helper()
	s, err := signing.NewSecret()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func open(t *testing.T, s *server, cache string, keys ...signing.Secret) *remote.Catalog {
	t.Helper()
	o := remote.Options{Name: "acme", URL: s.URL + "/catalog.json", Cache: cache, Private: []string{"127.0.0.1"}}
	for _, k := range keys {
		o.Keys = append(o.Keys, k.Key().String())
	}
	c, err := remote.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func list(t *testing.T, c *remote.Catalog) string {
	t.Helper()
	tools, err := c.List(t.Context())
	if err != nil {
		return "error: " + err.Error()
	}
	var ids []string
	for _, one := range tools {
		ids = append(ids, one.ID.String())
	}
	return strings.Join(ids, " ")
}

// TestCatalog fetches a catalog once, asks after that only whether it changed, takes a newer one, and
// lives on what it has while the server is down, also after a restart.
func TestCatalog(t *testing.T) {
	t.Parallel()
	s, key, cache := newServer(t), secret(t), t.TempDir()
	s.put(t, key, 100, "acme:triage@1.0.0")
	c := open(t, s, cache, secret(t), key)
	for range 3 {
		if got := list(t, c); got != "acme:triage@1.0.0" || c.Warning() != nil {
			t.Fatalf("%s, %v", got, c.Warning())
		}
	}
	if asked, sent := s.counts(); asked != 3 || sent != 1 {
		t.Errorf("it was asked for %d times, and sent %d times", asked, sent)
	}
	s.put(t, key, 200, "acme:triage@1.0.0", "acme:triage@1.1.0")
	if got := list(t, c); got != "acme:triage@1.0.0 acme:triage@1.1.0" {
		t.Errorf("the newer one: %s", got)
	}
	s.set("", "", true)
	for _, c := range []*remote.Catalog{c, open(t, s, cache, key)} { // the second is after a restart
		if got := list(t, c); got != "acme:triage@1.0.0 acme:triage@1.1.0" || c.Warning() == nil ||
			!strings.Contains(c.Warning().Error(), "500") {
			t.Errorf("while it is down: %s, %v", got, c.Warning())
		}
	}
	if got := list(t, open(t, s, t.TempDir(), key)); !strings.HasPrefix(got, "error: ") {
		t.Errorf("without anything kept: %s", got)
	}
	if got := list(t, open(t, s, cache, secret(t))); !strings.HasPrefix(got, "error: ") {
		t.Errorf("what was kept, by another key: %s", got)
	}
	// A catalog of catalogs says so beside, and is asked again when it is refreshed.
	all := toolcatalog.New(toolcatalog.Options{})
	if err := all.Add(c); err != nil {
		t.Fatal(err)
	}
	if got, problems, err := all.List(t.Context()); err != nil || len(got) != 2 || len(problems) != 1 {
		t.Errorf("%v, %v, %v", got, problems, err)
	}
	s.put(t, key, 300, "acme:other@1.0.0")
	c.Refresh()
	if got, problems, err := all.List(t.Context()); err != nil || len(got) != 1 || len(problems) != 0 {
		t.Errorf("after it came back: %v, %v, %v", got, problems, err)
	}
}

// TestAttacks has the server, or whoever is between, send what nobody signed.
func TestAttacks(t *testing.T) {
	t.Parallel()
	key, other := secret(t), secret(t)
	s := newServer(t)
	s.put(t, key, 200, "acme:new@1.0.0")
	cache := t.TempDir()
	c := open(t, s, cache, key)
	if got := list(t, c); got != "acme:new@1.0.0" {
		t.Fatal(got)
	}
	signed := s.signature
	for name, attack := range map[string]func(){
		"changed":                   func() { s.set(`{"tools": []}`, signed, false) },
		"unsigned":                  func() { s.set(`{"tools": [ ]}`, "", false) },
		"signed by another":         func() { s.put(t, other, 300, "acme:evil@1.0.0", "a:b@1.0.0") },
		"an older one":              func() { s.put(t, key, 100, "acme:old@1.0.0", "a:b@1.0.0", "a:c@1.0.0") },
		"too large":                 func() { s.set(strings.Repeat(" ", 9<<20), signed, false) },
		"signed, and no catalog":    func() { s.putRaw(t, key, 300, "[]") },
		"signed, with a bad tool":   func() { s.putRaw(t, key, 300, `{"tools": [{"id": "x"}]}`) },
		"signed, with a tool twice": func() { s.put(t, key, 300, "a:b@1.0.0", "a:b@1.0.0", "a:d@1.0.0", "a:e@1.0.0") },
	} {
		attack()
		if got := list(t, c); got != "acme:new@1.0.0" || c.Warning() == nil {
			t.Errorf("%s: %s, %v", name, got, c.Warning())
		}
		if got := list(t, open(t, s, "", key)); name != "an older one" && !strings.HasPrefix(got, "error: ") {
			t.Errorf("%s, to somebody new: %s", name, got)
		}
	}
	// Whoever writes the folder signs nothing.
	files, err := filepath.Glob(filepath.Join(cache, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	s.set("", "", true)
	if err := os.WriteFile(files[0], []byte(strings.Replace(string(text), `"data":"e`, `"data":"f`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := list(t, open(t, s, cache, key)); !strings.HasPrefix(got, "error: ") {
		t.Errorf("a changed cache: %s", got)
	}
}

// putRaw has the server send a signed text.
func (s *server) putRaw(t *testing.T, key signing.Secret, at int64, data string) {
	t.Helper()
	made, err := key.Sign([]byte(data), signing.Comment{File: "catalog.json", Time: time.Unix(at, 0)})
	if err != nil {
		t.Fatal(err)
	}
	s.set(data, string(made), false)
}

// TestWhatIsReached keeps catalogs from the services of this machine and its neighbours.
func TestWhatIsReached(t *testing.T) {
	t.Parallel()
	key := secret(t).Key().String()
	for _, at := range []string{
		"", "catalog.json", "file:///etc/passwd", "http://example.com/c.json", "http://127.0.0.1/c.json",
		"https://user:pass@example.com/c.json", "https://example.com/c.json?x=1",
	} {
		if _, err := remote.New(remote.Options{URL: at, Keys: []string{key}}); tool.KindOf(err) != tool.Invalid {
			t.Errorf("%q: %v", at, err)
		}
	}
	for _, keys := range [][]string{nil, {"no key"}, make([]string, 101)} {
		if _, err := remote.New(remote.Options{URL: "https://example.com/c.json", Keys: keys}); tool.KindOf(err) != tool.Invalid {
			t.Errorf("%d keys: %v", len(keys), err)
		}
	}
	for _, at := range []string{"https://127.0.0.1/c.json", "https://169.254.169.254/c.json", "https://localhost/c.json"} {
		c, err := remote.New(remote.Options{URL: at, Keys: []string{key}})
		if err != nil {
			continue
		}
		if got := list(t, c); !strings.HasPrefix(got, "error: ") {
			t.Errorf("%s: %s", at, got)
		}
	}
}

// TestLargeCatalog lists more tools than an app file could hold, each as large as a file of one may be.
func TestLargeCatalog(t *testing.T) {
	t.Parallel()
	s, key := newServer(t), secret(t)
	var ids []string
	for i := range 2000 {
		ids = append(ids, fmt.Sprintf("acme:tool%d@1.0.0", i))
	}
	s.put(t, key, 100, ids...)
	if got := list(t, open(t, s, t.TempDir(), key)); got != strings.Join(ids, " ") {
		t.Errorf("%d bytes: %s", len(got), tool.Truncate(got))
	}
	for _, text := range []string{`{"tools": [{"id": "a:b@1.0.0"}]}`, `{"tools": {}}`, `{"tolls": []}`, `{"tools": []} {}`, `x`} {
		if _, _, err := remote.Parse([]byte(text)); err == nil {
			t.Errorf("%s is a catalog", text)
		}
	}
}

func FuzzCatalog(f *testing.F) {
	f.Add([]byte(`{"tools": [{"id": "a:b@1.0.0", "description": "x", "user_template": "{{y}}"}]}`))
	f.Add([]byte(`{"name": "x", "tools": []}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		tools, digests, err := remote.Parse(data)
		for _, one := range tools {
			if err == nil && one.Validate() != nil {
				t.Errorf("%q gives a tool that is none: %v", data, one.Validate())
			}
			if err == nil && len(digests[one.ID]) != 64 {
				t.Errorf("%q gives a tool with the digest %q", data, digests[one.ID])
			}
		}
	})
}
