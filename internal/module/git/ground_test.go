package git_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/module"
	"callgate/internal/module/git"
	"callgate/internal/sandbox"
	"callgate/tool"
)

// ground is a workspace that is a repository, beside a folder that is none of
// its business, and the tools on it.
type ground struct {
	t       testing.TB
	dir     string
	outside string
	home    string
	grant   tool.Grant
	module  module.Module
	opened  *module.Instance
	tools   map[string]*tool.Tool
	schemas map[string]*jsonschema.Schema
}

func newGround(t testing.TB) *ground {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed: apt-get install git")
	}
	if runtime.GOOS != "linux" || sandbox.Probe().Level == sandbox.Process {
		t.Skip("this machine cannot confine a command")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	g := &ground{t: t, dir: filepath.Join(base, "work"), outside: filepath.Join(base, "outside"), home: filepath.Join(base, "home")}
	for _, dir := range []string{g.dir, g.outside, g.home} {
		check(t, os.Mkdir(dir, 0o755))
	}
	t.Setenv("HOME", g.home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(g.home, ".config"))
	g.write("../home/.gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.com\n")
	root, err := os.OpenRoot(g.dir)
	check(t, err)
	t.Cleanup(func() { root.Close() })
	g.grant = tool.Grant{Workspace: g.dir, Root: root}
	g.module = git.Module()
	g.opened, err = g.module.Open(module.Host{State: filepath.Join(base, "state")})
	check(t, err)
	t.Cleanup(func() { check(t, g.opened.Close()) })
	g.tools, g.schemas = map[string]*tool.Tool{}, map[string]*jsonschema.Schema{}
	for _, one := range g.opened.Tools {
		g.tools[one.ID.Name], g.schemas[one.ID.Name] = one, compile(t, one.Spec.Output)
	}
	return g
}

// settle gives the calls what an app file says.
func (g *ground) settle(config, constraints map[string]any) {
	g.t.Helper()
	var err error
	g.grant.Settings, err = g.module.Read(config, constraints)
	check(g.t, err)
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

func (g *ground) write(name, content string) {
	g.t.Helper()
	path := filepath.Join(g.dir, name)
	check(g.t, os.MkdirAll(filepath.Dir(path), 0o755))
	check(g.t, os.WriteFile(path, []byte(content), 0o644))
}

func (g *ground) read(name string) string {
	g.t.Helper()
	data, err := os.ReadFile(filepath.Join(g.dir, name))
	check(g.t, err)
	return string(data)
}

// plain runs git as a user would, to make a repository or to look at one.
func (g *ground) plain(args ...string) string {
	g.t.Helper()
	return g.plainIn(g.dir, args...)
}

func (g *ground) plainIn(dir string, args ...string) string {
	g.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+g.home, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z")
	out, err := cmd.CombinedOutput()
	if err != nil {
		g.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository makes the workspace a repository with two commits.
func (g *ground) repository() *ground {
	g.t.Helper()
	g.plain("init", "-q", "-b", "main")
	g.write("a.txt", "one\ntwo\nthree\n")
	g.write("dir/b.txt", "b\n")
	g.plain("add", ".")
	g.plain("commit", "-q", "-m", "first")
	g.write("a.txt", "one\n2\nthree\n")
	g.plain("commit", "-q", "-a", "-m", "second\n\nwith a reason")
	return g
}

type args map[string]any

// try calls a tool and holds what comes back against its contract.
func (g *ground) try(name string, a args) (*tool.Result, error) {
	g.t.Helper()
	if a == nil {
		a = args{}
	}
	raw, err := json.Marshal(a)
	check(g.t, err)
	r, err := g.tools[name].Handler.Execute(g.t.Context(), tool.Call{Args: raw}, g.grant)
	if err != nil {
		var e *tool.Error
		if !errors.As(err, &e) || e.Message == "" || e.Kind == tool.Internal {
			g.t.Errorf("%s(%s): %v is not an error of the tool", name, raw, err)
		}
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.Data))
	check(g.t, err)
	if err := g.schemas[name].Validate(doc); err != nil {
		g.t.Errorf("%s(%s): %s does not meet its schema: %v", name, raw, r.Data, err)
	}
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

// refused calls a tool that must fail with the kind, in words that hold each of
// the given ones.
func (g *ground) refused(kind tool.Kind, name string, a args, words ...string) {
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
}

// says fails unless the summary and the text together hold each of the words.
func (g *ground) says(r *tool.Result, words ...string) {
	g.t.Helper()
	all := r.Summary + "\n" + text(r)
	for _, word := range words {
		if !strings.Contains(all, word) {
			g.t.Errorf("%q is not said:\n%s", word, all)
		}
	}
}

func text(r *tool.Result) string {
	var all []string
	for _, c := range r.Content {
		all = append(all, c.Text)
	}
	return strings.Join(all, "\n")
}

// data reads a part of a result's data.
func data[T any](g *ground, r *tool.Result) T {
	g.t.Helper()
	var v T
	check(g.t, json.Unmarshal(r.Data, &v))
	return v
}
