package modules_test

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"callgate/internal/gate/schema"
	"callgate/internal/kernel/modules"
	"callgate/internal/module"
	"callgate/tool"
)

// shippedTools are the tools of all modules, of a kernel that has nothing.
func shippedTools(t testing.TB) []*tool.Tool {
	t.Helper()
	var all []*tool.Tool
	state := t.TempDir()
	set, err := modules.Open(nil, modules.Config{}, func(string) module.Host { return module.Host{State: state} },
		func(_ string, tools ...*tool.Tool) error {
			all = append(all, tools...)
			return nil
		})
	ok(t, err)
	t.Cleanup(func() { ok(t, set.Close()) })
	return all
}

// node is the part of a schema that variants looks at.
type node struct {
	Type       any                        `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	Items      json.RawMessage            `json:"items"`
}

// variants returns values of a schema in which a number is written as given, in each
// place where a number may stand.
func variants(t testing.TB, raw json.RawMessage, number string) (all []json.RawMessage) {
	t.Helper()
	var n node
	if json.Unmarshal(raw, &n) != nil {
		return nil
	}
	types, _ := json.Marshal(n.Type)
	if strings.Contains(string(types), `"integer"`) || strings.Contains(string(types), `"number"`) || n.Type == nil {
		all = append(all, json.RawMessage(number))
	}
	if len(n.Items) > 0 {
		for _, v := range variants(t, n.Items, number) {
			all = append(all, json.RawMessage("["+string(v)+"]"))
		}
	}
	if len(n.Properties) == 0 {
		return all
	}
	compiled, err := schema.Compile(raw)
	ok(t, err)
	least := map[string]json.RawMessage{}
	_ = json.Unmarshal(compiled.Example(), &least)
	for name, property := range n.Properties {
		for _, v := range variants(t, property, number) {
			object := maps.Clone(least)
			object[name] = v
			text, err := json.Marshal(object)
			ok(t, err)
			all = append(all, text)
		}
	}
	return all
}

// checkNumber gives a number to every tool that ships with the kernel, in every place
// where its schema lets it pass: the tool reads it, or says in plain words what does
// not fit.
func checkNumber(t *testing.T, tools []*tool.Tool, number string) (passed int) {
	gone, cancel := context.WithCancel(t.Context())
	cancel() // nothing is begun
	for _, one := range tools {
		compiled, err := schema.Compile(one.Spec.Input)
		ok(t, err)
		for _, args := range variants(t, one.Spec.Input, number) {
			checked, err := compiled.Check(args, schema.Lenient)
			if err != nil {
				continue // the schema says why
			}
			passed++
			_, err = one.Handler.Execute(gone, tool.Call{Tool: one.ID, Args: checked.Args}, tool.Grant{})
			for _, raw := range []string{"json:", "unmarshal", "strconv", "Go struct"} {
				if err != nil && strings.Contains(err.Error(), raw) {
					t.Errorf("%s with %s: %v", one.ID.Dotted(), args, err)
				}
			}
			whole := strings.TrimRight(number, ".0") != number && strings.Contains(number, ".") && len(number) < 18
			if whole && tool.KindOf(err) == tool.Invalid && strings.Contains(err.Error(), "whole number") {
				t.Errorf("%s with %s: a whole number is refused: %v", one.ID.Dotted(), args, err)
			}
		}
	}
	return passed
}

func TestEveryToolReadsEveryNumber(t *testing.T) {
	t.Parallel()
	tools := shippedTools(t)
	if len(tools) < 40 {
		t.Fatalf("only %d tools", len(tools))
	}
	for _, number := range []string{
		"2.0", "2e0", "20E-1", "-0", "-0.0", "1e2", "3", "1.5", "9007199254740993", "9007199254740993.0",
		"1e30", "1e400", "-1e400", "99999999999999999999",
	} {
		if n := checkNumber(t, tools, number); n == 0 && number != "1e400" && number != "-1e400" {
			t.Errorf("%s passed no schema", number)
		}
	}
}

func FuzzEveryToolReadsEveryNumber(f *testing.F) {
	for _, number := range []string{"2.0", "2e0", "-0", "1e30", "0.1e1", "12345678901234567890.0"} {
		f.Add(number)
	}
	tools := shippedTools(f)
	f.Fuzz(func(t *testing.T, number string) {
		var n json.Number
		if len(number) > 400 || json.Unmarshal([]byte(number), &n) != nil || n == "" || number[0] == '"' {
			t.Skip()
		}
		checkNumber(t, tools, number)
	})
}
