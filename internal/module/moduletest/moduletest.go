// Package moduletest calls the tools of modules as the kernel does, for their tests.
package moduletest

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/module"
	"callgate/internal/search/embed"
	"callgate/tool"
)

// Caller calls the tools of an open module.
type Caller struct {
	T        testing.TB
	Module   module.Module
	Host     module.Host
	Instance *module.Instance
	By       tool.Principal
	Grant    tool.Grant
}

// Open opens the module.
func (c *Caller) Open() {
	c.T.Helper()
	var err error
	c.Instance, err = c.Module.Open(c.Host)
	Check(c.T, err)
}

// Configure gives the calls the settings of an app file.
func (c *Caller) Configure(config, constraints map[string]any) {
	c.T.Helper()
	var err error
	c.Grant.Settings, err = c.Module.Read(config, constraints)
	Check(c.T, err)
}

// Tool finds a tool of the module.
func (c *Caller) Tool(name string) *tool.Tool {
	c.T.Helper()
	i := slices.IndexFunc(c.Instance.Tools, func(t *tool.Tool) bool { return t.ID.Name == name })
	if i < 0 {
		c.T.Fatalf("there is no tool %s", name)
	}
	return c.Instance.Tools[i]
}

// Try calls a tool with arguments that must be valid by its schema, as its result must be.
func (c *Caller) Try(name, args string) (*tool.Result, error) {
	c.T.Helper()
	one := c.Tool(name)
	if err := Validate(one.Spec.Input, json.RawMessage(args)); err != nil {
		c.T.Fatalf("%s(%s): %v", name, args, err)
	}
	r, err := one.Handler.Execute(c.T.Context(), tool.Call{Principal: c.By, Args: json.RawMessage(args)}, c.Grant)
	if err == nil {
		if err := Validate(one.Spec.Output, r.Data); err != nil {
			c.T.Errorf("%s(%s) gave %s: %v", name, args, r.Data, err)
		}
	}
	return r, err
}

// Call calls a tool that must succeed, and decodes its data.
func (c *Caller) Call(name, args string, into ...any) *tool.Result {
	c.T.Helper()
	r, err := c.Try(name, args)
	if err != nil {
		c.T.Fatalf("%s(%s): %v", name, args, err)
	}
	for _, v := range into {
		Check(c.T, json.Unmarshal(r.Data, v))
	}
	return r
}

// Fails calls a tool that must fail with an error of a kind and a text in it, and returns the error.
func (c *Caller) Fails(name, args string, kind tool.Kind, text string) *tool.Error {
	c.T.Helper()
	_, err := c.Try(name, args)
	var e *tool.Error
	if !errors.As(err, &e) || e.Kind != kind || !strings.Contains(e.ModelText(), text) {
		c.T.Errorf("%s(%s): %v, want %s with %q", name, args, err, kind, text)
		return &tool.Error{}
	}
	return e
}

// Check ends a test that has an error.
func Check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Validate returns why a value does not match a schema.
func Validate(schema, value json.RawMessage) error {
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

// Vectors computes the vectors of texts.
func (m builtin) Vectors(texts []string) ([][]float32, error) {
	all := make([][]float32, len(texts))
	for i, t := range texts {
		all[i] = m.Embed(nil, t)
	}
	return all, nil
}

// Embedder returns the embedding model of the kernel.
func Embedder(t testing.TB) module.Embedder {
	t.Helper()
	m, err := embed.Builtin()
	Check(t, err)
	return builtin{m}
}
