package browser_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
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

// fixture is the module, opened, with the schemas of its tools.
type fixture struct {
	t       testing.TB
	opened  *module.Instance
	tools   map[string]*tool.Tool
	inputs  map[string]*jsonschema.Schema
	outputs map[string]*jsonschema.Schema
}

// openModule opens the module for one test alone, with a browser of its own. Only tests
// that end the module or the browser need it.
func openModule(t testing.TB) *fixture {
	t.Helper()
	needBrowser(t)
	opened, err := browser.Module().Open(module.Host{})
	check(t, err)
	t.Cleanup(func() { check(t, opened.Close()) })
	return newFixture(t, opened)
}

// shared is the module for most tests: one browser for all, and a profile for each
// session.
var shared = sync.OnceValues(func() (*module.Instance, error) { return browser.Module().Open(module.Host{}) })

// sharedModule returns the shared module.
func sharedModule(t testing.TB) *fixture {
	t.Helper()
	needBrowser(t)
	opened, err := shared()
	check(t, err)
	return newFixture(t, opened)
}

func newFixture(t testing.TB, opened *module.Instance) *fixture {
	t.Helper()
	f := &fixture{
		t: t, opened: opened, tools: map[string]*tool.Tool{},
		inputs: map[string]*jsonschema.Schema{}, outputs: map[string]*jsonschema.Schema{},
	}
	for _, one := range opened.Tools {
		f.tools[one.ID.Name] = one
		f.inputs[one.ID.Name] = compile(t, one.Spec.Input)
		f.outputs[one.ID.Name] = compile(t, one.Spec.Output)
	}
	return f
}

func needBrowser(t testing.TB) {
	t.Helper()
	if _, err := process.Find(""); err != nil {
		t.Skipf("%v", err)
	}
}

func TestMain(m *testing.M) {
	if os.Getenv(kernelURL) != "" {
		runKernel()
		return
	}
	// Most tests wait more than they compute, so more of them than cores run at once.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
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

// session is a session of the module, with a workspace.
type session struct {
	*fixture
	id    string
	dir   string
	grant tool.Grant
}

type settings map[string]any

// local lets sessions open pages of this machine.
func local() settings { return settings{"private_hosts": []any{"127.0.0.1", "localhost"}} }

// with adds a setting.
func (s settings) with(name string, value any) settings {
	s[name] = value
	return s
}

// session starts a session, which ends with the test. Its id is its name and that of the
// test.
func (f *fixture) session(name string, config, constraints settings) *session {
	f.t.Helper()
	dir, err := filepath.EvalSymlinks(f.t.TempDir())
	check(f.t, err)
	root, err := os.OpenRoot(dir)
	check(f.t, err)
	id := f.t.Name() + "/" + name
	f.t.Cleanup(func() {
		f.opened.OnSessionEnd(id)
		_ = root.Close()
	})
	s := &session{fixture: f, id: id, dir: dir, grant: tool.Grant{Workspace: dir, Root: root, Network: true}}
	s.configure(config, constraints)
	return s
}

// configure sets the settings of the session's next calls.
func (s *session) configure(config, constraints settings) {
	s.t.Helper()
	m := browser.Module()
	read, err := m.Read(config, constraints)
	check(s.t, err)
	s.grant.Settings = read
}

// newSession starts a session of the shared module that may open pages of this machine.
func newSession(t testing.TB) *session {
	t.Helper()
	return sharedModule(t).session("", nil, local())
}

// site serves pages by their paths.
func site(t testing.TB, pages map[string]string) *httptest.Server {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!doctype html><title>"+strings.TrimPrefix(r.URL.Path, "/")+"</title>"+body)
	})
}

// serve serves HTTP until the test ends.
func serve(t testing.TB, handle http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return server
}

// on starts a session that shows a page.
func on(t testing.TB, body string) *session {
	t.Helper()
	s := newSession(t)
	s.call("navigate", args{"url": site(t, map[string]string{"/": body}).URL})
	return s
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

// meets checks data against a schema.
func meets(t testing.TB, s *jsonschema.Schema, data json.RawMessage) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	check(t, err)
	if err := s.Validate(doc); err != nil {
		t.Errorf("%s does not meet its schema: %v", data, err)
	}
}

type args map[string]any

// try calls a tool and checks its arguments and its result against its schemas.
func (s *session) try(name string, a args) (*tool.Result, error) {
	s.t.Helper()
	raw, err := json.Marshal(a)
	check(s.t, err)
	meets(s.t, s.inputs[name], raw)
	call := tool.Call{Args: raw, Principal: tool.Principal{Session: s.id}}
	r, err := s.tools[name].Handler.Execute(s.t.Context(), call, s.grant)
	if err != nil {
		var e *tool.Error
		if !errors.As(err, &e) || e.Op != "web.browse."+name || e.Message == "" {
			s.t.Errorf("%s(%s): %#v is not an error of the tool", name, raw, err)
		}
		return nil, err
	}
	meets(s.t, s.outputs[name], r.Data)
	return r, nil
}

// call calls a tool that must succeed.
func (s *session) call(name string, a args) *tool.Result {
	s.t.Helper()
	r, err := s.try(name, a)
	if err != nil {
		s.t.Fatalf("%s(%v): %v", name, a, err)
	}
	return r
}

// refused calls a tool that must fail with the kind, and whose error contains the words.
func (s *session) refused(kind tool.Kind, name string, a args, words ...string) {
	s.t.Helper()
	r, err := s.try(name, a)
	if err == nil {
		s.t.Fatalf("%s(%v) was not refused: %s", name, a, r.Summary)
	}
	if got := tool.KindOf(err); got != kind {
		s.t.Errorf("%s(%v): kind %s, want %s: %v", name, a, got, kind, err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			s.t.Errorf("%s(%v): %q does not say %q", name, a, err, word)
		}
	}
}

// text reads the page.
func (s *session) text(a args) string {
	s.t.Helper()
	r := s.call("read", a)
	if len(r.Content) == 0 {
		return ""
	}
	_, text, _ := strings.Cut(r.Content[0].Text, "\n\n")
	return text
}

// tree reads the page as a tree.
func (s *session) tree() string { s.t.Helper(); return s.text(args{"format": "tree"}) }

// file reads a file of the workspace.
func (s *session) file(name string) string {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(name)))
	check(s.t, err)
	return string(b)
}

// ref returns the reference in the first line of a tree that contains the words.
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
	t.Fatalf("no line contains %q in the tree\n%s", words, tree)
	return ""
}

func contains(t testing.TB, text string, words ...string) {
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

// data decodes the data of a result.
func data[T any](t testing.TB, r *tool.Result) T {
	t.Helper()
	var v T
	check(t, json.Unmarshal(r.Data, &v))
	return v
}

// stateData is the part of the results that most tools share.
type stateData struct {
	Tab, URL, Title    string
	Status             int
	Loading, Navigated bool
	Dialogs            []struct{ Type, Message, Answer string }
	Popups             []struct{ Tab, URL string }
	Downloads          []download
}
