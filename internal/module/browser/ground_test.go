package browser_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/module"
	"callgate/internal/module/browser"
	"callgate/internal/module/browser/process"
	"callgate/tool"
)

// house is the module, opened.
type house struct {
	t       testing.TB
	opened  *module.Instance
	tools   map[string]*tool.Tool
	inputs  map[string]*jsonschema.Schema
	outputs map[string]*jsonschema.Schema
	log     *buffer
}

// newHouse opens the module for one test.
func newHouse(t testing.TB) *house {
	t.Helper()
	needBrowser(t)
	log := new(buffer)
	opened, err := browser.Module().Open(module.Host{Log: slog.New(slog.NewTextHandler(log, nil))})
	check(t, err)
	t.Cleanup(func() { check(t, opened.Close()) })
	return houseOf(t, opened, log)
}

func houseOf(t testing.TB, opened *module.Instance, log *buffer) *house {
	t.Helper()
	h := &house{t: t, opened: opened, tools: map[string]*tool.Tool{}, inputs: map[string]*jsonschema.Schema{}, outputs: map[string]*jsonschema.Schema{}, log: log}
	for _, one := range opened.Tools {
		h.tools[one.ID.Name] = one
		h.inputs[one.ID.Name] = compile(t, one.Spec.Input)
		h.outputs[one.ID.Name] = compile(t, one.Spec.Output)
	}
	return h
}

func needBrowser(t testing.TB) {
	t.Helper()
	if _, err := process.Find(""); err != nil {
		t.Skipf("%v", err)
	}
}

// buffer is a log that many write to.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// shared is the module as most tests use it: one browser for all of them, and
// a session for each.
var shared = sync.OnceValues(func() (*module.Instance, error) { return browser.Module().Open(module.Host{}) })

func TestMain(m *testing.M) {
	if os.Getenv(doomed) != "" {
		beDoomed()
		return
	}
	code := m.Run()
	if opened, err := shared(); err == nil {
		if err := opened.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// ground is a session of the module, with a workspace.
type ground struct {
	*house
	session string
	dir     string
	grant   tool.Grant
}

type settings map[string]any

// local lets pages of this machine be opened.
var local = settings{"private_hosts": []any{"127.0.0.1", "localhost"}}

func (h *house) session(name string, constraints settings) *ground {
	h.t.Helper()
	return h.sessionWith(name, nil, constraints)
}

func (h *house) sessionWith(name string, config, constraints settings) *ground {
	h.t.Helper()
	dir, err := filepath.EvalSymlinks(h.t.TempDir())
	check(h.t, err)
	root, err := os.OpenRoot(dir)
	check(h.t, err)
	h.t.Cleanup(func() { _ = root.Close() })
	m := browser.Module()
	s, err := m.Read(config, constraints)
	check(h.t, err)
	return &ground{house: h, session: name, dir: dir, grant: tool.Grant{Workspace: dir, Root: root, Network: true, Settings: s}}
}

// newGround is a session of the shared module that may open pages of this
// machine.
func newGround(t testing.TB) *ground {
	t.Helper()
	needBrowser(t)
	opened, err := shared()
	check(t, err)
	g := houseOf(t, opened, nil).session(t.Name(), local)
	t.Cleanup(func() { opened.OnSessionEnd(t.Name()) })
	return g
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func compile(t testing.TB, schema json.RawMessage) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	check(t, err)
	c := jsonschema.NewCompiler()
	check(t, c.AddResource("mem:schema", doc))
	s, err := c.Compile("mem:schema")
	check(t, err)
	return s
}

func meets(t testing.TB, s *jsonschema.Schema, data json.RawMessage) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	check(t, err)
	if err := s.Validate(doc); err != nil {
		t.Errorf("%s does not meet its schema: %v", data, err)
	}
}

type args map[string]any

// try calls a tool and holds what goes in and out against its contract.
func (g *ground) try(name string, a args) (*tool.Result, error) {
	g.t.Helper()
	raw, err := json.Marshal(a)
	check(g.t, err)
	meets(g.t, g.inputs[name], raw)
	call := tool.Call{Args: raw, Principal: tool.Principal{Session: g.session}}
	r, err := g.tools[name].Handler.Execute(g.t.Context(), call, g.grant)
	if err != nil {
		var e *tool.Error
		if !errors.As(err, &e) || e.Op != "web.browse."+name || e.Message == "" {
			g.t.Errorf("%s(%s): %#v is not an error of the tool", name, raw, err)
		}
		return nil, err
	}
	meets(g.t, g.outputs[name], r.Data)
	return r, nil
}

func (g *ground) call(name string, a args) *tool.Result {
	g.t.Helper()
	r, err := g.try(name, a)
	if err != nil {
		g.t.Fatalf("%s(%v): %v", name, a, err)
	}
	return r
}

// refused calls a tool that must fail with the kind, in words that hold each
// of the given ones.
func (g *ground) refused(kind tool.Kind, name string, a args, words ...string) *tool.Error {
	g.t.Helper()
	r, err := g.try(name, a)
	if err == nil {
		g.t.Fatalf("%s(%v) was not refused: %s", name, a, r.Summary)
	}
	if got := tool.KindOf(err); got != kind {
		g.t.Errorf("%s(%v): kind %s, want %s: %v", name, a, got, kind, err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			g.t.Errorf("%s(%v): %q does not say %q", name, a, err, word)
		}
	}
	var e *tool.Error
	errors.As(err, &e)
	return e
}

// text reads the page.
func (g *ground) text(a args) string {
	g.t.Helper()
	r := g.call("read", a)
	if len(r.Content) == 0 {
		return ""
	}
	_, text, _ := strings.Cut(r.Content[0].Text, "\n\n")
	return text
}

func (g *ground) tree() string { g.t.Helper(); return g.text(args{"format": "tree"}) }

// ref finds the reference of the first line of a tree that holds the words.
func ref(t testing.TB, tree string, words ...string) string {
	t.Helper()
lines:
	for line := range strings.Lines(tree) {
		for _, w := range words {
			if !strings.Contains(line, w) {
				continue lines
			}
		}
		if _, after, ok := strings.Cut(line, "[e"); ok {
			number, _, _ := strings.Cut(after, "]")
			return "e" + number
		}
	}
	t.Fatalf("nothing in the tree says %q:\n%s", words, tree)
	return ""
}

func holds(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in:\n%s", w, text)
		}
	}
}

func lacks(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if strings.Contains(text, w) {
			t.Errorf("%q is in:\n%s", w, text)
		}
	}
}

// data reads a field of a result's data.
func data[T any](t testing.TB, r *tool.Result) T {
	t.Helper()
	var v T
	check(t, json.Unmarshal(r.Data, &v))
	return v
}

type stateData struct {
	Tab, URL, Title    string
	Status             int
	Loading, Navigated bool
	Dialogs            []struct{ Type, Message, Answer string }
	Popups             []struct{ Tab, URL string }
	Downloads          []struct {
		Path, Name, URL, State, Why string
		Bytes                       int64
	}
}

func (g *ground) file(name string) string {
	g.t.Helper()
	b, err := os.ReadFile(filepath.Join(g.dir, filepath.FromSlash(name)))
	check(g.t, err)
	return string(b)
}
