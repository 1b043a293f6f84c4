package mcp_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"callgate/internal/source/mcp"
)

func TestToolsAreKnownWithoutStarting(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	c := newChanges()
	first := server(t, local("normal"), mcp.Options{Cache: cache, OnToolsChanged: c.changed})
	if list, err := first.Tools(t.Context()); len(list) != 0 || err != nil {
		t.Fatalf("a server that was never seen has %v, %v", list, err)
	}
	c.wait(t)                       // fetched in the background
	if len(tools(t, first)) != 12 { // two of them read its resources and prompts
		t.Errorf("tools %v", tools(t, first))
	}
	files, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil || len(files) != 1 || filepath.Base(files[0]) != first.Key()+".json" {
		t.Fatalf("the cache holds %v, %v", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}

	c2 := newChanges()
	second := server(t, local("normal"), mcp.Options{Cache: cache, OnToolsChanged: c2.changed})
	byName := tools(t, second)
	if st := second.Status(); len(byName) != 12 || st.State != mcp.NotStarted || st.Tools != 10 || st.Protocol != "2026-07-28" {
		t.Errorf("%d tools, status %+v", len(byName), st)
	}
	r, err := call(t.Context(), byName["echo"], `{"text":"now it runs"}`)
	if got := textOf(t, r, err); got != "now it runs" {
		t.Errorf("it said %q", got)
	}
	if st := second.Status(); st.State != mcp.Running || c2.n != 0 {
		t.Errorf("status %+v, %d changes", st, c2.n)
	}
}

func TestDamagedCacheIsFetchedAgain(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "{", `{"version":99}`, `{"version":1,"key":"another"}`} {
		cache := t.TempDir()
		c := newChanges()
		s := server(t, local("normal"), mcp.Options{Cache: cache, OnToolsChanged: c.changed})
		if err := os.WriteFile(filepath.Join(cache, s.Key()+".json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if list, err := s.Tools(t.Context()); len(list) != 0 || err != nil {
			t.Errorf("from %q came %v, %v", content, list, err)
		}
		c.wait(t)
		if len(tools(t, s)) != 12 {
			t.Errorf("after %q there are %v", content, tools(t, s))
		}
	}
}

func TestChangedToolsAreNoticed(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"normal", "legacy"} {
		t.Run(kind, func(t *testing.T) { noticeChange(t, local(kind)) })
	}
}

func noticeChange(t *testing.T, cfg mcp.Config) {
	cache := t.TempDir()
	c := newChanges()
	s, byName := refreshed(t, cfg, mcp.Options{Cache: cache, OnToolsChanged: c.changed})
	c.wait(t)
	r, err := call(t.Context(), byName["grow"], "")
	textOf(t, r, err)
	c.wait(t) // the server's notification
	grown := tools(t, s)["grown"]
	if grown == nil {
		t.Fatalf("tools %v", tools(t, s))
	}
	r, err = call(t.Context(), grown, "")
	if got := textOf(t, r, err); got != "new" {
		t.Errorf("it said %q", got)
	}
	// The next one finds the larger list in the cache, and that it is smaller
	// again when it starts the server.
	c2 := newChanges()
	again := server(t, cfg, mcp.Options{Cache: cache, OnToolsChanged: c2.changed})
	if tools(t, again)["grown"] == nil {
		t.Error("the cache was not replaced")
	}
	if err := again.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	c2.wait(t)
	if tools(t, again)["grown"] != nil {
		t.Error("a tool that is gone is still there")
	}
}

func TestVetDecidesWhatIsPublished(t *testing.T) {
	t.Parallel()
	var seen []mcp.Definition
	allowed := map[string]bool{"echo": true}
	s, byName := refreshed(t, local("normal"), mcp.Options{Vet: func(_ *mcp.Server,
		defs []mcp.Definition) []mcp.Definition {
		seen = defs
		var may []mcp.Definition
		for _, d := range defs {
			if allowed[d.Name] {
				may = append(may, d)
			}
		}
		return may
	}})
	if len(byName) != 3 || byName["echo"] == nil || len(seen) != 10 { // the tools that read are not the server's
		t.Errorf("published %v of %d", byName, len(seen))
	}
	allowed["add"] = true
	if len(tools(t, s)) != 4 {
		t.Errorf("now published %v", tools(t, s))
	}
}

func TestKeyHoldsNoSecret(t *testing.T) {
	t.Parallel()
	value := "one"
	opt := mcp.Options{Secret: func(string) (string, error) { return value, nil }}
	cfg := local("normal")
	cfg.Env["TOKEN"] = "{{ secret.T }}"
	first := server(t, cfg, opt).Key()
	value = "two"
	if second := server(t, cfg, opt).Key(); first != second || strings.Contains(first, "one") {
		t.Errorf("keys %s and %s", first, second)
	}
}

func TestManyServersAreFetchedAFewAtATime(t *testing.T) {
	t.Parallel()
	c := newChanges()
	h := open(t, mcp.Options{OnToolsChanged: c.changed})
	const n = 6
	for i := range n {
		cfg := local("old")
		cfg.Name = "s" + string(rune('a'+i))
		s, err := h.Server(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if list, err := s.Tools(t.Context()); len(list) != 0 || err != nil {
			t.Errorf("%v, %v", list, err)
		}
	}
	for range n {
		c.wait(t)
	}
	for _, s := range h.Servers() {
		if len(tools(t, s)) != 1 {
			t.Errorf("%s has %v", s.Name(), tools(t, s))
		}
	}
}
