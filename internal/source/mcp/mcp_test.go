package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/gate/schema"
	"callgate/internal/source/mcp"
	"callgate/internal/source/mcp/config"
	"callgate/tool"
)

// local is the config of a kind of test server. It says the numbers of processes as
// its test knows them, so it has no namespace of its own.
func local(kind string) mcp.Config {
	return mcp.Config{Name: "actor", Command: os.Args[0], Isolation: mcp.Isolation{Mode: config.None},
		Env: map[string]string{kindVariable: kind, "GORACE": "atexit_sleep_ms=0"}}
}

// changes counts the changes of tools.
type changes struct {
	mu  sync.Mutex
	n   int
	new chan struct{}
}

func (c *changes) changed(*mcp.Server) {
	c.mu.Lock()
	c.n++
	c.mu.Unlock()
	c.new <- struct{}{}
}

// wait waits for the next change.
func (c *changes) wait(t testing.TB) {
	t.Helper()
	select {
	case <-c.new:
	case <-time.After(30 * time.Second):
		t.Fatal("no change came")
	}
}

func newChanges() *changes { return &changes{new: make(chan struct{}, 100)} }

func compile(raw json.RawMessage) error { _, err := schema.Compile(raw); return err }

// open makes a manager that is closed with the test.
func open(t testing.TB, opt mcp.Options) *mcp.Manager {
	t.Helper()
	if opt.Check == nil {
		opt.Check = compile
	}
	h := mcp.New(opt)
	t.Cleanup(h.Close)
	return h
}

// server makes a server with a manager of its own.
func server(t testing.TB, cfg mcp.Config, opt mcp.Options) *mcp.Server {
	t.Helper()
	s, err := open(t, opt).Server(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// refreshed starts a server and returns it with its tools.
func refreshed(t testing.TB, cfg mcp.Config, opt mcp.Options) (*mcp.Server, map[string]*tool.Tool) {
	t.Helper()
	s := server(t, cfg, opt)
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, tools(t, s)
}

// tools are a server's tools by name.
func tools(t testing.TB, s *mcp.Server) map[string]*tool.Tool {
	t.Helper()
	list, err := s.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*tool.Tool{}
	for _, x := range list {
		if err := x.Validate(); err != nil {
			t.Error(err)
		}
		byName[x.ID.Name] = x
	}
	return byName
}

// call calls a tool.
func call(ctx context.Context, x *tool.Tool, args string) (*tool.Result, error) {
	return x.Handler.Execute(ctx, tool.Call{ID: "call-1", Args: json.RawMessage(args)}, tool.Grant{})
}

// textOf is the text of a result.
func textOf(t testing.TB, r *tool.Result, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if r.Error != nil {
		t.Fatal(r.Error)
	}
	var text strings.Builder
	for _, c := range r.Content {
		text.WriteString(c.Text)
	}
	return text.String()
}

// expectError fails unless err is of a kind and its text contains all of these.
func expectError(t testing.TB, err error, kind tool.Kind, words ...string) {
	t.Helper()
	if tool.KindOf(err) != kind {
		t.Errorf("error of kind %q: %v; want %q", tool.KindOf(err), err, kind)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error does not say %q: %v", w, err)
		}
	}
}

// poll waits for a condition, and reports whether it came true.
func poll(ok func() bool) bool {
	tick, late := time.NewTicker(2*time.Millisecond), time.After(30*time.Second)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			return false
		}
	}
	return true
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	if !poll(ok) {
		t.Fatal("this never came: " + what)
	}
}

