package watchers_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"callgate/internal/conversation"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/watchers"
	"callgate/internal/task"
	"callgate/tool"
)

func TestMain(m *testing.M) { kerneltest.Main(m, nil) }

var (
	ok    = kerneltest.OK
	write = kerneltest.Write
)

// gauge is the tool demo.gauge, which reads a number that a test sets, and demo.note,
// which notes what it is given.
type gauge struct {
	mu    sync.Mutex
	value any
	fails error
	reads int
	notes []string
}

func (g *gauge) set(v any, fails error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.value, g.fails = v, fails
}

func (g *gauge) checks() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reads
}

func (g *gauge) noted() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string{}, g.notes...)
}

func (g *gauge) tools(t testing.TB) []*tool.Tool {
	read := kerneltest.NewTool(t, "demo.gauge", tool.Runtime{Risk: tool.Low, SideEffect: tool.Read, Idempotent: true},
		func(context.Context) (any, error) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.reads++
			return map[string]any{"n": g.value}, g.fails
		})
	type text struct {
		Text string `json:"text"`
	}
	note, err := tool.Func("demo.note", "Notes a text.", tool.Runtime{Risk: tool.Low, SideEffect: tool.Write},
		func(_ context.Context, in text) (any, error) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.notes = append(g.notes, in.Text)
			return "noted", nil
		})
	ok(t, err)
	return []*tool.Tool{read, note}
}

// rules of an app with watchers.
const rules = `
runtime: {watchers: true}
agents: [{id: main, brain: {provider: offline}}]
tools:
  capabilities: {default_policy: auto}
`

func inFolder(t testing.TB, app string) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	ok(t, err)
	write(t, filepath.Join(folder, "callgate.yaml"), app)
	return folder
}

// place is a kernel with a conversation in a folder.
type place struct {
	*kernel.Kernel
	gauge  *gauge
	folder string
	talk   *conversation.Conversation
}

func open(t testing.TB, app string) *place {
	t.Helper()
	g := &gauge{value: 1}
	p := &place{Kernel: kerneltest.Open(t, kerneltest.StateDir(t), g.tools(t)...), gauge: g, folder: inFolder(t, app)}
	p.talk = kerneltest.OpenConversation(t, p.Kernel, p.folder)
	return p
}

// in returns the session of the conversation.
func (p *place) in(t testing.TB) *session.Session {
	t.Helper()
	s, err := p.Sessions.Get(p.talk.ID())
	ok(t, err)
	return s
}

// call makes a call that succeeds, and returns its data.
func (p *place) call(t testing.TB, name, args string) map[string]any {
	t.Helper()
	return success(t, p.in(t), name, args)
}

func success(t testing.TB, s *session.Session, name, args string) map[string]any {
	t.Helper()
	r := s.Call(t.Context(), session.CallRequest{Name: name, Args: json.RawMessage(args)})
	if r.Status != tool.Success {
		t.Fatalf("%s %s: %s", name, args, r.Summary)
	}
	var data map[string]any
	ok(t, json.Unmarshal(r.Data, &data))
	return data
}

// start starts a watcher, and returns its ID.
func (p *place) start(t testing.TB, args string) string {
	t.Helper()
	id, _ := p.call(t, "watch_start", args)["watcher_id"].(string)
	if len(id) != 12 {
		t.Fatalf("the watcher's ID is %q", id)
	}
	return id
}

// startAs starts a watcher with a call of that ID, by its handler alone: the gate makes no
// call twice.
func (p *place) startAs(t testing.TB, call, args string) string {
	t.Helper()
	snap, err := p.Kernel.Tools.Snapshot(t.Context())
	ok(t, err)
	start, found := snap.View("").Latest("context_builder.watch_start")
	if !found {
		t.Fatal("there is no watch_start")
	}
	r, err := start.Handler.Execute(t.Context(), tool.Call{
		ID: call, Tool: start.ID, Principal: p.in(t).Principal(), Args: json.RawMessage(args),
	}, tool.Grant{})
	ok(t, err)
	var data map[string]any
	ok(t, json.Unmarshal(r.Data, &data))
	id, _ := data["watcher_id"].(string)
	return id
}

// refuses makes a call that fails, and returns its error.
func refuses(t testing.TB, s *session.Session, name, args string) *tool.Error {
	t.Helper()
	r := s.Call(t.Context(), session.CallRequest{Name: name, Args: json.RawMessage(args)})
	if r.Error == nil {
		t.Fatalf("%s %s succeeds: %s", name, args, r.Summary)
	}
	return r.Error
}

// news returns what a conversation is owed, the oldest first.
func (p *place) news(t testing.TB) (texts []string) {
	t.Helper()
	owed, err := p.Tasks.Store().List(t.Context(), task.Query{Parent: p.talk.ID(), Owed: true})
	ok(t, err)
	for _, one := range owed {
		texts = append(texts, one.Outcome.Summary)
	}
	return texts
}

// awaitNews waits until the conversation is owed so many news.
func (p *place) awaitNews(t testing.TB, n int) []string {
	t.Helper()
	var texts []string
	kerneltest.Eventually(t, func() bool {
		texts = p.news(t)
		return len(texts) >= n
	})
	if len(texts) > n {
		t.Fatalf("%d news instead of %d: %q", len(texts), n, texts)
	}
	return texts
}

func contains(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in %q", part, text)
		}
	}
}

// running waits until the runner runs so many watchers.
func running(t testing.TB, k *kernel.Kernel, n int) {
	t.Helper()
	kerneltest.Eventually(t, func() bool {
		list, err := k.Tasks.Store().List(t.Context(), task.Query{Kinds: []string{watchers.Kind}, State: task.Running})
		ok(t, err)
		return len(list) == n
	})
}
