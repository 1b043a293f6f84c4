package callgate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"callgate"
	"callgate/llmtool"
	"callgate/tool"
	"callgate/toolcatalog"
)

// A plain Go function becomes a tool, and is called through the gate: with a
// name in any spelling, and a number that came as text.
func Example() {
	state, _ := os.MkdirTemp("", "callgate")
	defer os.RemoveAll(state)
	workspace, _ := os.MkdirTemp("", "workspace")
	defer os.RemoveAll(workspace)
	ctx := context.Background()

	type in struct {
		Name  string `json:"name" jsonschema:"whom to greet"`
		Times int    `json:"times,omitempty"`
	}
	greet, err := tool.Func("demo.greet", "Greets a person.", tool.Runtime{Risk: tool.Low, SideEffect: tool.None},
		func(_ context.Context, i in) (string, error) {
			return fmt.Sprintf("hello %s ×%d", i.Name, i.Times), nil
		})
	if err != nil {
		panic(err)
	}
	kernel, err := callgate.Open(ctx, callgate.Config{State: state, Tools: []*tool.Tool{greet}})
	if err != nil {
		panic(err)
	}
	defer kernel.Close()
	session, err := kernel.OpenSession(ctx, callgate.SessionConfig{Workspace: workspace})
	if err != nil {
		panic(err)
	}
	result := session.Call(ctx, "Demo__Greet", json.RawMessage(`{"name":"Ada","times":"2"}`))
	fmt.Println(result.Status, string(result.Data))
	fmt.Println(result.Warnings)
	// Output:
	// success "hello Ada ×2"
	// [times: "2" (text) taken as the number 2]
}

// A tool whose work a language model does. Here there is none: the offline substitute answers in the
// right form, and says that it means nothing.
func ExampleDefineLLMTool() {
	state, _ := os.MkdirTemp("", "callgate")
	defer os.RemoveAll(state)
	workspace, _ := os.MkdirTemp("", "workspace")
	defer os.RemoveAll(workspace)
	ctx := context.Background()

	triage, err := callgate.DefineLLMTool(llmtool.Definition{
		ID:              "desk:triage@1.0.0",
		Description:     "Decides how urgent a ticket is.",
		InputSchema:     json.RawMessage(`{"type":"object","required":["ticket"],"properties":{"ticket":{"type":"string"}}}`),
		OutputSchema:    json.RawMessage(`{"type":"object","required":["urgent"],"properties":{"urgent":{"type":"boolean"}}}`),
		UserTemplate:    "Is this urgent? {{ticket}}",
		ModelPreference: llmtool.Preference{Preferred: "offline/offline"},
	})
	if err != nil {
		panic(err)
	}
	kernel, err := callgate.Open(ctx, callgate.Config{
		State: state, Tools: []*tool.Tool{triage},
		LLMHooks: llmtool.Hooks{
			OnInternalToolCallStart: func(s llmtool.CallStart) { fmt.Println("asks", s.ChosenModel) },
		},
	})
	if err != nil {
		panic(err)
	}
	defer kernel.Close()
	session, err := kernel.OpenSession(ctx, callgate.SessionConfig{Workspace: workspace})
	if err != nil {
		panic(err)
	}
	result := session.Call(ctx, "desk.triage", json.RawMessage(`{"ticket":"it burns"}`))
	fmt.Println(result.Status, string(result.Data), result.Attempts[0].Outcome)
	definition, _ := callgate.LLMToolDefinition(triage)
	fmt.Println(definition.UserTemplate)
	// Output:
	// asks offline/offline
	// success {"urgent":true} ok
	// Is this urgent? {{ticket}}
}

// Tools that a program keeps in a backend come and go while the kernel runs.
func ExampleConfig_backends() {
	state, _ := os.MkdirTemp("", "callgate")
	defer os.RemoveAll(state)
	workspace, _ := os.MkdirTemp("", "workspace")
	defer os.RemoveAll(workspace)
	ctx := context.Background()

	greet, err := tool.Func("demo.greet", "Greets a person.", tool.Runtime{Risk: tool.Low, SideEffect: tool.None},
		func(_ context.Context, in struct {
			Name string `json:"name"`
		}) (string, error) {
			return "hello " + in.Name, nil
		})
	if err != nil {
		panic(err)
	}
	local := toolcatalog.NewLocal("desk")
	kernel, err := callgate.Open(ctx, callgate.Config{State: state, Backends: []toolcatalog.Backend{local}})
	if err != nil {
		panic(err)
	}
	defer kernel.Close()
	session, err := kernel.OpenSession(ctx, callgate.SessionConfig{Workspace: workspace})
	if err != nil {
		panic(err)
	}
	fmt.Println(session.Call(ctx, "demo.greet", json.RawMessage(`{"name":"Ada"}`)).Status)
	if err := local.Register(greet); err != nil {
		panic(err)
	}
	fmt.Println(session.Call(ctx, "demo.greet", json.RawMessage(`{"name":"Ada"}`)).Status)
	local.Unregister(greet.ID)
	fmt.Println(session.Call(ctx, "demo.greet", json.RawMessage(`{"name":"Ada"}`)).Status)
	// Output:
	// error
	// success
	// error
}
