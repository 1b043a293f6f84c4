package filesystem_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/module/filesystem"
	"callgate/tool"
)

// fixture is a workspace in a temporary folder, with a folder outside it.
type fixture struct {
	t       testing.TB
	dir     string
	outside string
	grant   tool.Grant
	caller  tool.Principal
	tools   map[string]*tool.Tool
	schemas map[string]*jsonschema.Schema
}

func newFixture(t testing.TB) *fixture { return newFixtureWith(t, filesystem.Config{}) }

func newFixtureWith(t testing.TB, c filesystem.Config) *fixture {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	g := &fixture{t: t, dir: filepath.Join(base, "work"), outside: filepath.Join(base, "outside")}
	check(t, os.Mkdir(g.dir, 0o755))
	check(t, os.Mkdir(g.outside, 0o755))
	check(t, os.WriteFile(filepath.Join(g.outside, "secret"), []byte("SECRET\n"), 0o644))
	root, err := os.OpenRoot(g.dir)
	check(t, err)
	t.Cleanup(func() { root.Close() })
	g.grant = tool.Grant{Workspace: g.dir, Root: root}
	g.tools, g.schemas = make(map[string]*tool.Tool), make(map[string]*jsonschema.Schema)
	for _, one := range filesystem.Tools(c) {
		g.tools[one.ID.Name] = one
		g.schemas[one.ID.Name] = compile(t, one.Spec.Output)
	}
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

// try calls a tool and checks the result against the tool's contract.
func (g *fixture) try(name string, a args) (*tool.Result, error) {
	g.t.Helper()
	raw, err := json.Marshal(a)
	check(g.t, err)
	r, err := g.tools[name].Handler.Execute(g.t.Context(), tool.Call{Args: raw, Principal: g.caller}, g.grant)
	if err != nil {
		var e *tool.Error
		if !errors.As(err, &e) || e.Op != "filesystem."+name || e.Message == "" {
			g.t.Errorf("%s(%s): %v is not an error of the tool", name, raw, err)
		}
		return nil, err
	}
	meets(g.t, g.schemas[name], r.Data)
	return r, nil
}

func (g *fixture) call(name string, a args) *tool.Result {
	g.t.Helper()
	r, err := g.try(name, a)
	if err != nil {
		g.t.Fatalf("%s(%v): %v", name, a, err)
	}
	return r
}

// refused calls a tool that must fail with the kind, and an error that holds each of
// the words.
func (g *fixture) refused(kind tool.Kind, name string, a args, words ...string) *tool.Error {
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

func (g *fixture) put(name, content string) {
	g.t.Helper()
	full := filepath.Join(g.dir, name)
	check(g.t, os.MkdirAll(filepath.Dir(full), 0o755))
	check(g.t, os.WriteFile(full, []byte(content), 0o644))
}

func (g *fixture) get(name string) string {
	g.t.Helper()
	data, err := os.ReadFile(filepath.Join(g.dir, name))
	check(g.t, err)
	return string(data)
}

func (g *fixture) link(to, name string) {
	g.t.Helper()
	full := filepath.Join(g.dir, name)
	check(g.t, os.MkdirAll(filepath.Dir(full), 0o755))
	if err := os.Symlink(to, full); err != nil {
		g.t.Skipf("no symbolic links here: %v", err)
	}
}

// has fails when the folder outside is no longer as it was made.
func (g *fixture) outsideUntouched() {
	g.t.Helper()
	entries, err := os.ReadDir(g.outside)
	check(g.t, err)
	data, err := os.ReadFile(filepath.Join(g.outside, "secret"))
	check(g.t, err)
	if len(entries) != 1 || string(data) != "SECRET\n" {
		g.t.Fatalf("the folder outside was changed: %d entries, secret %q", len(entries), data)
	}
}

// noLitter fails the test if a temporary file is left.
func (g *fixture) noLitter() {
	g.t.Helper()
	check(g.t, filepath.WalkDir(g.dir, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".tmp") {
			g.t.Errorf("%s was left behind", path)
		}
		return err
	}))
}

func text(r *tool.Result) string {
	var b strings.Builder
	for _, c := range r.Content {
		b.WriteString(c.Text)
	}
	return b.String()
}

func data[T any](t testing.TB, r *tool.Result) T {
	t.Helper()
	var v T
	check(t, json.Unmarshal(r.Data, &v))
	return v
}

func TestEachToolIsFitToPublish(t *testing.T) {
	t.Parallel()
	shorts, aliases := map[string]string{}, map[string]string{}
	for _, one := range filesystem.Tools(filesystem.Config{}) {
		t.Run(one.ID.Name, func(t *testing.T) {
			check(t, one.Validate())
			if one.Spec.Name != one.ID.Dotted() || one.ID.String() != "filesystem:"+one.ID.Name+"@1.0.0" {
				t.Errorf("named %q, id %s", one.Spec.Name, one.ID)
			}
			if one.Spec.Short == "" || shorts[one.Spec.Short] != "" {
				t.Errorf("short name %q is missing or taken by %s", one.Spec.Short, shorts[one.Spec.Short])
			}
			shorts[one.Spec.Short] = one.ID.Name
			for _, a := range one.Spec.Aliases {
				if aliases[a] != "" && !slices.Contains(filesystem.EditorNames, a) {
					t.Errorf("alias %q is taken by %s", a, aliases[a])
				}
				aliases[a] = one.ID.Name
			}
			input := compile(t, one.Spec.Input)
			if len(one.Spec.Examples) == 0 {
				t.Error("no example")
			}
			for _, e := range one.Spec.Examples {
				meets(t, input, e.Args)
			}
			compile(t, one.Spec.Output)
			described(t, one)
		})
	}
}

// described checks the rules for an input schema: it is closed, and every
// parameter explained; and every claim names a parameter that is always there.
func described(t *testing.T, one *tool.Tool) {
	t.Helper()
	var schema struct {
		Properties map[string]struct {
			Description string
			Default     any
		}
		Required             []string
		AdditionalProperties *bool
	}
	check(t, json.Unmarshal(one.Spec.Input, &schema))
	if schema.AdditionalProperties == nil || *schema.AdditionalProperties {
		t.Error("the input schema is open")
	}
	for name, p := range schema.Properties {
		if p.Description == "" {
			t.Errorf("parameter %s is not described", name)
		}
	}
	for _, e := range one.Runtime.Effects {
		name, _, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(e.Resource, "file:{"), "}"), "|")
		p, known := schema.Properties[name]
		if !known || p.Default == nil && !strings.Contains(strings.Join(schema.Required, " "), name) {
			t.Errorf("the claim on %s may find no argument", e.Resource)
		}
	}
}
