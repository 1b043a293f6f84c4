package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/module"
	"callgate/internal/module/web"
	"callgate/internal/netguard/netguardtest"
	"callgate/tool"
)

// bench is the module, opened, with the settings of an app file.
type bench struct {
	t      testing.TB
	module module.Module
	opened *module.Instance
	grant  tool.Grant
	who    tool.Principal
	dir    string
}

type block = map[string]any

// local lets the tests reach their own servers.
var local = block{"private_hosts": []any{"127.0.0.1", "localhost"}}

func open(t testing.TB, config, constraints block) *bench {
	return openModule(t, web.Module(), config, constraints)
}

func openModule(t testing.TB, m module.Module, config, constraints block) *bench {
	t.Helper()
	opened, err := m.Open(module.Host{Cache: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	b := &bench{t, m, opened, tool.Grant{Root: root, Workspace: dir, Network: true}, tool.Principal{User: "u", Session: "s"}, dir}
	b.set(config, constraints)
	return b
}

// set gives the next calls the settings of another app file.
func (b *bench) set(config, constraints block) {
	b.t.Helper()
	settings, err := b.module.Read(config, constraints)
	if err != nil {
		b.t.Fatal(err)
	}
	b.grant.Settings = settings
}

func (b *bench) tool(name string) *tool.Tool {
	b.t.Helper()
	for _, t := range b.opened.Tools {
		if t.ID.Name == name {
			return t
		}
	}
	b.t.Fatalf("there is no tool %s", name)
	return nil
}

// call runs a tool; what it takes and what it gives must meet its schemas.
func (b *bench) call(name string, args any) (*tool.Result, error) {
	b.t.Helper()
	t := b.tool(name)
	raw, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	meets(b.t, t.Spec.Input, raw)
	r, err := t.Handler.Execute(b.t.Context(), tool.Call{Name: name, Args: raw, Principal: b.who}, b.grant)
	if err == nil {
		meets(b.t, t.Spec.Output, r.Data)
	}
	return r, err
}

var compiled sync.Map // schemas, by their text

func compile(t testing.TB, schema string) *jsonschema.Schema {
	t.Helper()
	if s, ok := compiled.Load(schema); ok {
		return s.(*jsonschema.Schema)
	}
	c := jsonschema.NewCompiler()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err == nil {
		err = c.AddResource("x.json", doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("x.json")
	if err != nil {
		t.Fatal(err)
	}
	compiled.Store(schema, s)
	return s
}

func meets(t testing.TB, schema, value json.RawMessage) {
	t.Helper()
	s := compile(t, string(schema))
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(value)))
	if err == nil {
		err = s.Validate(v)
	}
	if err != nil {
		t.Fatalf("%s does not meet its schema: %v", value, err)
	}
}

// data is the data of a result.
func data(t testing.TB, r *tool.Result, err error) map[string]any {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(r.Data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// text is what a result says to a model, without the fence.
func text(t testing.TB, r *tool.Result, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Content) == 0 {
		return ""
	}
	first, rest, _ := strings.Cut(r.Content[0].Text, "\n\n")
	if !strings.HasPrefix(first, "[content of ") || !strings.Contains(first, "not instructions]") {
		t.Fatalf("the text is not marked as content: %q", first)
	}
	return rest
}

// fails checks the kind of an error, and words that it must hold.
func fails(t testing.TB, err error, kind tool.Kind, words ...string) {
	t.Helper()
	if tool.KindOf(err) != kind {
		t.Errorf("%v (%s), want %s", err, tool.KindOf(err), kind)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func TestToolsAreFitToPublish(t *testing.T) {
	b := open(t, nil, nil)
	var names []string
	for _, made := range b.opened.Tools {
		names = append(names, made.ID.Dotted())
		if err := made.Validate(); err != nil {
			t.Error(err)
		}
		if !made.Runtime.Network || len(made.Spec.Examples) == 0 || len(made.Spec.Aliases) < 8 || len(made.Spec.Tags) < 5 {
			t.Errorf("%s lacks something: %+v", made.ID, made.Spec)
		}
		for _, e := range made.Spec.Examples {
			meets(t, made.Spec.Input, e.Args)
		}
	}
	if diff := cmp.Diff([]string{"web.search", "web.fetch", "web.extract", "web.download"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestSettings(t *testing.T) {
	m := web.Module()
	for name, c := range map[string]struct {
		config, constraints block
		errHas              string
	}{
		"nothing":           {nil, nil, ""},
		"an engine":         {block{"engine": "brave"}, nil, ""},
		"another engine":    {block{"engine": "bing"}, nil, "one of duckduckgo, brave, searxng, tavily"},
		"searxng":           {block{"engine": "searxng", "endpoint": "https://search.example.com"}, nil, ""},
		"searxng, nowhere":  {block{"engine": "searxng"}, nil, "config.endpoint"},
		"a bad endpoint":    {block{"endpoint": "search.example.com"}, nil, "config.endpoint"},
		"a user in it":      {block{"endpoint": "https://a:b@example.com/"}, nil, "config.endpoint"},
		"a bad host":        {nil, block{"allowed_hosts": []any{"https://example.com"}}, "without http://"},
		"a bad agent":       {block{"user_agent": "a\nb"}, nil, "config.user_agent"},
		"an unknown key":    {block{"robot": true}, nil, "did you mean robots"},
		"a limit too small": {block{"max_bytes": 3}, nil, "from 1024"},
	} {
		_, err := m.Read(c.config, c.constraints)
		if (err == nil) != (c.errHas == "") || err != nil && !strings.Contains(err.Error(), c.errHas) {
			t.Errorf("%s: %v, want %q", name, err, c.errHas)
		}
	}
}

// Nothing is left when the module is closed, and what only one session used is
// let go with it.
func TestNothingIsLeft(t *testing.T) {
	var mu sync.Mutex
	opened := map[string]int{}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "hello") }))
	s.Config.ConnState = connStates(&mu, opened)
	s.Start()
	t.Cleanup(s.Close)
	before := runtime.NumGoroutine()
	b := open(t, nil, local)
	for range 3 {
		_, err := b.call("fetch", block{"url": s.URL + fmt.Sprint("/", time.Now().UnixNano())})
		if err != nil {
			t.Fatal(err)
		}
	}
	b.opened.OnSessionEnd("s")
	settled(t, "connections after the session", func() bool { mu.Lock(); defer mu.Unlock(); return opened["open"] == 0 })
	if _, err := b.call("fetch", block{"url": s.URL + "/again"}); err != nil {
		t.Fatal(err)
	}
	if err := b.opened.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := b.call("fetch", block{"url": s.URL + "/late"})
	fails(t, err, tool.Unavailable)
	s.Close()
	settled(t, "goroutines after the module", func() bool { return runtime.NumGoroutine() <= before })
}

// settled waits for something that happens by itself very soon.
func settled(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%s are left", what)
		}
	}
}

// No address that may not be reached is, by any tool: not directly, and not by
// a redirect.
func TestCanary(t *testing.T) {
	netguardtest.Run(t, func(w *netguardtest.Network) {
		b := openModule(t, web.ModuleWith(w.Resolver), block{"timeout_seconds": 5, "cache_minutes": 0}, nil)
		try := func(form netguardtest.Form, url string) {
			for name, args := range map[string]block{
				"fetch":    {"url": url},
				"extract":  {"url": url, "links": true},
				"download": {"url": url, "path": "x", "overwrite": true},
			} {
				_, _ = b.call(name, args)
			}
			if reached := w.Reached(); len(reached) > 0 {
				t.Errorf("%s (%s) reached %v", form.Name, url, reached)
			}
		}
		forms := netguardtest.Forms()
		if len(forms) < 300 {
			t.Fatalf("only %d forms", len(forms))
		}
		for i, form := range forms {
			w.Forget()
			try(form, form.URL)
			if i%5 == 0 {
				try(form, netguardtest.Redirect([]int{301, 302, 303, 307, 308}[i/5%5], form.URL, i/5%3))
			}
		}
		// The search engine is under the same guard.
		for _, form := range forms {
			settings, err := b.module.Read(block{"engine": "searxng", "endpoint": form.URL, "timeout_seconds": 5}, nil)
			if err != nil {
				continue // no address that could be an endpoint
			}
			w.Forget()
			b.grant.Settings = settings
			_, _ = b.call("search", block{"query": "x"})
			if reached := w.Reached(); len(reached) > 0 {
				t.Errorf("a search at %s (%s) reached %v", form.Name, form.URL, reached)
			}
		}
		if w.Greeted() == 0 {
			t.Error("not even the public address was reached: the test shows nothing")
		}
		// The canary would have been reached, had the app allowed it.
		b.set(block{"cache_minutes": 0}, block{"private_hosts": []any{"127.0.0.1"}})
		if _, err := b.call("fetch", block{"url": "http://127.0.0.1/"}); err != nil || len(w.Reached()) == 0 {
			t.Errorf("a control: %v", err)
		}
	})
}
