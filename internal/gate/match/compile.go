package match

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"

	"callgate/internal/gate/shellcmd"
	"callgate/internal/module/filesystem/pathglob"
	"callgate/tool"
)

const (
	opCompile = "match.Compile"
	keyExact  = "exact"
	keyMin    = "min"
	keyMax    = "max"
	// paramCommand is the parameter that holds a command line, in every tool.
	paramCommand = "command"
	paramPath    = "path"         // the parameter that names a file, in most tools
	paramFolder  = "cwd"          // and the one with the folder that it runs in
	paramInput   = "input_for"    // and the one with the task that it is input for
	paramText    = "stdin_text"   // and the one with text for its input
	paramTask    = "task_command" // and, of input for a task, the one with the task's own
	paramBefore  = "unfinished"   // and the one with what is in its input already and no whole command yet
	maxChoices   = 256
)

// Error is a mistake in a pattern: Path is the key below match, Got what is there
// and Want what to write.
type Error struct{ Path, Got, Want string }

func (e *Error) Error() string { return e.Path + " is " + e.Got + "; write " + e.Want }

// Compile reads the form under match. A mistake is an [*Error].
func Compile(m map[string]any) (*Pattern, error) {
	if form, ok := m[keyAll]; ok {
		return compileExact(m, form)
	}
	p := &Pattern{}
	for _, param := range sortedKeys(m) {
		if param == "" {
			return nil, &Error{`""`, "no name", "the name of a parameter, such as path"}
		}
		source := plain(m[param])
		tests, err := compileCondition(param, param, source, true)
		if err != nil {
			return nil, err
		}
		p.conditions = append(p.conditions, condition{param: param, source: source, any: tests})
	}
	p.commands = len(p.programs()) > 0
	return p, nil
}

func compileCondition(path, param string, v any, list bool) ([]test, error) {
	switch v := v.(type) {
	case nil, bool, float64:
		return []test{exactTest{v}}, nil
	case string:
		t, err := compileText(path, param, v)
		return []test{t}, err
	case map[string]any:
		t, err := compileOperator(path, v)
		return []test{t}, err
	case []any:
		if !list || len(v) == 0 || len(v) > maxChoices {
			return nil, &Error{path, describe(v), fmt.Sprintf("a list of 1 to %d values, any of which fits", maxChoices)}
		}
		var tests []test
		for i, item := range v {
			t, err := compileCondition(fmt.Sprintf("%s[%d]", path, i), param, item, false)
			if err != nil {
				return nil, err
			}
			tests = append(tests, t...)
		}
		return tests, nil
	default:
		return nil, &Error{path, describe(v), "a text, a number, true, false, null, a list or {min: …, max: …}"}
	}
}

func compileText(path, param, text string) (test, error) {
	if param == paramCommand {
		p, err := shellcmd.CompilePattern(text)
		if err != nil {
			return nil, &Error{path, quote(text), err.Error()}
		}
		return commandTest{p}, nil
	}
	var plain textTest = literalTest(text)
	if strings.ContainsAny(text, `*?[{\`) {
		g, err := pathglob.Parse(text)
		if err != nil {
			return nil, &Error{path, quote(text), "a glob, such as src/**: " + err.Error()}
		}
		plain = globTest{g, strings.HasPrefix(text, "/")}
	}
	if t, ok := compileURL(text, plain); ok {
		return t, nil
	}
	return plain, nil
}

func compileOperator(path string, m map[string]any) (test, error) {
	const want = "{min: 1, max: 10}, or {exact: a value}"
	for _, key := range sortedKeys(m) {
		switch key {
		case keyExact:
			if len(m) > 1 {
				return nil, &Error{path, describe(m), "exact alone, without another key"}
			}
			return exactTest{m[keyExact]}, nil
		case keyMin, keyMax:
			if _, ok := m[key].(float64); !ok {
				return nil, &Error{path + "." + key, describe(m[key]), "a number"}
			}
		default:
			return nil, &Error{path + "." + key, "not known", want}
		}
	}
	if len(m) == 0 {
		return nil, &Error{path, "empty", want}
	}
	r := rangeTest{math.Inf(-1), math.Inf(1)}
	if v, ok := m[keyMin].(float64); ok {
		r.min = v
	}
	if v, ok := m[keyMax].(float64); ok {
		r.max = v
	}
	if r.min > r.max {
		return nil, &Error{path, describe(m), "a min that is not above max"}
	}
	return r, nil
}

// plain makes of a value what decoding JSON would have made of it.
func plain(v any) any {
	switch v := v.(type) {
	case nil, bool, string, float64:
		return v
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return f
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = plain(item)
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, item := range v {
			m[key] = plain(item)
		}
		return m
	}
	switch n := reflect.ValueOf(v); {
	case n.CanInt():
		return float64(n.Int())
	case n.CanUint():
		return float64(n.Uint())
	case n.CanFloat():
		return n.Float()
	}
	return v
}

func describe(v any) string {
	if s, ok := v.(string); ok {
		return quote(s)
	}
	return tool.TruncateTo(compact(v), 60)
}

// quote quotes and shortens untrusted input for an error.
func quote(s string) string { return fmt.Sprintf("%q", tool.TruncateTo(s, 60)) }
