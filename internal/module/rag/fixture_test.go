package rag_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/module"
	"callgate/internal/module/rag"
	"callgate/internal/pdftext"
	_ "callgate/internal/sandbox/selfstart" // PDFs are read in the sandbox
	"callgate/internal/search/embed"
	"callgate/tool"
)

func TestMain(m *testing.M) {
	if pdftext.RunHelper() {
		return
	}
	os.Exit(m.Run())
}

// fixture is an open module, and a principal with a workspace that calls its tools.
type fixture struct {
	t        testing.TB
	module   module.Module
	host     module.Host
	instance *module.Instance
	by       tool.Principal
	grant    tool.Grant
}

func newFixture(t testing.TB, m module.Module, files map[string]string) *fixture {
	t.Helper()
	f := &fixture{
		t: t, module: m, host: module.Host{State: t.TempDir(), Embedder: builtinEmbedder(t)},
		by: tool.Principal{User: "ada", App: "harbour", Session: "s1"},
	}
	f.enter(t.TempDir())
	for name, text := range files {
		f.write(name, text)
	}
	f.open()
	return f
}

// enter makes a folder the workspace.
func (f *fixture) enter(dir string) {
	f.t.Helper()
	root, err := os.OpenRoot(dir)
	check(f.t, err)
	f.t.Cleanup(func() { _ = root.Close() })
	real, err := filepath.EvalSymlinks(dir)
	check(f.t, err)
	f.grant.Root, f.grant.Workspace = root, real
}

func (f *fixture) write(name, text string) {
	f.t.Helper()
	path := filepath.Join(f.grant.Workspace, name)
	check(f.t, os.MkdirAll(filepath.Dir(path), 0o755))
	check(f.t, os.WriteFile(path, []byte(text), 0o644))
}

func (f *fixture) remove(name string) { check(f.t, os.Remove(filepath.Join(f.grant.Workspace, name))) }

func (f *fixture) open() {
	f.t.Helper()
	var err error
	f.instance, err = f.module.Open(f.host)
	check(f.t, err)
	closing := f.instance.Close
	f.t.Cleanup(func() { _ = closing() })
}

// configure gives the calls the settings of an app file.
func (f *fixture) configure(config, constraints map[string]any) {
	f.t.Helper()
	var err error
	f.grant.Settings, err = f.module.Read(config, constraints)
	check(f.t, err)
}

// try calls a tool as the kernel does, with arguments that are valid by its schema.
func (f *fixture) try(name, args string) (*tool.Result, error) {
	f.t.Helper()
	for _, one := range f.instance.Tools {
		if one.ID.Name != name {
			continue
		}
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
	f.t.Fatalf("there is no tool %s", name)
	return nil, nil
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

// fails calls a tool that must fail with an error of a kind and a text in it.
func (f *fixture) fails(name, args string, kind tool.Kind, text string) {
	f.t.Helper()
	_, err := f.try(name, args)
	var e *tool.Error
	if !errors.As(err, &e) || e.Kind != kind || !strings.Contains(e.ModelText(), text) {
		f.t.Errorf("%s(%s): %v, want %s with %q", name, args, err, kind, text)
	}
}

// citations returns where the answers of a question stand.
func (f *fixture) citations(name, args string) []string {
	f.t.Helper()
	var data struct{ Passages []struct{ Citation string } }
	f.call(name, args, &data)
	var all []string
	for _, p := range data.Passages {
		all = append(all, p.Citation)
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

func harbour(t testing.TB) *fixture {
	return newFixture(t, rag.Module(), map[string]string{
		"docs/mooring.md": "# Mooring\n\nBoats moor at the north quay for at most three days.\n\n## Fees\n\n" +
			"The fee is twelve crowns a night.\n",
		"docs/fuel.html":    "<title>Fuel</title>\n<h1>Fuel</h1>\n<p>Diesel is sold at the pump on the east pier.</p>",
		"docs/crew.csv":     "name,role\nAda,harbour master\nBob,cook\n",
		"docs/secret.bin":   "\x00\x01\x02",
		"docs/ignored.md":   "# Ignored\n\nNobody reads this about walruses.\n",
		".gitignore":        "ignored.md\n",
		"src/tide.go":       "package tide\n\n// Height returns how high the water stands.\nfunc Height() int { return 3 }\n",
		"docs/.hidden.md":   "walruses again",
		"docs/storm/log.md": "# Storm log\n\nIn 1987 the lighthouse lost its lamp.\n",
	})
}
