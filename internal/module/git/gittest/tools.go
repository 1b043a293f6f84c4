package gittest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/module"
	"callgate/tool"
)

// Args are the arguments of a call.
type Args map[string]any

// In returns the arguments with repo added.
func (a Args) In(repo string) Args {
	all := Args{"repo": repo}
	for key, value := range a {
		all[key] = value
	}
	return all
}

// Execute runs the handler of a tool. Each test program brings its own: outside
// of tests, only the gate runs handlers.
type Execute func(ctx context.Context, one *tool.Tool, call tool.Call, grant tool.Grant) (*tool.Result, error)

// Tools are the tools of the module on a workspace.
type Tools struct {
	*Workspace
	Module  module.Module
	ByName  map[string]*tool.Tool
	execute Execute

	mu      sync.Mutex
	schemas map[string]*jsonschema.Schema // of results, by the tool's name
}

// Open opens the module for the workspace, and closes it with the test.
func (w *Workspace) Open(m module.Module, execute Execute) *Tools {
	w.T.Helper()
	instance, err := m.Open(module.Host{})
	Check(w.T, err)
	w.T.Cleanup(func() { Check(w.T, instance.Close()) })
	x := &Tools{
		Workspace: w, Module: m, ByName: map[string]*tool.Tool{}, execute: execute,
		schemas: map[string]*jsonschema.Schema{},
	}
	for _, one := range instance.Tools {
		x.ByName[one.ID.Name] = one
	}
	return x
}

// Configure gives the calls from now on what an app file says.
func (x *Tools) Configure(config, constraints map[string]any) {
	x.T.Helper()
	var err error
	x.Grant.Settings, err = x.Module.Read(config, constraints)
	Check(x.T, err)
}

// Try calls a tool, and checks what comes back against the tool's contract.
func (x *Tools) Try(name string, args Args) (*tool.Result, error) {
	x.T.Helper()
	if args == nil {
		args = Args{}
	}
	raw, err := json.Marshal(args)
	Check(x.T, err)
	one := x.ByName[name]
	r, err := x.execute(x.T.Context(), one, tool.Call{Args: raw}, x.Grant)
	if err != nil {
		var e *tool.Error
		if !errors.As(err, &e) || e.Message == "" || e.Kind == tool.Internal {
			x.T.Errorf("%s(%s): %v is not an error of the tool", name, raw, err)
		}
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.Data))
	Check(x.T, err)
	if err := x.schema(one).Validate(doc); err != nil {
		x.T.Errorf("%s(%s): %s does not meet its schema: %v", name, raw, r.Data, err)
	}
	return r, nil
}

func (x *Tools) schema(one *tool.Tool) *jsonschema.Schema {
	x.T.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.schemas[one.ID.Name] == nil {
		x.schemas[one.ID.Name] = Schema(x.T, one.Spec.Output)
	}
	return x.schemas[one.ID.Name]
}

// Schema compiles a schema.
func Schema(t testing.TB, text json.RawMessage) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	Check(t, err)
	c := jsonschema.NewCompiler()
	Check(t, c.AddResource("mem:schema", doc))
	s, err := c.Compile("mem:schema")
	Check(t, err)
	return s
}

// Call calls a tool that must succeed.
func (x *Tools) Call(name string, args Args) *tool.Result {
	x.T.Helper()
	r, err := x.Try(name, args)
	if err != nil {
		x.T.Fatalf("%s(%v): %v", name, args, err)
	}
	return r
}

// Refused calls a tool that must fail with the kind, and an error that holds
// each of the words.
func (x *Tools) Refused(kind tool.Kind, name string, args Args, words ...string) {
	x.T.Helper()
	r, err := x.Try(name, args)
	if err == nil {
		x.T.Fatalf("%s(%v) was not refused: %s", name, args, r.Summary)
	}
	if got := tool.KindOf(err); got != kind {
		x.T.Errorf("%s(%v): kind %s, want %s: %v", name, args, got, kind, err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			x.T.Errorf("%s(%v): %q does not say %q", name, args, err, word)
		}
	}
}

// Says fails the test unless the summary and the text together hold each of
// the words.
func (x *Tools) Says(r *tool.Result, words ...string) {
	x.T.Helper()
	all := r.Summary + "\n" + Text(r)
	for _, word := range words {
		if !strings.Contains(all, word) {
			x.T.Errorf("%q is not said:\n%s", word, all)
		}
	}
}

// Text is the text of a result.
func Text(r *tool.Result) string {
	var all []string
	for _, c := range r.Content {
		all = append(all, c.Text)
	}
	return strings.Join(all, "\n")
}

// Data reads a part of a result's data.
func Data[T any](t testing.TB, r *tool.Result) T {
	t.Helper()
	var v T
	Check(t, json.Unmarshal(r.Data, &v))
	return v
}
