package database_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/module"
	"callgate/internal/module/database"
	"callgate/tool"
)

// house is the module, open, with a workspace and a session.
type house struct {
	t       testing.TB
	tools   map[string]*tool.Tool
	opened  *module.Instance
	grant   tool.Grant
	session string
	daemon  bool
}

func open(t testing.TB) *house {
	t.Helper()
	dir, err := os.MkdirTemp("", "callgate-ws")
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = resolved(dir); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	m := database.Module()
	opened, err := m.Open(module.Host{})
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, tools: map[string]*tool.Tool{}, opened: opened, grant: tool.Grant{Workspace: dir, Root: root}, session: "s1"}
	for _, made := range opened.Tools {
		if err := made.Validate(); err != nil {
			t.Fatal(err)
		}
		h.tools[made.ID.Name] = made
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
		root.Close()
		os.RemoveAll(dir)
	})
	return h
}

// settings reads settings as an app file gives them.
func (h *house) settings(config, constraints map[string]any) {
	h.t.Helper()
	m := database.Module()
	s, err := m.Read(config, constraints)
	if err != nil {
		h.t.Fatal(err)
	}
	h.grant.Settings = s
}

type args map[string]any

// call makes one call, holding arguments and data against their schemas.
func (h *house) call(ctx context.Context, name string, in args) (*tool.Result, error) {
	h.t.Helper()
	if in == nil {
		in = args{}
	}
	raw, err := json.Marshal(in)
	if err != nil {
		h.t.Fatal(err)
	}
	made := h.tools[name]
	if made == nil {
		h.t.Fatalf("there is no tool %s", name)
	}
	h.conforms(made.Spec.Input, raw)
	r, err := made.Handler.Execute(ctx, tool.Call{Args: raw, Principal: tool.Principal{Session: h.session, Daemon: h.daemon}}, h.grant)
	if err == nil {
		h.conforms(made.Spec.Output, r.Data)
	}
	whole, _ := json.Marshal(r)
	if bytes.Contains(whole, []byte(secretWord)) || err != nil && strings.Contains(err.Error(), secretWord) {
		h.t.Errorf("%s tells the password: %s %v", name, whole, err)
	}
	return r, err
}

func (h *house) conforms(schema, value json.RawMessage) {
	h.t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		h.t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s.json", doc); err != nil {
		h.t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		h.t.Fatalf("%v: %s", err, value)
	}
	if err := c.MustCompile("s.json").Validate(v); err != nil {
		h.t.Errorf("%v: %s", err, tool.Truncate(string(value)))
	}
}

// ok makes a call that must succeed.
func (h *house) ok(name string, in args) *tool.Result {
	h.t.Helper()
	r, err := h.call(h.t.Context(), name, in)
	if err != nil {
		h.t.Fatalf("%s %v: %v", name, in, err)
	}
	return r
}

// fails makes a call that must fail so, and in these words.
func (h *house) fails(name string, in args, kind tool.Kind, has string) *tool.Error {
	h.t.Helper()
	r, err := h.call(h.t.Context(), name, in)
	var e *tool.Error
	if !errors.As(err, &e) {
		h.t.Errorf("%s %v gave %+v, %v; want %s", name, in, r, err, kind)
		return &tool.Error{}
	}
	if e.Kind != kind || !strings.Contains(e.Error(), has) {
		h.t.Errorf("%s %v failed as %s: %v; want %s and %q", name, in, e.Kind, e, kind, has)
	}
	if e.Op != "database."+name {
		h.t.Errorf("the error of %s says it is of %s", name, e.Op)
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

func (h *house) rows(name string, in args) result {
	h.t.Helper()
	return decode[result](h.t, h.ok(name, in).Data)
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

// one is the only value of a query's only row.
func (h *house) one(query string, params ...any) any {
	h.t.Helper()
	in := args{"query": query}
	if len(params) > 0 {
		in["params"] = params
	}
	r := h.rows("fetch_results", in)
	if len(r.Rows) != 1 || len(r.Rows[0]) != 1 {
		h.t.Fatalf("%s gave %v", query, r.Rows)
	}
	return r.Rows[0][0]
}

func (h *house) run(query string, params ...any) {
	h.t.Helper()
	in := args{"query": query}
	if len(params) > 0 {
		in["params"] = params
	}
	h.ok("execute_query", in)
}
