package scripts_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"callgate/internal/gate/schema"
	"callgate/internal/script"
	"callgate/tool"
)

// echo answers each call with its arguments.
type echo struct{ args json.RawMessage }

func (e *echo) Asks(context.Context, script.Call) bool { return false }

func (e *echo) Apart(context.Context, script.Call, []script.Call) bool { return true }

func (e *echo) Call(_ context.Context, calls []script.Call, _ bool) []*tool.Result {
	results := make([]*tool.Result, len(calls))
	for i, c := range calls {
		e.args = c.Args
		results[i] = &tool.Result{Status: tool.Success, Data: json.RawMessage(`{}`)}
	}
	return results
}

// Whatever schema a stranger gives a tool, its signature is one line of text that hides
// nothing, and every parameter in it reaches the tool under its own name.
func FuzzSignature(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","properties":{"path":{"type":"string"},"n":{"type":["integer","null"]}},"required":["path"]}`,
		`{"type":"object","properties":{"a\nb":{"type":"string"},"x y":{},"\u200b":{"enum":[1,"a"]},"if":{"const":true}}}`,
		`{"allOf":[{"properties":{"b":{"type":"array"}}},{"required":["b","c"]}],"properties":{"c":{"$ref":"#/$defs/c"}},"$defs":{"c":{"type":"object"}}}`,
		`{"properties":{"self":{"$ref":"#"}},"required":["self"]}`,
		`true`, `{"properties":{"":{"type":"number"}},"required":[""]}`, `{"type":"string"}`, `{"anyOf":[{},{"properties":{"z":{}}}]}`,
		`{"properties":{"\u202e/etc":{"type":"string"},"\u001b[2J":{}}}`,
	} {
		f.Add([]byte(seed))
	}
	var cache schema.Cache
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 4096 {
			return
		}
		compiled, err := cache.Get(raw)
		if err != nil {
			return // the tool is called without a signature, and the gate answers
		}
		fn := script.Function{Name: "m.f", Open: false}
		var given []string
		want := map[string]any{}
		for _, p := range compiled.Params() {
			fn.Params = append(fn.Params, script.Param(p))
			name, err := json.Marshal(p.Name)
			if err != nil {
				t.Fatal(err)
			}
			if len(want) < 50 && !strings.ContainsAny(string(name), "\ufffd\u2028\u2029") && printable(string(name)) {
				given, want[p.Name] = append(given, string(name)+": 7"), 7
			}
		}
		line := fn.Signature()
		for _, r := range line {
			if r != ' ' && !unicode.IsPrint(r) && r != unicode.ReplacementChar {
				t.Fatalf("%q is in the signature %q of %s", r, line, raw)
			}
		}
		caller := &echo{}
		program := "m.f(**{" + strings.Join(given, ", ") + "})\nresult = 1"
		done, err := script.Run(t.Context(), program, script.Options{Caller: caller, Functions: []script.Function{fn}})
		if err != nil {
			if strings.Contains(err.Error(), "there is no parameter") {
				t.Fatalf("%s\n%s\n%s", raw, program, err)
			}
			return // a required one was left out here
		}
		var got map[string]any
		if json.Unmarshal(caller.args, &got) != nil || len(got) != len(want) || done.Calls != 1 {
			t.Fatalf("%s\n%s\ngot %s", raw, program, caller.args)
		}
		for name := range want {
			if _, ok := got[name]; !ok {
				t.Fatalf("%q did not reach the tool: %s", name, caller.args)
			}
		}
	})
}

// printable leaves out the names whose text in JSON is not that in Starlark.
func printable(name string) bool { return !strings.Contains(name, `\u`) }
