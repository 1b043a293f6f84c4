package memory_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/module"
	"callgate/internal/module/memory"
	"callgate/internal/search/embed"
	"callgate/internal/storage/sqlite"
	"callgate/tool"
)

// fixture is an open module with documents, and a principal that calls its tools.
type fixture struct {
	t        testing.TB
	module   module.Module
	host     module.Host
	folder   string // of the database
	instance *module.Instance
	by       tool.Principal
	grant    tool.Grant
}

// setup is what a kernel may give the module; the zero value gives nothing.
type setup struct {
	Embedder   module.Embedder
	Summarizer memory.Summarizer
}

func newFixture(t testing.TB, s setup) *fixture {
	t.Helper()
	folder := t.TempDir()
	db, err := sqlite.Open(t.Context(), filepath.Join(folder, "state.db"))
	check(t, err)
	t.Cleanup(func() { check(t, db.Close()) })
	f := &fixture{
		t: t, module: memory.Module(memory.Config{Summarizer: s.Summarizer}), folder: folder,
		host: module.Host{State: t.TempDir(), Documents: db.Stores().Documents, Embedder: s.Embedder},
		by:   tool.Principal{User: "ada", App: "engine", Session: "s1"},
	}
	f.open()
	return f
}

func (f *fixture) open() {
	f.t.Helper()
	var err error
	f.instance, err = f.module.Open(f.host)
	check(f.t, err)
}

// restart closes the module and opens it again, as a new kernel would.
func (f *fixture) restart() {
	f.t.Helper()
	check(f.t, f.instance.Close())
	f.open()
}

// configure gives the calls the settings of an app file.
func (f *fixture) configure(config map[string]any) {
	f.t.Helper()
	var err error
	f.grant.Settings, err = f.module.Read(config, nil)
	check(f.t, err)
}

// as returns a fixture for another principal of the same module.
func (f *fixture) as(user, app, session string) *fixture {
	other := *f
	other.by = tool.Principal{User: user, App: app, Session: session}
	return &other
}

func (f *fixture) tool(name string) *tool.Tool {
	f.t.Helper()
	for _, t := range f.instance.Tools {
		if t.ID.Name == name {
			return t
		}
	}
	f.t.Fatalf("there is no tool %s", name)
	return nil
}

// try calls a tool as the kernel does, with arguments that are valid by its schema.
func (f *fixture) try(name, args string) (*tool.Result, error) {
	f.t.Helper()
	one := f.tool(name)
	if err := validate(one.Spec.Input, json.RawMessage(args)); err != nil {
		f.t.Fatalf("%s(%s): %v", name, args, err)
	}
	r, err := one.Handler.Execute(f.t.Context(), tool.Call{Principal: f.by, Args: json.RawMessage(args)}, f.grant)
	if err == nil {
		if err := validate(one.Spec.Output, r.Data); err != nil {
			f.t.Errorf("%s(%s) gave %s: %v", name, args, r.Data, err)
		}
	}
	return r, err
}

// call calls a tool that must succeed, and decodes its data.
func (f *fixture) call(name, args string, into ...any) *tool.Result {
	f.t.Helper()
	r, err := f.try(name, args)
	if err != nil {
		f.t.Fatalf("%s(%s): %v", name, args, err)
	}
	for _, v := range into {
		check(f.t, json.Unmarshal(r.Data, v))
	}
	return r
}

// fails calls a tool that must fail with an error of a kind, a text in it, and a hint.
func (f *fixture) fails(name, args string, kind tool.Kind, text string) {
	f.t.Helper()
	_, err := f.try(name, args)
	var e *tool.Error
	if !errors.As(err, &e) || e.Kind != kind || !strings.Contains(e.ModelText(), text) || e.Hint == "" {
		f.t.Errorf("%s(%s): %v, want %s with %q and a hint", name, args, err, kind, text)
	}
}

func (f *fixture) section() string { return f.instance.PromptSection(f.by) }

// texts returns the results of a query, each as REF: TEXT.
func (f *fixture) texts(args string) []string {
	f.t.Helper()
	var data struct{ Results []struct{ Ref, Text string } }
	f.call("query", args, &data)
	var all []string
	for _, r := range data.Results {
		all = append(all, r.Ref+": "+r.Text)
	}
	return all
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func validate(schema, value json.RawMessage) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema", doc); err != nil {
		return err
	}
	s, err := c.Compile("schema")
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

func quoted(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}

// builtin is the embedding model of the kernel.
type builtin struct{ *embed.Static }

func (m builtin) Vectors(texts []string) ([][]float32, error) {
	all := make([][]float32, len(texts))
	for i, t := range texts {
		all[i] = m.Embed(nil, t)
	}
	return all, nil
}

func builtinEmbedder(t testing.TB) module.Embedder {
	t.Helper()
	m, err := embed.Builtin()
	check(t, err)
	return builtin{m}
}
