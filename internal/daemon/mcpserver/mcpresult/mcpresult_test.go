package mcpresult_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/mcpresult"
	"callgate/tool"
)

const stateful, stateless = "2025-06-18", "2026-07-28"

// write writes a result as JSON.
func write(t *testing.T, r *sdk.CallToolResult) string {
	t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestFromTool(t *testing.T) {
	const output = `{"type":"object","properties":{"n":{"type":"number"}}}`
	for _, test := range []struct {
		name   string
		output string
		result tool.Result
		want   string
	}{
		{"a text", "", tool.Result{Status: tool.Success, Content: []tool.Content{tool.Text("hello")}},
			`{"content":[{"type":"text","text":"hello"}]}`},
		{"only a summary", "", tool.Result{Status: tool.Success, Summary: "done"},
			`{"content":[{"type":"text","text":"done"}]}`},
		{"only data", "", tool.Result{Status: tool.Success, Data: json.RawMessage(`{"n":1}`)},
			`{"content":[{"type":"text","text":"{\"n\":1}"}],"structuredContent":{"n":1}}`},
		{"data beside a text, without a schema", "",
			tool.Result{Status: tool.Success, Content: []tool.Content{tool.Text("one")}, Data: json.RawMessage(`{"n":1}`)},
			`{"content":[{"type":"text","text":"one"}]}`},
		{"data beside a text, with a schema", output,
			tool.Result{Status: tool.Success, Content: []tool.Content{tool.Text("one")}, Data: json.RawMessage(`{"n":1}`)},
			`{"content":[{"type":"text","text":"one"}],"structuredContent":{"n":1}}`},
		{"data with a warning", output,
			tool.Result{Status: tool.Success, Summary: "s", Data: json.RawMessage(`{"n":1}`), Warnings: []string{"w"}},
			`{"content":[{"type":"text","text":"{\"n\":1}"},{"type":"text","text":"s"},{"type":"text","text":"note: w"}],` +
				`"structuredContent":{"callgate":{"status":"success","summary":"s","notes":["w"]},"n":1}}`},
		{"data that do not match the schema", output,
			tool.Result{Status: tool.Success, Summary: "s", Data: json.RawMessage(`{"n":"x"}`), Warnings: []string{"w"}},
			`{"content":[{"type":"text","text":"{\"n\":\"x\"}"},{"type":"text","text":"s"},{"type":"text","text":"note: w"}],` +
				`"structuredContent":{"callgate":{"status":"success","summary":"s","notes":["w"]}}}`},
		{"no data, with a schema", output, tool.Result{Status: tool.Success, Summary: "s"},
			`{"content":[{"type":"text","text":"s"}],` +
				`"structuredContent":{"callgate":{"status":"success","summary":"s"}}}`},
		{"an error, with a schema", output,
			tool.Result{Status: tool.Failure, Error: tool.Errorf("x", tool.Denied, "no").WithHint("ask a human")},
			`{"content":[{"type":"text","text":"denied: no\nhint: ask a human"}],"isError":true}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			call := mcpresult.Call{Version: stateful}
			if test.output != "" {
				call.Output = json.RawMessage(test.output)
			}
			if diff := cmp.Diff(test.want, write(t, call.FromTool(&test.result, nil))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOrder has the error first, then the content, the link and the warnings.
func TestOrder(t *testing.T) {
	res := mcpresult.Call{Version: stateless}.FromTool(&tool.Result{
		Status: tool.Failure, Error: tool.Errorf("x", tool.Failed, "broke"), Warnings: []string{"one", "two"},
		Content: []tool.Content{tool.Text("so far")}, ArtifactRef: "r",
	}, &sdk.ResourceLink{URI: "callgate://artifact/r", Name: "r"})
	want := `{"content":[{"type":"text","text":"failed: broke"},{"type":"text","text":"so far"},` +
		`{"type":"resource_link","uri":"callgate://artifact/r","name":"r"},` +
		`{"type":"text","text":"note: one\nnote: two"}],"isError":true,"resultType":"complete"}`
	var got, wanted any
	if json.Unmarshal([]byte(write(t, res)), &got) != nil || json.Unmarshal([]byte(want), &wanted) != nil {
		t.Fatal("not JSON")
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Error(diff)
	}
}

func TestErrorText(t *testing.T) {
	e := tool.Errorf("x", tool.Invalid, "bad").WithHint("did you mean read")
	e.Similar = []string{"read", "write"}
	e.Fields = []tool.FieldError{{Path: "path", Want: "a string", Got: "3"}, {Want: "an object", Got: "[]"}}
	e.Schema, e.Example = json.RawMessage(`{}`), json.RawMessage(`{"path":"x"}`)
	res := mcpresult.Call{}.FromTool(&tool.Result{Status: tool.Failure, Error: e}, nil)
	want := "invalid: bad\nhint: did you mean read\n- path: want a string, got 3\n" +
		"- the arguments: want an object, got []\nsimilar: write\nschema: {}\nexample: {\"path\":\"x\"}"
	if diff := cmp.Diff(want, res.Content[0].(*sdk.TextContent).Text); diff != "" {
		t.Error(diff)
	}
}

func TestWaiting(t *testing.T) {
	r := &tool.Result{Status: tool.Waiting, Approval: "a7", Summary: "demo.wipe waits (a human must answer; then …)"}
	res := mcpresult.Call{Version: stateful}.Waiting(r)
	text := res.Content[0].(*sdk.TextContent).Text
	if !strings.HasPrefix(text, "waiting for approval: demo.wipe waits. ") ||
		!strings.Contains(text, "A human must answer it, outside this conversation: tell the user that it waits, as a7.") ||
		strings.Contains(text, "callgate approvals") || res.IsError || res.StructuredContent != nil {
		t.Errorf("got %s", write(t, res))
	}
	if res = (mcpresult.Call{Output: json.RawMessage(`{}`)}).Waiting(r); res.StructuredContent == nil {
		t.Error("a client that was shown an output schema gets no data")
	}
}

func TestProtocolError(t *testing.T) {
	own := &jsonrpc.Error{Code: -32002, Message: "not found"}
	for _, test := range []struct {
		name string
		err  error
		code int64
	}{
		{"of the protocol", own, -32002},
		{"denied", tool.Errorf("x", tool.Denied, "no"), jsonrpc.CodeInvalidParams},
		{"not found", tool.Errorf("x", tool.NotFound, "no"), jsonrpc.CodeInvalidParams},
		{"unavailable", tool.Errorf("x", tool.Unavailable, "no"), jsonrpc.CodeInternalError},
		{"of another kind", errors.New("no"), jsonrpc.CodeInternalError},
	} {
		var e *jsonrpc.Error
		if err := mcpresult.ProtocolError(test.err); !errors.As(err, &e) || e.Code != test.code {
			t.Errorf("%s: %v, want code %d", test.name, err, test.code)
		}
	}
}

func TestStateless(t *testing.T) {
	for version, want := range map[string]bool{"": false, stateful: false, stateless: true, "2027-01-01": true} {
		if got := mcpresult.Stateless(version); got != want {
			t.Errorf("%q: %v", version, got)
		}
	}
}

// TestKinds writes the kind of each constant result.
func TestKinds(t *testing.T) {
	call, read, prompt := mcpresult.InputCall(), mcpresult.InputRead(), mcpresult.InputPrompt()
	doneRead, donePrompt := mcpresult.CompleteRead(), mcpresult.CompletePrompt()
	for _, test := range []struct {
		value any
		kind  string
	}{
		{&call, "input_required"}, {&read, "input_required"}, {&prompt, "input_required"},
		{&doneRead, "complete"}, {&donePrompt, "complete"},
	} {
		data, err := json.Marshal(test.value)
		if err != nil || !strings.Contains(string(data), `"resultType":"`+test.kind+`"`) {
			t.Errorf("%T: %s, %v", test.value, data, err)
		}
	}
}