func TestToolsOfAServer(t *testing.T) {
	t.Parallel()
	s, byName := refreshed(t, local("normal"), mcp.Options{})
	echo := byName["echo"]
	if echo == nil || echo.ID.String() != "mcp_actor:echo@1.0.0" || echo.Spec.Description != "Says it again." {
		t.Fatalf("echo is %+v", echo)
	}
	if echo.Runtime.Risk != tool.Low || echo.Runtime.SideEffect != tool.Read {
		t.Errorf("echo has %s, %s", echo.Runtime.Risk, echo.Runtime.SideEffect)
	}
	r, err := call(t.Context(), echo, `{"text":"hello"}`)
	if got := textOf(t, r, err); got != "hello" || r.Summary != "hello" {
		t.Errorf("echo said %q, %q", got, r.Summary)
	}
	r, err = call(t.Context(), byName["add"], `{"A":20,"B":22}`)
	if textOf(t, r, err); string(r.Data) != `{"sum":42}` {
		t.Errorf("add gave %s", r.Data)
	}
	r, err = call(t.Context(), byName["fail"], `{}`)
	if err != nil || r.Status != tool.Failure || r.Error.Kind != tool.Failed || r.Error.Message != "the moon is not full" {
		t.Errorf("fail gave %+v, %v", r, err)
	}
	st := s.Status()
	if st.State != mcp.Running || st.Pid == 0 || st.Protocol != "2026-07-28" || st.Server != "actor 1.2.3" || st.Calls != 3 ||
		st.Failures != 0 ||
		st.Instructions != "be kind" {
		t.Errorf("status %+v", st)
	}
	if p := s.Problems(); len(p) != 0 {
		t.Errorf("problems %v", p)
	}
}

func TestEqualConfigsShareOneProcess(t *testing.T) {
	t.Parallel()
	h := open(t, mcp.Options{})
	var pids []string
	var servers []*mcp.Server
	for range 2 {
		s, err := h.Server(local("normal"))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err := call(t.Context(), tools(t, s)["pid"], "")
		pids = append(pids, textOf(t, r, err))
		servers = append(servers, s)
	}
	if pids[0] != pids[1] || servers[0] != servers[1] {
		t.Errorf("processes %v", pids)
	}
	other := local("normal")
	other.Env["X"] = "y"
	o, err := h.Server(other)
	if err != nil || o == servers[0] || o.Key() == servers[0].Key() {
		t.Errorf("another config gave the same server: %v", err)
	}
	servers[0].Release()
	if st := servers[0].Status(); st.State != mcp.Running {
		t.Errorf("with one holder left it is %s", st.State)
	}
	pid := servers[0].Status().Pid
	servers[1].Release()
	eventually(t, "its end", func() bool { return !alive(pid) })
	servers[1].Release() // once too often
	_, err = call(t.Context(), tools(t, servers[0])["pid"], "")
	expectError(t, err, tool.Unavailable, "stopped")
}

func TestBadConfigsAreRefused(t *testing.T) {
	t.Parallel()
	_, err := open(t, mcp.Options{}).Server(mcp.Config{Name: "n"})
	expectError(t, err, tool.Invalid, "either a command or a url")
}

func TestWhatTheAppFileSaysWins(t *testing.T) {
	t.Parallel()
	cfg := local("normal")
	cfg.Tools = map[string]mcp.ToolConfig{
		"echo": {Risk: tool.High, SideEffect: tool.Write, Effects: []tool.Effect{{Resource: "workspace", Mode: tool.U}},
			Idempotent: true},
		"die":   {Off: true},
		"ghost": {Risk: tool.Low},
	}
	s, byName := refreshed(t, cfg, mcp.Options{})
	// What the file says comes first, and the server's own claim stays beside it.
	if r := byName["echo"].Runtime; r.Risk != tool.High || r.SideEffect != tool.Write || !r.Idempotent ||
		len(r.Effects) != 2 || r.Effects[0].Resource != "workspace" || r.Effects[1].Resource != "server:user/actor" {
		t.Errorf("echo has %+v", r)
	}
	if byName["die"] != nil {
		t.Error("a tool that is off was published")
	}
	if p := fmt.Sprint(s.Problems()); !strings.Contains(p, "ghost") {
		t.Errorf("problems %s", p)
	}
}

