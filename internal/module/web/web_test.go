package web_test

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"

	"callgate/internal/module/fetch/fetchtest"
	"callgate/internal/module/web"
	"callgate/internal/netguard/netguardtest"
	"callgate/internal/pdftext"
	"callgate/tool"
)

// TestMain lets this test be started as a PDF reader.
func TestMain(m *testing.M) {
	if pdftext.RunHelper() {
		return
	}
	os.Exit(m.Run())
}

type block = fetchtest.Block

// open opens the module with the settings of an app file.
func open(t testing.TB, config, constraints block) *fetchtest.Bench {
	t.Helper()
	return fetchtest.Open(t, web.ModuleWith(fetchtest.Options(nil)), config, constraints)
}

// text returns the text of a result, without the line that marks it as content.
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

func TestTools(t *testing.T) {
	t.Parallel()
	fetchtest.CheckTools(t, web.Module(), "web.search", "web.fetch", "web.extract", "web.download")
}

func TestGuide(t *testing.T) {
	t.Parallel()
	fetchtest.CheckGuide(t, web.Module(), "../../../docs/guides/web.md")
}

func TestSettings(t *testing.T) {
	t.Parallel()
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

// No connection is left when a session ends, and no goroutine when the module is
// closed.
func TestNothingIsLeft(t *testing.T) {
	s, connections := fetchtest.ServeCounted(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	before := runtime.NumGoroutine()
	b := open(t, nil, fetchtest.Local())
	for i := range 3 {
		if _, err := b.Call("fetch", block{"url": fmt.Sprintf("%s/%d", s.URL, i)}); err != nil {
			t.Fatal(err)
		}
	}
	b.Instance.OnSessionEnd("s")
	fetchtest.WaitFor(t, "the session's connections to close", func() bool { return connections.Open.Load() == 0 })
	if _, err := b.Call("fetch", block{"url": s.URL + "/again"}); err != nil {
		t.Fatal(err)
	}
	if err := b.Instance.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := b.Call("fetch", block{"url": s.URL + "/late"})
	fetchtest.CheckError(t, err, tool.Unavailable)
	s.Close()
	fetchtest.WaitFor(t, "the module's goroutines to end", func() bool { return runtime.NumGoroutine() <= before })
}

// No tool reaches an address that is not public, directly or by a redirect.
func TestCanary(t *testing.T) {
	t.Parallel()
	netguardtest.Run(t, func(w *netguardtest.Network) {
		m := web.ModuleWith(fetchtest.Options(w.Resolver))
		b := fetchtest.Open(t, m, block{"timeout_seconds": 5, "cache_minutes": 0}, nil)
		try := func(form netguardtest.Form, url string) {
			for name, args := range map[string]block{
				"fetch":    {"url": url},
				"extract":  {"url": url, "links": true},
				"download": {"url": url, "path": "x", "overwrite": true},
			} {
				_, _ = b.Call(name, args)
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
		// The search engine is reached through the same guard.
		for _, form := range forms {
			settings, err := m.Read(block{"engine": "searxng", "endpoint": form.URL, "timeout_seconds": 5}, nil)
			if err != nil {
				continue // it cannot be an endpoint
			}
			w.Forget()
			b.Grant.Settings = settings
			_, _ = b.Call("search", block{"query": "x"})
			if reached := w.Reached(); len(reached) > 0 {
				t.Errorf("a search at %s (%s) reached %v", form.Name, form.URL, reached)
			}
		}
		if w.Greeted() == 0 {
			t.Error("not even the public address was reached: the test shows nothing")
		}
		// The canary is reached if the app allows it.
		b.Set(block{"cache_minutes": 0}, block{"private_hosts": []any{"127.0.0.1"}})
		if _, err := b.Call("fetch", block{"url": "http://127.0.0.1/"}); err != nil || len(w.Reached()) == 0 {
			t.Errorf("a control: %v", err)
		}
	})
}
