package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"callgate/internal/registry"
	"callgate/tool"
)

// make makes a tool from its id, with what the test needs to see again.
func newTool(t testing.TB, id, description string) *tool.Tool {
	t.Helper()
	parsed, err := tool.ParseID(id)
	if err != nil {
		t.Fatal(err)
	}
	return &tool.Tool{
		ID:      parsed,
		Spec:    tool.Spec{Name: parsed.Dotted(), Description: description, Input: json.RawMessage(`{"type":"object"}`)},
		Handler: tool.HandlerFunc(func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) { return nil, nil }),
	}
}

func static(t testing.TB, name string, ids ...string) registry.Static {
	s := registry.Static{Source: name}
	for _, id := range ids {
		s.List = append(s.List, newTool(t, id, "from "+name))
	}
	return s
}

func snapshot(t testing.TB, r *registry.Registry) *registry.Snapshot {
	t.Helper()
	s, err := r.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func add(t testing.TB, r *registry.Registry, scope string, s registry.Source) {
	t.Helper()
	if err := r.Add(scope, s); err != nil {
		t.Fatal(err)
	}
}

func TestFirstSourceWinsAnID(t *testing.T) {
	var r registry.Registry
	add(t, &r, registry.Global, static(t, "one", "a:x@1.0.0"))
	add(t, &r, registry.Global, static(t, "two", "a:x@1.0.0", "a:x@1.1.0", "a:y@1.0.0"))
	if err := r.Add(registry.Global, static(t, "one")); tool.KindOf(err) != tool.Conflict {
		t.Errorf("a second source named one gave %v", err)
	}
	v := snapshot(t, &r).View(registry.Global)
	id, _ := tool.ParseID("a:x@1.0.0")
	if got, _ := v.Get(id); got.Spec.Description != "from one" {
		t.Errorf("a:x@1.0.0 comes %s", got.Spec.Description)
	}
	if got, _ := v.Latest("a.x"); got.ID.String() != "a:x@1.1.0" {
		t.Errorf("the latest a.x is %s", got.ID)
	}
	ref, _ := tool.ParseRef("a:x@~1.0")
	if got, ok := v.Match(ref); !ok || got.ID.String() != "a:x@1.0.0" {
		t.Errorf("a:x@~1.0 is %v", got)
	}
	if v.Len() != 3 {
		t.Errorf("%d tools", v.Len())
	}
}

func TestAgentScopeOverridesGlobal(t *testing.T) {
	var r registry.Registry
	add(t, &r, "bot", static(t, "agent", "a:x@1.0.0"))
	add(t, &r, registry.Global, static(t, "global", "a:x@2.0.0", "a:y@1.0.0"))
	s := snapshot(t, &r)
	for scope, want := range map[string]string{"bot": "a:x@1.0.0", "": "a:x@2.0.0", "other": "a:x@2.0.0"} {
		got, ok := s.View(scope).Latest("a.x")
		if !ok || got.ID.String() != want {
			t.Errorf("scope %q sees %v, want %s", scope, got.ID, want)
		}
		if _, ok := s.View(scope).Latest("a.y"); !ok {
			t.Errorf("scope %q does not see the global a.y", scope)
		}
	}
}

// flaky fails when told to.
type flaky struct {
	tools []*tool.Tool
	fail  atomic.Bool
	panic atomic.Bool
	asked atomic.Int64
	gate  chan struct{} // when set, Tools waits for it
}

func (f *flaky) Name() string { return "flaky" }
func (f *flaky) Tools(context.Context) ([]*tool.Tool, error) {
	f.asked.Add(1)
	if f.gate != nil {
		<-f.gate
	}
	switch {
	case f.panic.Load():
		panic("at the source")
	case f.fail.Load():
		return nil, errors.New("the server is down")
	}
	return f.tools, nil
}

func TestFailingSourceDoesNotTakeTheRestDown(t *testing.T) {
	var r registry.Registry
	f := &flaky{tools: []*tool.Tool{newTool(t, "f:x@1.0.0", "flaky")}}
	f.fail.Store(true)
	bad := newTool(t, "s:bad@1.0.0", "spoilt")
	bad.Handler = nil
	add(t, &r, registry.Global, f)
	add(t, &r, registry.Global, registry.Static{Source: "solid", List: []*tool.Tool{newTool(t, "s:x@1.0.0", "solid"), bad}})

	s := snapshot(t, &r)
	if fmt.Sprint(s.Problems) != "[source flaky: the server is down source solid: s:bad@1.0.0 has no handler]" {
		t.Errorf("problems: %v", s.Problems)
	}
	if _, ok := s.View("").Latest("s.x"); !ok || s.View("").Len() != 1 {
		t.Error("the solid source is not there whole")
	}
	f.fail.Store(false)
	r.Invalidate("flaky")
	if s = snapshot(t, &r); s.View("").Len() != 2 || len(s.Problems) != 1 || s.Generation != 2 {
		t.Errorf("after recovery: %d tools, %v, generation %d", s.View("").Len(), s.Problems, s.Generation)
	}
	f.panic.Store(true)
	r.Invalidate()
	if s = snapshot(t, &r); s.View("").Len() != 2 || len(s.Problems) != 2 {
		t.Errorf("a panicking source lost its last tools: %d, %v", s.View("").Len(), s.Problems)
	}
	if !r.Remove("flaky") || r.Remove("flaky") {
		t.Error("Remove does not tell whether the source was there")
	}
	if s = snapshot(t, &r); s.View("").Len() != 1 {
		t.Errorf("%d tools after the flaky source went", s.View("").Len())
	}
}

func TestConcurrentReadersShareOneRebuild(t *testing.T) {
	var r registry.Registry
	f := &flaky{gate: make(chan struct{}), tools: []*tool.Tool{newTool(t, "f:x@1.0.0", "x")}}
	add(t, &r, registry.Global, f)
	var wg sync.WaitGroup
	var ready sync.WaitGroup
	for range 32 {
		ready.Add(1)
		wg.Go(func() {
			ready.Done()
			if s, err := r.Snapshot(t.Context()); err != nil || s.View("").Len() != 1 {
				t.Errorf("a reader got %v, %v", s, err)
			}
		})
	}
	ready.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Snapshot(ctx); tool.KindOf(err) != tool.Cancelled {
		t.Errorf("a reader whose time is over got %v", err)
	}
	close(f.gate)
	wg.Wait()
	if n := f.asked.Load(); n != 1 {
		t.Errorf("the source was asked %d times", n)
	}
}

// A change that comes while a rebuild runs must not be lost under its result.
func TestChangeDuringRebuildIsSeen(t *testing.T) {
	var r registry.Registry
	f := &flaky{gate: make(chan struct{})}
	add(t, &r, registry.Global, f)
	done := make(chan *registry.Snapshot)
	go func() {
		s, _ := r.Snapshot(context.Background())
		done <- s
	}()
	for f.asked.Load() == 0 { // until the rebuild is under way
	}
	add(t, &r, registry.Global, static(t, "late", "l:x@1.0.0"))
	close(f.gate)
	<-done
	if _, ok := snapshot(t, &r).View("").Latest("l.x"); !ok {
		t.Error("the source added during the rebuild is missing")
	}
}

func TestFind(t *testing.T) {
	var r registry.Registry
	s := static(t, "s", "fs:read@1.0.0", "fs:write@1.0.0", "fs.net:read@1.0.0", "fs:read@2.0.0")
	s.List[1].Spec.Tags = []string{"disk"}
	add(t, &r, registry.Global, s)
	v := snapshot(t, &r).View("")
	for _, c := range []struct {
		f    registry.Filter
		want string
	}{
		{registry.Filter{}, "fs:read@2.0.0 fs:read@1.0.0 fs:write@1.0.0 fs.net:read@1.0.0"},
		{registry.Filter{Namespace: "fs"}, "fs:read@2.0.0 fs:read@1.0.0 fs:write@1.0.0"},
		{registry.Filter{Prefix: "fs:read@1"}, "fs:read@1.0.0"},
		{registry.Filter{Tag: "disk"}, "fs:write@1.0.0"},
		{registry.Filter{Namespace: "none"}, ""},
	} {
		var got []string
		for _, t := range v.Find(c.f) {
			got = append(got, t.ID.String())
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v finds %v, want %s", c.f, got, c.want)
		}
	}
}

func TestResolve(t *testing.T) {
	var r registry.Registry
	s := static(t, "s", "filesystem:read@1.0.0", "filesystem:read@1.4.0", "filesystem:write@1.0.0", "database:read@1.0.0", "shell:bash@1.0.0",
		"secret:wipe@1.0.0", "mcp_github:create_issue@1.0.0", "web.page:fetch-all@1.0.0")
	s.List[1].Spec.Short = "Read"
	s.List[1].Spec.Aliases = []string{"Read", "choir.fs.read", "lire un fichier"}
	s.List[4].Spec.Short = "Bash"
	add(t, &r, registry.Global, s)
	v := snapshot(t, &r).View("")
	visible := func(t *tool.Tool) bool { return t.ID.Namespace != "secret" }

	for name, want := range map[string]string{
		"filesystem.read":            "filesystem:read@1.4.0",
		"filesystem:read@1.0.0":      "filesystem:read@1.0.0",
		"filesystem:read@~1.0":       "filesystem:read@1.0.0",
		"filesystem:read":            "filesystem:read@1.4.0",
		"filesystem__read":           "filesystem:read@1.4.0",
		"Read":                       "filesystem:read@1.4.0",
		"choir.fs.read":              "filesystem:read@1.4.0",
		"choir__fs__read":            "filesystem:read@1.4.0",
		"Bash":                       "shell:bash@1.0.0",
		"bash":                       "shell:bash@1.0.0",
		"write":                      "filesystem:write@1.0.0",
		"FileSystem.Write":           "filesystem:write@1.0.0",
		"filesystem::write":          "filesystem:write@1.0.0",
		"filesystem_write":           "filesystem:write@1.0.0",
		"filesystem write":           "filesystem:write@1.0.0",
		"filesystem/write":           "filesystem:write@1.0.0",
		"mcp_github__create_issue":   "mcp_github:create_issue@1.0.0",
		"createIssue":                "mcp_github:create_issue@1.0.0",
		"mcp_github_create_issue":    "mcp_github:create_issue@1.0.0",
		"web__page__fetch-all":       "web.page:fetch-all@1.0.0",
		"fetch_all":                  "web.page:fetch-all@1.0.0",
		"secret.wipe":                "secret:wipe@1.0.0", // exact: policy answers, not the name
		tool.WireName("secret.wipe"): "secret:wipe@1.0.0",
	} {
		got, err := v.Resolve(name, visible)
		if err != nil || got.ID.String() != want {
			t.Errorf("Resolve(%q) = %v, %v; want %s", name, got, err, want)
		}
	}
	for name, c := range map[string]struct {
		kind tool.Kind
		has  string
	}{
		"read":                   {tool.Ambiguous, "database.read or filesystem.read"},
		"filesystem.raed":        {tool.NotFound, "did you mean filesystem.read?"},
		"Bahs":                   {tool.NotFound, "did you mean shell.bash?"},
		"wriet":                  {tool.NotFound, "did you mean filesystem.write?"},
		"shell.zzzzzzzz":         {tool.NotFound, "shell has shell.bash"},
		"nothing_like_it":        {tool.NotFound, "call one of the tools there are"},
		"wipe":                   {tool.NotFound, "call one of the tools there are"},
		"secret.wip":             {tool.NotFound, "call one of the tools there are"},
		"filesystem:read@9.9.9":  {tool.NotFound, ""},
		"":                       {tool.NotFound, ""},
		strings.Repeat("é", 9e3): {tool.NotFound, ""},
	} {
		_, err := v.Resolve(name, visible)
		if tool.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.has) {
			t.Errorf("Resolve(%.30q) = %v; want %s with %q", name, err, c.kind, c.has)
		}
		if err != nil && (strings.Contains(err.Error(), "secret.wipe") || len(err.Error()) > 2000) {
			t.Errorf("Resolve(%.30q) names a tool that must not be known, or says too much: %.200s", name, err)
		}
	}
}

func catalog(b *testing.B, n int) *registry.Registry {
	var r registry.Registry
	s := registry.Static{Source: "many"}
	for i := range n {
		s.List = append(s.List, newTool(b, fmt.Sprintf("module%d:action%d@1.0.0", i/50, i), "one of many"))
	}
	add(b, &r, registry.Global, s)
	return &r
}

func BenchmarkLookup(b *testing.B) {
	r := catalog(b, 50_000)
	snapshot(b, r)
	id, _ := tool.ParseID("module500:action25000@1.0.0")
	b.Run("exact", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s, _ := r.Snapshot(b.Context())
			if _, ok := s.View("").Get(id); !ok {
				b.Fatal("lost")
			}
		}
	})
	b.Run("dotted", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s, _ := r.Snapshot(b.Context())
			if _, err := s.View("").Resolve("module500.action25000", nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("wire", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s, _ := r.Snapshot(b.Context())
			if _, err := s.View("").Resolve("module500__action25000", nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkRegister13000(b *testing.B) {
	for b.Loop() {
		r := catalog(b, 13_000)
		snapshot(b, r)
	}
}