func TestHostileNames(t *testing.T) {
	t.Parallel()
	s, byName := refreshed(t, local("hostile"), mcp.Options{})
	if len(byName) != len(hostileNames) {
		t.Errorf("%d tools of %d", len(byName), len(hostileNames))
	}
	called := map[string]bool{}
	for name, x := range byName {
		r, err := call(t.Context(), x, "")
		called[strings.TrimPrefix(textOf(t, r, err), "called ")] = true
		if x.Spec.Description == "" || name != x.ID.Name {
			t.Errorf("%q is %+v", name, x)
		}
	}
	for _, name := range hostileNames {
		if !called[name] {
			t.Errorf("%q was never called", name)
		}
	}
	for _, plain := range []string{"search_tools", "a_b", "get_user", "buro"} {
		if byName[plain] == nil {
			t.Errorf("%q did not keep its name", plain)
		}
	}
	again := tools(t, s)
	for name := range byName {
		if again[name] == nil {
			t.Errorf("%q has another name the second time", name)
		}
	}
}

func TestListsThatAreWrong(t *testing.T) {
	t.Parallel()
	s, byName := refreshed(t, local("twice"), mcp.Options{})
	if len(byName) != 4 || byName["same"].Spec.Description != "first" {
		t.Errorf("tools %v", byName)
	}
	for name, want := range map[string]string{"hopeless": `{"type":"object"}`, "missing": `{"type":"object"}`,
		"anything": `{"properties":{"x":{}},"type":"object"}`} {
		if got := string(byName[name].Spec.Input); got != want {
			t.Errorf("%s has the schema %s", name, got)
		}
	}
	problems := fmt.Sprint(s.Problems())
	for _, want := range []string{"same: the server lists it twice",
		`anything: its input schema was mended: the type "any"`, "hopeless: its input schema is not valid",
		"missing: it has no input schema"} {
		if !strings.Contains(problems, want) {
			t.Errorf("no problem says %q: %s", want, problems)
		}
	}
	err := server(t, local("endless"), mcp.Options{}).Refresh(t.Context())
	expectError(t, err, tool.Unavailable, "no end")
}

func TestResourcesAndPrompts(t *testing.T) {
	t.Parallel()
	s := server(t, local("normal"), mcp.Options{})
	ctx := t.Context()
	for _, c := range []struct {
		name string
		get  func() (any, error)
		want string
	}{
		{"resources", func() (any, error) { return s.ListResources(ctx) }, "file:///a.txt"},
		{"templates", func() (any, error) { return s.ListResourceTemplates(ctx) }, "file:///{name}"},
		{"prompts", func() (any, error) { return s.ListPrompts(ctx) }, "greet"},
	} {
		value, err := c.get()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		data, err := json.Marshal(value)
		if err != nil || !strings.Contains(string(data), c.want) {
			t.Errorf("%s: %s, %v", c.name, data, err)
		}
	}
	if st := s.Status(); !st.Resources || !st.Prompts {
		t.Errorf("status %+v", st)
	}
	list, err := server(t, local("old"), mcp.Options{}).ListPrompts(ctx)
	if err != nil || len(list) != 0 {
		t.Errorf("a server without prompts has %v, %v", list, err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s, byName := refreshed(t, local("refuses"), mcp.Options{})
	for _, c := range []struct {
		code int
		kind tool.Kind
	}{{-32602, tool.Invalid}, {-32601, tool.NotFound}, {-32603, tool.Failed}, {42, tool.Failed}} {
		_, err := call(t.Context(), byName["tell"], fmt.Sprintf(`{"code":%d}`, c.code))
		expectError(t, err, c.kind, "actor refuses mcp_actor.tell: not today")
	}
	_, err := call(t.Context(), byName["tell"], `{"code":0}`)
	expectError(t, err, tool.Failed, "no answer", "yodel")
	if st := s.Status(); st.State != mcp.Running || st.Failures != 5 || st.NextTry != (time.Time{}) {
		t.Errorf("a server that answers is not well: %+v", st)
	}
}

// dir makes a folder, and returns the paths of files in it. It is made before a server that
// writes there, so that it is removed after the server has ended.
func dir(t testing.TB) func(string) string {
	d := t.TempDir()
	return func(name string) string { return filepath.Join(d, name) }
}
