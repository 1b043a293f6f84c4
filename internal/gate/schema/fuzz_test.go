package schema_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/gate/schema"
	"callgate/internal/gate/schema/schematest"
	"callgate/tool"
)

// fuzzSchemas are typical schemas of tools, and some worse ones.
var fuzzSchemas = []string{
	`{"type":"object","required":["path"],"additionalProperties":false,"properties":{
		"path":{"type":"string","minLength":1},"limit":{"type":"integer","minimum":1,"maximum":500,"default":40},
		"mode":{"enum":["overwrite","append"]},"force":{"type":"boolean","default":false},
		"tags":{"type":"array","items":{"type":"string"}},"ratio":{"type":"number"},"note":{"type":["string","null"]}}}`,
	`{"type":"object","properties":{"edits":{"type":"array","minItems":1,"items":{"$ref":"#/$defs/edit"}}},
		"$defs":{"edit":{"type":"object","required":["line"],"properties":{
			"line":{"type":"integer"},"text":{"type":"string","default":""},"opts":{"$ref":"#/$defs/opts"}}},
		"opts":{"type":"object","default":{},"properties":{"keep":{"type":"boolean","default":true}}}}}`,
	`{"type":"object","properties":{
		"a":{"anyOf":[{"type":"integer"},{"type":"null"}]},
		"b":{"anyOf":[{"type":"array","items":{"type":"integer"}},{"type":"integer"}]},
		"c":{"oneOf":[{"const":"x"},{"const":"Y"},
			{"type":"object","properties":{"k":{"const":1},"n":{"type":"number"}},"required":["k"]}]},
		"d":{"anyOf":[{"type":"null"},{"type":"object","properties":{"e":{"default":[1]},"f":{"type":"boolean"}}}]}}}`,
	`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"node":{"type":"object","properties":{
		"v":{"type":"integer"},"kids":{"type":"array","items":{"$ref":"#/definitions/node"}}},"required":["v"]}},
		"$ref":"#/definitions/node"}`,
	`{"type":"array","items":{"type":"string","format":"date"},"uniqueItems":true,"maxItems":3}`,
	`{"properties":{"a":{"default":1},"n":{"type":"integer"}},` +
		`"dependentRequired":{"a":["b"]},"propertyNames":{"maxLength":4}}`,
	`{"$defs":{"n":{"properties":{"n":{"$ref":"#/$defs/n"},"x":{"type":"string"}},"default":{}}},"$ref":"#/$defs/n"}`,
	`true`,
}

func FuzzCheck(f *testing.F) {
	for i, args := range []string{
		`{"path":"a","limit":"40","mode":"Append","force":"TRUE","tags":"x","note":5}`,
		`"{\"edits\":\"[{\\\"line\\\":\\\"4\\\"}]\"}"`, `{"a":"null","b":"5","c":"y","d":{}}`,
		`{"v":"1","kids":{"v":2,"kids":"[{\"v\":\"3\"}]"}}`, `"2026-01-31"`, `{"n":"5"}`, `{"n":{"x":1}}`, `{"a":1,"a":"2"}`,
		`{"edits":[{"line":4,"opts":{}}]}`, `1e1000`, `null`, ``, `[1,`,
		`{"path":"a","limit":null,"mode":null,"note":null,"tags":[null]}`, `{"edits":[{"line":1,"text":null,"opts":null}]}`,
		`{"a":null,"b":null,` +
			`"c":null,"d":{"f":null}}`, `{"v":1,"kids":null}`, `{"path":null}`, `{"n":null}`, `{"n":{"n":null,"x":null}}`,
	} {
		f.Add([]byte(args), uint8(i))
	}
	var schemas []*schema.Schema
	for _, text := range fuzzSchemas {
		schemas = append(schemas, schematest.Compile(f, text))
	}
	f.Fuzz(func(t *testing.T, args []byte, pick uint8) {
		s := schemas[int(pick)%len(schemas)]
		mode := schema.Mode(int(pick) / len(schemas) % 3)
		checkLaws(t, s, args, mode)
	})
}

// checkLaws checks one value and asserts the laws of every check.
func checkLaws(t *testing.T, s *schema.Schema, args []byte, mode schema.Mode) {
	t.Helper()
	before := bytes.Clone(args)
	blank := len(bytes.TrimSpace(args)) == 0 || string(bytes.TrimSpace(args)) == "null" // means {}
	valid := !blank && s.CheckResult(args) == nil
	out, err := s.Check(args, mode)
	if !bytes.Equal(args, before) {
		t.Fatalf("the input was changed to %q", args)
	}
	if err != nil {
		if tool.KindOf(err) != tool.Invalid {
			t.Fatalf("Check(%q): %v", args, err)
		}
		if valid {
			t.Fatalf("under %s a valid value was refused: %v", s.Raw(), err)
		}
		return
	}
	if err := s.CheckResult(out.Args); err != nil {
		t.Fatalf("under %s Check(%q) = %q, which is not valid: %v", s.Raw(), args, out.Args, err)
	}
	if !blank && !json.Valid(args) {
		t.Fatalf("Check(%q) accepted text that is not JSON", args)
	}
	if valid && !extends(decoded(t, out.Args), decoded(t, args)) {
		t.Fatalf("under %s a valid value was changed from %q to %q", s.Raw(), args, out.Args)
	}
	if valid && len(out.Coercions) > 2 {
		t.Fatalf("under %s valid %q was coerced: %q", s.Raw(), args, out.Coercions)
	}
	again, err := s.Check(out.Args, mode)
	if err != nil || len(again.Coercions) > 0 || !bytes.Equal(again.Args, out.Args) {
		t.Fatalf("under %s Check(%q) = %q; checked again: %q, %q, %v",
			s.Raw(), args, out.Args, again.Args, again.Coercions, err)
	}
}

