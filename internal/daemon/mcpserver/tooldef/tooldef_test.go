package tooldef_test

import (
	"encoding/json"
	"testing"

	"callgate/internal/daemon/mcpserver/tooldef"
	"callgate/tool"
)

func TestSchema(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"an object", `{"type":"object","properties":{"a":{}}}`, `{"type":"object","properties":{"a":{}}}`},
		{"without a type", `{"properties":{}}`, `{"properties":{},"type":"object"}`},
		{"several types", `{"type":["object","null"]}`, `{"type":"object"}`},
		{"true", `true`, tooldef.OpenObject},
		{"null", `null`, tooldef.OpenObject},
		{"nothing", ``, tooldef.OpenObject},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := string(tooldef.Schema(json.RawMessage(test.in))); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestOutputSchema(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"requires nothing", `{"type":"object","required":["a"],"additionalProperties":false,"$id":"x"}`,
			`{"type":"object"}`},
		{"keeps the properties", `{"type":"object","properties":{"a":{"type":"string"}}}`,
			`{"properties":{"a":{"type":"string"}},"type":"object"}`},
		{"an array", `{"type":"array"}`, ""},
		{"a choice", `{"type":"object","oneOf":[{},{}]}`, ""},
		{"nothing", ``, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, ok := tooldef.OutputSchema(json.RawMessage(test.in))
			if string(got) != test.want || ok != (test.want != "") {
				t.Errorf("got %s, %v; want %s", got, ok, test.want)
			}
		})
	}
}

// Whatever a server calls a schema, clients get one whose root is an object.
func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"string"}`)
	f.Add(`{"type":"object","required":[]}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		check := func(raw json.RawMessage) {
			var root map[string]any
			if err := json.Unmarshal(raw, &root); err != nil || root["type"] != "object" {
				t.Errorf("%q became %s: %v", text, raw, err)
			}
		}
		check(tooldef.Schema(json.RawMessage(text)))
		if out, ok := tooldef.OutputSchema(json.RawMessage(text)); ok {
			check(out)
		}
	})
}

func TestTitle(t *testing.T) {
	for _, test := range []struct {
		namespace, name string
		control         bool
		want            string
	}{
		{"filesystem", "read", false, "filesystem: read"},
		{"mcp_files", "read_all_lines", false, "files: read all lines"},
		{"tools", "search_tools", true, "Search tools"},
	} {
		one := &tool.Tool{ID: tool.ID{Namespace: test.namespace, Name: test.name}}
		one.Runtime.Control = test.control
		if got := tooldef.Title(one); got != test.want {
			t.Errorf("%s.%s is titled %q, want %q", test.namespace, test.name, got, test.want)
		}
	}
}

func TestAnnotations(t *testing.T) {
	for _, test := range []struct {
		name                            string
		runtime                         tool.Runtime
		tool                            string
		reads, harms, open, idempotence bool
	}{
		{"reads", tool.Runtime{Risk: tool.Low, SideEffect: tool.Read}, "a", true, false, false, false},
		{"reads over the network", tool.Runtime{SideEffect: tool.Read, Network: true}, "a", true, false, true, false},
		{"writes", tool.Runtime{Risk: tool.Medium, SideEffect: tool.Write, Idempotent: true}, "a", false, false, false, true},
		{"destroys", tool.Runtime{Risk: tool.High, SideEffect: tool.Write}, "a", false, true, false, false},
		{"acts outside", tool.Runtime{Risk: tool.Low, SideEffect: tool.External}, "a", false, false, true, false},
		{"searches tools", tool.Runtime{Control: true, SideEffect: tool.None}, "search_tools", true, false, false, false},
		{"calls tools", tool.Runtime{Control: true, SideEffect: tool.None, Idempotent: true}, "execute_tool",
			false, true, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			one := &tool.Tool{ID: tool.ID{Namespace: "n", Name: test.tool}, Runtime: test.runtime}
			a := tooldef.Annotations(one)
			if a.ReadOnlyHint != test.reads || *a.DestructiveHint != test.harms || *a.OpenWorldHint != test.open ||
				a.IdempotentHint != test.idempotence {
				t.Errorf("reads %v, destroys %v, open %v, idempotent %v",
					a.ReadOnlyHint, *a.DestructiveHint, *a.OpenWorldHint, a.IdempotentHint)
			}
		})
	}
}
