package memory_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/module"
	"callgate/internal/module/memory"
	"callgate/internal/search/embed"
	"callgate/tool"
)

// ground is the module on a folder, and somebody who calls its tools.
type ground struct {
	t      testing.TB
	module module.Module
	host   module.Host
	opened *module.Instance
	by     tool.Principal
	grant  tool.Grant
}

func newGround(t testing.TB, c memory.Config) *ground {
	t.Helper()
	g := &ground{t: t, module: memory.Module(c), host: module.Host{State: t.TempDir()}, by: tool.Principal{User: "ada", App: "engine", Session: "s1"}}
	g.open()
	return g
}

func (g *ground) open() {
	g.t.Helper()
	var err error
	g.opened, err = g.module.Open(g.host)
	check(g.t, err)
}

// restart closes the module and opens it again, as a new kernel would.
func (g *ground) restart() {
	g.t.Helper()
	check(g.t, g.opened.Close())
	g.open()
}

// settle gives the calls what an app file says.
func (g *ground) settle(config map[string]any) {
	g.t.Helper()
	var err error
	g.grant.Settings, err = g.module.Read(config, nil)
	check(g.t, err)
}

// as is somebody else on the same ground.
func (g *ground) as(user, app, session string) *ground {
	other := *g
	other.by = tool.Principal{User: user, App: app, Session: session}
	return &other
}

func (g *ground) tool(name string) *tool.Tool {
	g.t.Helper()
	for _, t := range g.opened.Tools {
		if t.ID.Name == name {
			return t
		}
	}
	g.t.Fatalf("there is no tool %s", name)
	return nil
}

// try calls a tool as the kernel does: with arguments that meet the schema.
func (g *ground) try(name, args string) (*tool.Result, error) {
	g.t.Helper()
	one := g.tool(name)
	if err := meets(one.Spec.Input, json.RawMessage(args)); err != nil {
		g.t.Fatalf("%s(%s): %v", name, args, err)
	}
	r, err := one.Handler.Execute(g.t.Context(), tool.Call{Principal: g.by, Args: json.RawMessage(args)}, g.grant)
	if err == nil {
		if err := meets(one.Spec.Output, r.Data); err != nil {
			g.t.Errorf("%s(%s) gave %s: %v", name, args, r.Data, err)
		}
	}
	return r, err
}

// call calls a tool that must succeed, and reads its data.
func (g *ground) call(name, args string, into ...any) *tool.Result {
	g.t.Helper()
	r, err := g.try(name, args)
	if err != nil {
		g.t.Fatalf("%s(%s): %v", name, args, err)
	}
	for _, v := range into {
		check(g.t, json.Unmarshal(r.Data, v))
	}
	return r
}

// refused calls a tool that must fail so, with these words.
func (g *ground) refused(name, args string, kind tool.Kind, words string) {
	g.t.Helper()
	_, err := g.try(name, args)
	var e *tool.Error
	if !errors.As(err, &e) || e.Kind != kind || !strings.Contains(e.ModelText(), words) || e.Hint == "" {
		g.t.Errorf("%s(%s): %v, want %s with %q and a hint", name, args, err, kind, words)
	}
}

func (g *ground) section() string { return g.opened.PromptSection(g.by) }

// texts asks, and returns what was found as REF: TEXT.
func (g *ground) texts(args string) []string {
	g.t.Helper()
	var data struct{ Results []struct{ Ref, Text string } }
	g.call("query", args, &data)
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

func meets(schema, value json.RawMessage) error {
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

// carried is the model that the kernel carries.
type carried struct{ *embed.Static }

func (m carried) Vectors(texts []string) ([][]float32, error) {
	all := make([][]float32, len(texts))
	for i, t := range texts {
		all[i] = m.Embed(nil, t)
	}
	return all, nil
}

func model(t testing.TB) memory.EmbedFunc {
	t.Helper()
	m, err := embed.Builtin()
	check(t, err)
	return carried{m}
}
