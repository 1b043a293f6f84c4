package database_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/module"
	"callgate/internal/module/database"
	"callgate/internal/module/database/enginetest"
	"callgate/tool"
)

// fixture is an open module with a workspace and a session.
type fixture struct {
	t        testing.TB
	tools    map[string]*tool.Tool
	instance *module.Instance
	grant    tool.Grant
	session  string
	daemon   bool // calls are setup steps
}

func open(t testing.TB) *fixture {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	m := database.Module()
	instance, err := m.Open(module.Host{})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{
		t: t, tools: map[string]*tool.Tool{}, instance: instance,
		grant: tool.Grant{Workspace: dir, Root: root}, session: "s1",
	}
	for _, made := range instance.Tools {
		if err := made.Validate(); err != nil {
			t.Fatal(err)
		}
		f.tools[made.ID.Name] = made
	}
	t.Cleanup(func() {
		if err := instance.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
		root.Close()
	})
	return f
}

// kind is one kind of database, with the arguments that connect to an empty one.
type kind struct {
	enginetest.Database
	target func(testing.TB) args
}

var servers enginetest.Servers

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

func kinds() []kind {
	file := func(path string) func(testing.TB) args {
		return func(testing.TB) args { return args{"driver": "sqlite", "database": path} }
	}
	server := func(driver string, get func(testing.TB) *enginetest.Server) func(testing.TB) args {
		return func(t testing.TB) args { return toServer(t, driver, get(t)) }
	}
	return []kind{
		{enginetest.SQLite(), file("data.db")},
		{enginetest.Memory(), file(":memory:")},
		{enginetest.Postgres(&servers), server("postgres", servers.Postgres)},
		{enginetest.MariaDB(&servers), server("mariadb", servers.MariaDB)},
	}
}

// toServer returns the arguments that connect to a new database on a server.
func toServer(t testing.TB, driver string, s *enginetest.Server) args {
	t.Helper()
	return args{
		"driver": driver, "host": "127.0.0.1", "port": s.Port, "user": s.User,
		"password": enginetest.Password, "database": s.NewDatabase(t),
	}
}

// with returns the arguments with some of them replaced.
func (a args) with(more args) args {
	all := maps.Clone(a)
	maps.Copy(all, more)
	return all
}

// setup connects as a setup step does.
func (f *fixture) setup(in args) {
	f.t.Helper()
	f.daemon = true
	f.ok("connect", in)
	f.daemon = false
}

// each runs a test against every kind of database, in parallel: they mostly wait.
// It returns when all of them are done.
func each(t *testing.T, test func(*testing.T, *fixture, kind)) {
	t.Run("of", func(t *testing.T) {
		for _, k := range kinds() {
			t.Run(k.Name, func(t *testing.T) {
				t.Parallel()
				f := open(t)
				f.setup(k.target(t))
				test(t, f, k)
			})
		}
	})
}

// settings sets the settings of an app file.
func (f *fixture) settings(config, constraints map[string]any) {
	f.t.Helper()
	m := database.Module()
	s, err := m.Read(config, constraints)
	if err != nil {
		f.t.Fatal(err)
	}
	f.grant.Settings = s
}

type args map[string]any

// call calls a tool, and checks arguments and data against their schemas.
func (f *fixture) call(ctx context.Context, name string, in args) (*tool.Result, error) {
	f.t.Helper()
	if in == nil {
		in = args{}
	}
	raw, err := json.Marshal(in)
	if err != nil {
		f.t.Fatal(err)
	}
	made := f.tools[name]
	if made == nil {
		f.t.Fatalf("there is no tool %s", name)
	}
	f.conforms(made.Spec.Input, raw)
	call := tool.Call{Args: raw, Principal: tool.Principal{Session: f.session, Daemon: f.daemon}}
	r, err := made.Handler.Execute(ctx, call, f.grant)
	if err == nil {
		f.conforms(made.Spec.Output, r.Data)
	}
	whole, _ := json.Marshal(r)
	if strings.Contains(fmt.Sprint(string(whole), err), enginetest.Password) {
		f.t.Errorf("%s reveals the password: %s %v", name, whole, err)
	}
	return r, err
}

func (f *fixture) conforms(schema, value json.RawMessage) {
	f.t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		f.t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s.json", doc); err != nil {
		f.t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		f.t.Fatalf("%v: %s", err, value)
	}
	if err := c.MustCompile("s.json").Validate(v); err != nil {
		f.t.Errorf("%v: %s", err, tool.Truncate(string(value)))
	}
}

// ok calls a tool that must succeed.
func (f *fixture) ok(name string, in args) *tool.Result {
	f.t.Helper()
	r, err := f.call(f.t.Context(), name, in)
	if err != nil {
		f.t.Fatalf("%s %v: %v", name, in, err)
	}
	return r
}

// fails calls a tool that must fail with an error of a kind, with a text in it.
func (f *fixture) fails(name string, in args, kind tool.Kind, has string) *tool.Error {
	f.t.Helper()
	r, err := f.call(f.t.Context(), name, in)
	var e *tool.Error
	if !errors.As(err, &e) {
		f.t.Errorf("%s %v gave %+v, %v; want %s", name, in, r, err, kind)
		return &tool.Error{}
	}
	if e.Kind != kind || !strings.Contains(e.Error(), has) {
		f.t.Errorf("%s %v failed as %s: %v; want %s and %q", name, in, e.Kind, e, kind, has)
	}
	if e.Op != "database."+name {
		f.t.Errorf("the error of %s names %s", name, e.Op)
	}
	return e
}

// result is the data of a call that returned rows.
type result struct {
	Columns []struct{ Name, Type string }
	Rows    [][]any
	Count   int  `json:"row_count"`
	Cut     bool `json:"truncated"`

	Affected *int64 `json:"rows_affected"`
	LastID   *int64 `json:"last_insert_id"`
}

func (f *fixture) rows(name string, in args) result {
	f.t.Helper()
	return decode[result](f.t, f.ok(name, in).Data)
}

func decode[T any](t testing.TB, data json.RawMessage) (v T) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return v
}

// one returns the only value of the only row of a query.
func (f *fixture) one(query string, params ...any) any {
	f.t.Helper()
	in := args{"query": query}
	if len(params) > 0 {
		in["params"] = params
	}
	r := f.rows("fetch_results", in)
	if len(r.Rows) != 1 || len(r.Rows[0]) != 1 {
		f.t.Fatalf("%s gave %v", query, r.Rows)
	}
	return r.Rows[0][0]
}

// run runs a statement that must succeed.
func (f *fixture) run(query string, params ...any) {
	f.t.Helper()
	in := args{"query": query}
	if len(params) > 0 {
		in["params"] = params
	}
	f.ok("execute_query", in)
}