func decoded(t *testing.T, text []byte) (v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// extends reports whether more is less with properties added; a number is the same
// number however it is written.
func extends(more, less any) bool {
	switch less := less.(type) {
	case map[string]any:
		more, ok := more.(map[string]any)
		for k, v := range less {
			have, present := more[k]
			ok = ok && present && extends(have, v)
		}
		return ok
	case []any:
		more, ok := more.([]any)
		if !ok || len(more) != len(less) {
			return false
		}
		for i, v := range less {
			ok = ok && extends(more[i], v)
		}
		return ok
	case json.Number:
		more, ok := more.(json.Number)
		x, ok1 := new(big.Rat).SetString(string(more))
		y, ok2 := new(big.Rat).SetString(string(less))
		return ok && ok1 && ok2 && x.Cmp(y) == 0
	default:
		return more == less
	}
}

func FuzzErrorText(f *testing.F) {
	for _, text := range fuzzSchemas {
		f.Add([]byte(text), []byte(`{"path":5,"zzz":1,"edits":[{}],"n":"x"}`))
		f.Add([]byte(text), []byte(text))
	}
	f.Add([]byte(`{"$ref":"#/x~1y","x/y":{"not":{}},"default":1}`), []byte(`[]`))
	f.Add([]byte(`{"propertyNames":{"pattern":"^a"},"patternProperties":{"b":{"minimum":3}},`+
		`"dependencies":{"a":["b"],"c":["d"]}}`),
		[]byte(`{"a":1,"c":2,"\xff":3}`))
	f.Add([]byte(`{"propertyNames":{"pattern":"^a"},"patternProperties":{"++b":{"minimum":3}},`+
		`"dependencies":{"a":["b"],"c":["d"]}}`),
		[]byte(`{}`))
	f.Add([]byte(`{"if":{"type":"object"},"then":{"required":["a"]},`+
		`"contains":{"const":1},"unevaluatedItems":false,"multipleOf":0.1}`),
		[]byte(`[0.25]`))
	f.Fuzz(func(t *testing.T, text, args []byte) {
		s, twin := twins(t, text)
		if s == nil {
			return
		}
		checkTexts(t, s, twin, args)
	})
}

// twins compiles a schema twice and compares the texts of the two. They are nil if
// the schema does not compile.
func twins(t *testing.T, text []byte) (s, twin *schema.Schema) {
	t.Helper()
	s, err := schema.Compile(text)
	twin, err2 := schema.Compile(bytes.Clone(text))
	checkText(t, err, err2)
	if err != nil {
		return nil, nil
	}
	if example := s.Example(); example != nil && s.CheckResult(example) != nil {
		t.Fatalf("the example %s is not valid: %v", example, s.CheckResult(example))
	}
	if sign := s.Signature(); sign != twin.Signature() || !utf8.ValidString(sign) || len(sign) > 10_000 {
		t.Fatalf("signatures %q and %q", sign, twin.Signature())
	}
	return s, twin
}

// checkTexts compares the texts of twins about a value, and asserts the laws of
// every text.
func checkTexts(t *testing.T, s, twin *schema.Schema, args []byte) {
	t.Helper()
	for _, mode := range []schema.Mode{schema.Lenient, schema.Exact} {
		out, err := s.Check(args, mode)
		out2, err2 := twin.Check(args, mode)
		checkText(t, err, err2)
		if diff := cmp.Diff(out, out2); diff != "" {
			t.Fatalf("under %s Check(%s) has two answers:\n%s", s.Raw(), args, diff)
		}
	}
	checkText(t, s.CheckResult(args), twin.CheckResult(args))
}

// checkText asserts that two errors are equal and obey the laws of every error.
func checkText(t *testing.T, err, twin error) {
	t.Helper()
	if (err == nil) != (twin == nil) {
		t.Fatalf("once %v, once %v", err, twin)
	}
	if err == nil {
		return
	}
	e, ok := err.(*tool.Error)
	if !ok || e.Kind != tool.Invalid {
		t.Fatalf("not an error of kind invalid: %v", err)
	}
	if !reflect.DeepEqual(err, twin) {
		t.Fatalf("one error, two texts:\n%s", cmp.Diff(err, twin))
	}
	if text := e.Error(); len(text) > 4000 || !utf8.ValidString(text) || len(e.Fields) > 20 {
		t.Fatalf("%d bytes, %d fields: %q", len(text), len(e.Fields), text)
	}
	for _, f := range e.Fields {
		if len(f.Path)+len(f.Want)+len(f.Got) > 800 || !utf8.ValidString(f.Path+f.Want+f.Got) {
			t.Fatalf("field %q", f)
		}
	}
}
