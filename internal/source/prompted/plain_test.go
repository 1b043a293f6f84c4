package prompted_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"callgate/internal/gate/detach"
	"callgate/internal/source/prompted"
	"callgate/llmtool"
	"callgate/tool"
)

// events are what hooks were told, as JSON.
type events struct{ all []string }

func (e *events) hooks() llmtool.Hooks {
	add := func(name string, payload any) {
		raw, _ := json.Marshal(payload)
		e.all = append(e.all, name+" "+string(raw))
	}
	return llmtool.Hooks{
		OnInternalToolCallStart:    func(p llmtool.CallStart) { add("start", p) },
		OnInternalToolCallComplete: func(p llmtool.CallComplete) { p.LatencyMs = 3; add("complete", p) },
		OnInternalToolCallError:    func(p llmtool.CallError) { add("error", p) },
		OnWarning:                  func(p llmtool.Warning) { add("warning", p) },
	}
}

// TestPlainTools: the hooks are told of tools that have code of their own, by the names and with the payloads
// that they have for LLM-backed ones; the model is empty. What the tool gives stays as it is.
func TestPlainTools(t *testing.T) {
	const start = `start {"toolId":"desk:count@1.0.0","input":{"n":1},"chosenModel":"","attempt":1}`
	broken := errors.New("it broke")
	refused := &tool.Result{Status: tool.Failure, Error: tool.Errorf("desk.count", tool.Failed, "it failed")}
	for _, test := range []struct {
		name string
		res  *tool.Result
		err  error
		want []string
	}{
		{"a result", &tool.Result{Status: tool.Success, Data: json.RawMessage(`3`)}, nil, []string{start,
			`complete {"toolId":"desk:count@1.0.0","input":{"n":1},"output":3,"chosenModel":"","latencyMs":3,"attempts":1}`}},
		{"a text, and what its own code asked", &tool.Result{
			Status: tool.Success, Content: []tool.Content{tool.Text("three")},
			Attempts: []tool.Attempt{{Model: "a/b", Input: 5, Output: 2}},
		}, nil, []string{start, `complete {"toolId":"desk:count@1.0.0","input":{"n":1},"output":"three","chosenModel":"",` +
			`"latencyMs":3,"attempts":1,"usage":{"input":5,"output":2}}`}},
		{"another shape", &tool.Result{Status: tool.Success, Data: json.RawMessage(`"x"`)}, nil, []string{start,
			`warning {"code":"output_schema_mismatch","toolId":"desk:count@1.0.0"}`,
			`complete {"toolId":"desk:count@1.0.0","input":{"n":1},"output":"x","chosenModel":"","latencyMs":3,"attempts":1}`}},
		{"an error", nil, broken, []string{start, `error {"toolId":"desk:count@1.0.0","input":{"n":1},"chosenModel":"",` +
			`"error":"it broke","attempt":1,"willRetry":false}`}},
		{"a failure", refused, nil, []string{start, `error {"toolId":"desk:count@1.0.0","input":{"n":1},"chosenModel":"",` +
			`"error":"it failed","attempt":1,"willRetry":false}`}},
		{"nothing", nil, nil, []string{start, `error {"toolId":"desk:count@1.0.0","input":{"n":1},"chosenModel":"",` +
			`"error":"there is no result","attempt":1,"willRetry":false}`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var told events
			bound := (&prompted.Runner{Hooks: told.hooks()}).Bind(&tool.Tool{
				ID: tool.ID{Namespace: "desk", Name: "count", Version: tool.Version{Major: 1}}, Spec: tool.Spec{Output: json.RawMessage(`{"type":"integer"}`)},
				Handler: tool.HandlerFunc(func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
					return test.res, test.err
				}),
			})
			call := tool.Call{Args: json.RawMessage(`{"n":1}`)}
			ended := bound.Handler.(interface { // as the gate does
				Watch(tool.Call) func(*tool.Result, error)
			}).Watch(call)
			res, err := bound.Handler.Execute(t.Context(), call, tool.Grant{})
			ended(res, err)
			if res != test.res || !errors.Is(err, test.err) {
				t.Errorf("the result is %+v, %v", res, err)
			}
			if !slices.Equal(told.all, test.want) {
				t.Errorf("the hooks were told\n%q, want\n%q", told.all, test.want)
			}
		})
	}
}

// moving is a handler whose calls go on in the background.
type moving struct{}

func (moving) Execute(context.Context, tool.Call, tool.Grant) (*tool.Result, error) { return nil, nil }
func (moving) MoveAfter(json.RawMessage, any) (time.Duration, bool)                 { return time.Second, true }

// TestPlainToolsStayAsTheyAre where nobody is told, and move to the background where they do.
func TestPlainToolsStayAsTheyAre(t *testing.T) {
	made := &tool.Tool{Handler: moving{}}
	if bound := new(prompted.Runner).Bind(made); bound != made {
		t.Error("without hooks it is another tool")
	}
	bound := (&prompted.Runner{Hooks: new(events).hooks()}).Bind(made)
	m, ok := bound.Handler.(detach.Mover)
	if !ok {
		t.Fatal("its calls do not move")
	}
	if after, asked := m.MoveAfter(nil, nil); after != time.Second || !asked || bound == made {
		t.Errorf("they move after %v, %v", after, asked)
	}
}
