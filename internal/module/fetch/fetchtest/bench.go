// Package fetchtest tests modules that fetch: it opens one with the settings of
// an app file, calls its tools, and holds arguments and results against their
// schemas. Only tests import it.
package fetchtest

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/module"
	"callgate/internal/module/fetch"
	"callgate/internal/netguard"
	"callgate/tool"
)

// Block is a block of an app file, or the arguments of a call.
type Block = map[string]any

// Local returns constraints that let a test reach its own servers.
func Local() Block { return Block{"private_hosts": []any{"127.0.0.1", "localhost"}} }

// Options returns options under which a broken download is continued at once.
// A nil resolver is the system's.
func Options(r netguard.Resolver) fetch.Options {
	return fetch.Options{Resolver: r, RetryPause: time.Microsecond}
}

// Bench is an open module with a workspace. Its fields may be changed between
// calls.
type Bench struct {
	Instance *module.Instance
	Grant    tool.Grant
	Caller   tool.Principal
	Dir      string // the workspace

	t       testing.TB
	module  module.Module
	schemas sync.Map // compiled, by their text
}

// Open opens a module with the settings of an app file. The test closes it.
func Open(t testing.TB, m module.Module, config, constraints Block) *Bench {
	t.Helper()
	opened, err := m.Open(module.Host{Cache: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if opened.Close != nil {
			_ = opened.Close()
		}
	})
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	b := &Bench{
		Instance: opened, Dir: dir, t: t, module: m,
		Grant:  tool.Grant{Root: root, Workspace: dir, Network: true},
		Caller: tool.Principal{User: "u", Session: "s"},
	}
	b.Set(config, constraints)
	return b
}

// Set gives the following calls the settings of another app file.
func (b *Bench) Set(config, constraints Block) {
	b.t.Helper()
	settings, err := b.module.Read(config, constraints)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Grant.Settings = settings
}

// Tool returns a tool of the module.
func (b *Bench) Tool(name string) *tool.Tool {
	b.t.Helper()
	for _, t := range b.Instance.Tools {
		if t.ID.Name == name {
			return t
		}
	}
	b.t.Fatalf("there is no tool %s", name)
	return nil
}

// Call calls a tool. Its arguments, and the data of a success, must match the
// tool's schemas.
func (b *Bench) Call(name string, args any) (*tool.Result, error) {
	b.t.Helper()
	t := b.Tool(name)
	raw, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	b.checkSchema(t.Spec.Input, raw)
	call := tool.Call{Name: name, Args: raw, Principal: b.Caller}
	r, err := t.Handler.Execute(b.t.Context(), call, b.Grant)
	if err == nil && r.Status == tool.Success {
		b.checkSchema(t.Spec.Output, r.Data)
	}
	return r, err
}

func (b *Bench) checkSchema(schema, value json.RawMessage) {
	b.t.Helper()
	s, ok := b.schemas.Load(string(schema))
	if !ok {
		s = compile(b.t, schema)
		b.schemas.Store(string(schema), s)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err == nil {
		err = s.(*jsonschema.Schema).Validate(v)
	}
	if err != nil {
		b.t.Fatalf("%s does not match its schema: %v", value, err)
	}
}

func compile(t testing.TB, schema json.RawMessage) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err == nil {
		err = c.AddResource("schema.json", doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// WriteFile puts a file into the workspace.
func (b *Bench) WriteFile(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.Dir, name), []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// ReadFile returns a file of the workspace.
func (b *Bench) ReadFile(name string) []byte {
	b.t.Helper()
	content, err := os.ReadFile(filepath.Join(b.Dir, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return content
}

// Files lists the names in the workspace, with hidden ones.
func (b *Bench) Files() []string {
	b.t.Helper()
	entries, err := os.ReadDir(b.Dir)
	if err != nil {
		b.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Data returns the data of a result; an error fails the test.
func Data(t testing.TB, r *tool.Result, err error) map[string]any {
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

// CheckError checks the kind of an error, and texts that it must contain.
func CheckError(t testing.TB, err error, kind tool.Kind, texts ...string) {
	t.Helper()
	if tool.KindOf(err) != kind {
		t.Errorf("%v (%s), want %s", err, tool.KindOf(err), kind)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q does not say %q", err, text)
		}
	}
}

// Serve starts a server that ends with the test.
func Serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// Connections counts the connections of a server.
type Connections struct{ Made, Open atomic.Int64 }

// ServeCounted starts a server as Serve does, and counts its connections.
func ServeCounted(t testing.TB, h http.HandlerFunc) (*httptest.Server, *Connections) {
	c := &Connections{}
	s := httptest.NewUnstartedServer(h)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			c.Made.Add(1)
			c.Open.Add(1)
		case http.StateClosed, http.StateHijacked:
			c.Open.Add(-1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s, c
}

// WaitFor waits for something that happens by itself very soon.
func WaitFor(t testing.TB, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); !done(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited too long for %s", what)
		}
	}
}
