package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"callgate/tool"
)

type echo struct{}

func (echo) Name() string            { return "demo.echo" }
func (echo) Schema() json.RawMessage { return json.RawMessage(`{"type":"object"}`) }
func (echo) Execute(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
	if strings.Contains(string(in), "fail") {
		return nil, errors.New("asked to fail")
	}
	return in, nil
}

func TestFromBasic(t *testing.T) {
	e, err := tool.FromBasic(echo{}, tool.Runtime{SideEffect: tool.None})
	if err != nil {
		t.Fatal(err)
	}
	if e.ID.String() != "demo:echo@1.0.0" || e.Spec.Name != "demo.echo" {
		t.Errorf("id %s, name %s", e.ID, e.Spec.Name)
	}
	for in, want := range map[string]string{
		`{"a":1}`: `{"status":"success","summary":"{\"a\":1}","data":{"a":1}}`,
		`{"status":"success","summary":"my own words","data":[1]}`: `{"status":"success","summary":"my own words","data":[1]}`,
		`{"status":"fine","summary":"not ours"}`:                   `{"status":"success","summary":"{\"status\":\"fine\",\"summary\":\"not ours\"}","data":{"status":"fine","summary":"not ours"}}`,
	} {
		r, err := e.Handler.Execute(t.Context(), tool.Call{Args: json.RawMessage(in)}, tool.Grant{})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(r); string(got) != want {
			t.Errorf("%s gave %s, want %s", in, got, want)
		}
	}
	if _, err := e.Handler.Execute(t.Context(), tool.Call{Args: json.RawMessage(`"fail"`)}, tool.Grant{}); err == nil {
		t.Error("the tool's own failure was lost")
	}
}

func TestFunc(t *testing.T) {
	type in struct {
		Name  string `json:"name" jsonschema:"whom to greet"`
		Times int    `json:"times,omitempty"`
	}
	type out struct {
		Greeting string `json:"greeting"`
	}
	f, err := tool.Func("demo.greet", "Greets.", tool.Runtime{}, func(_ context.Context, i in) (out, error) {
		return out{strings.Repeat("hello "+i.Name, max(1, i.Times))}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Required   []string
		Properties map[string]struct{ Type, Description string }
	}
	if err := json.Unmarshal(f.Spec.Input, &schema); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(schema.Required) != "[name]" || schema.Properties["times"].Type != "integer" ||
		schema.Properties["name"].Description != "whom to greet" {
		t.Errorf("inferred %s", f.Spec.Input)
	}
	r, err := f.Handler.Execute(t.Context(), tool.Call{Args: json.RawMessage(`{"name":"Ada"}`)}, tool.Grant{})
	if err != nil || string(r.Data) != `{"greeting":"hello Ada"}` {
		t.Errorf("result %+v, %v", r, err)
	}
	if _, err := tool.Func("demo.bad", "Takes a number.", tool.Runtime{}, func(context.Context, int) (int, error) { return 0, nil }); tool.KindOf(
		err,
	) != tool.Invalid {
		t.Errorf("a function of an int gave %v", err)
	}
	if _, err := tool.Func("nodot", "No namespace.", tool.Runtime{}, func(context.Context, in) (out, error) { return out{}, nil }); tool.KindOf(
		err,
	) != tool.Invalid {
		t.Errorf("a name without a namespace gave %v", err)
	}
}

func TestValidate(t *testing.T) {
	good := func() *tool.Tool {
		e, _ := tool.FromBasic(echo{}, tool.Runtime{})
		return e
	}
	for name, c := range map[string]struct {
		spoil  func(*tool.Tool)
		errHas string
	}{
		"no handler":      {func(t *tool.Tool) { t.Handler = nil }, "no handler"},
		"no description":  {func(t *tool.Tool) { t.Spec.Description = "" }, "no description"},
		"no schema":       {func(t *tool.Tool) { t.Spec.Input = nil }, "no input schema"},
		"schema not json": {func(t *tool.Tool) { t.Spec.Input = json.RawMessage(`{`) }, "not JSON"},
		"output not json": {func(t *tool.Tool) { t.Spec.Output = json.RawMessage(`{`) }, "output schema"},
		"bad risk":        {func(t *tool.Tool) { t.Runtime.Risk = "huge" }, "risk"},
		"bad side effect": {func(t *tool.Tool) { t.Runtime.SideEffect = "some" }, "side effect"},
		"bad exposure":    {func(t *tool.Tool) { t.Runtime.Exposure = "all" }, "exposure"},
		"bad mode":        {func(t *tool.Tool) { t.Runtime.Effects = []tool.Effect{{Resource: "workspace"}} }, "mode"},
		"a read that writes": {func(t *tool.Tool) {
			t.Runtime.SideEffect = tool.Read
			t.Runtime.Effects = []tool.Effect{{Resource: "workspace", Mode: tool.X}}
		}, "claims X"},
		"bad name": {func(t *tool.Tool) { t.ID.Name = "Bad" }, "name"},
	} {
		bad := good()
		c.spoil(bad)
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), c.errHas) {
			t.Errorf("%s: %v, want %q", name, err, c.errHas)
		}
	}
}

func TestErrorCrossesTheWire(t *testing.T) {
	cause := fmt.Errorf("reading: %w", fs.ErrNotExist)
	e := tool.Errorf("fs.read", tool.NotFound, "no file: %w", cause).WithHint("did you mean %s?", "b")
	if !errors.Is(e, fs.ErrNotExist) || tool.KindOf(fmt.Errorf("wrapped: %w", e)) != tool.NotFound {
		t.Error("the cause or the kind was lost in this process")
	}
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var back tool.Error
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if back.Kind != tool.NotFound || back.Error() != e.Error() {
		t.Errorf("%q came back as %q (%s)", e.Error(), back.Error(), back.Kind)
	}
	if tool.KindOf(nil) != "" || tool.KindOf(errors.New("x")) != tool.Internal {
		t.Error("KindOf of plain errors")
	}
}

func TestExposure(t *testing.T) {
	for _, c := range []struct {
		e    tool.Exposure
		lane string
		want bool
	}{{"", "edge", true}, {tool.Both, "core", true}, {tool.Edge, "edge", true}, {tool.Edge, "core", false}, {tool.Core, "", true}, {tool.Nobody, "", false}, {tool.Nobody, "edge", false}} {
		if got := c.e.ShownTo(c.lane); got != c.want {
			t.Errorf("%q shown to %q: %v", c.e, c.lane, got)
		}
	}
}
