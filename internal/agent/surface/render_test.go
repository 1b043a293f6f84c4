package surface_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/agent/surface"
	"callgate/tool"
)

// render returns the pruned schema of a tool.
func render(t testing.TB, input string) string {
	t.Helper()
	p := surface.New([]surface.Item{item("fs.read_file", "Reads.", input)}, nil, surface.Config{Force: surface.Direct})
	return string(p.Shown[0].Schema)
}

var schemas = map[string]struct{ input, want string }{
	"as it is": {
		`{"type":"object","properties":{"b":{"type":"string"},"a":{"default":1.50}},"required":["b"]}`,
		`{"type":"object","properties":{"b":{"type":"string"},"a":{"default":1.50}},"required":["b"]}`,
	},
	"spaces": {
		" { \"type\" : \"object\" ,\n\t\"properties\" : { } } ", `{"type":"object","properties":{}}`,
	},
	"no type":       {`{"properties":{"a":{}}}`, `{"type":"object","properties":{"a":{}}}`},
	"another type":  {`{"properties":{},"type":["object","null"]}`, `{"type":"object","properties":{}}`},
	"not an object": {`true`, `{"type":"object"}`},
	"not JSON":      {`{"type":"object",}`, `{"type":"object"}`},
	"nothing":       {``, `{"type":"object"}`},
	"a hidden parameter": {
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","x-hidden":true}},"required":["a","b"]}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`,
	},
	"all of them hidden": {
		`{"type":"object","properties":{"b":{"x-hidden":true}},"required":["b"]}`, `{"type":"object","properties":{}}`,
	},
	"hidden is written otherwise": {
		`{"type":"object","properties":{"\u0062":{"x\u002dhidden":true}},"required":["b"]}`,
		`{"type":"object","properties":{}}`,
	},
	"not hidden": {
		`{"type":"object","properties":{"b":{"x-hidden":false},"c":{"x-hidden":"true"}},"required":["b"]}`,
		`{"type":"object","properties":{"b":{},"c":{}},"required":["b"]}`,
	},
	"the word in data": {
		`{"type":"object","properties":{"a":{"default":{"x-hidden":true},"enum":[{"properties":{"q":{"x-hidden":true}}}]}}}`,
		`{"type":"object","properties":{"a":{"default":{"x-hidden":true},"enum":[{"properties":{"q":{"x-hidden":true}}}]}}}`,
	},
	"a parameter of that name": {
		`{"type":"object","properties":{"x-hidden":{"type":"boolean"},` +
			`"title":{"type":"string"},"required":{"x-hidden":true}}}`,
		`{"type":"object","properties":{"x-hidden":{"type":"boolean"},"title":{"type":"string"}}}`,
	},
	"hidden further in": {
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object",` +
			`"properties":{"x":{},"y":{"x-hidden":true}},"required":["y","x"]}},"y":{}},"required":["y"]}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object",` +
			`"properties":{"x":{}},"required":["x"]}},"y":{}},"required":["y"]}`,
	},
	"hidden in a definition": {
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/d"}},` +
			`"$defs":{"d":{"properties":{"x":{"x-hidden":true},"y":{}},"required":["x"]}}}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/d"}},"$defs":{"d":{"properties":{"y":{}}}}}`,
	},
	"a branch about hidden ones": {
		`{"type":"object","properties":{"a":{},"b":{"x-hidden":true}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
		`{"type":"object","properties":{"a":{}},"anyOf":[{"required":["a"]}]}`,
	},
	"only branches about them": {
		`{"type":"object","properties":{"b":{"x-hidden":true}},"oneOf":[{"required":["b"]}],` +
			`"not":{"required":["b"]},"if":{"required":["b"]},"then":{"required":["a"]}}`,
		`{"type":"object","properties":{},"then":{"required":["a"]}}`,
	},
	"hidden in a branch": {
		`{"type":"object","required":["b","a"],"allOf":[{"properties":{"b":{"x-hidden":true},"a":{}}}]}`,
		`{"type":"object","required":["a"],"allOf":[{"properties":{"a":{}}}]}`,
	},
	"what hidden ones demand": {
		`{"type":"object","properties":{"a":{},"b":{"x-hidden":true}},"dependentRequired":{"b":["a"],` +
			`"a":["b"]},"dependentSchemas":{"a":{"required":["b"]}},"dependencies":{"a":["b","c"]}}`,
		`{"type":"object","properties":{"a":{}},"dependencies":{"a":["c"]}}`,
	},
	"a reference to a hidden one": {
		`{"type":"object","properties":{"a":{"$ref":"#/properties/b","description":"d"},"b":{"type":"object",` +
			`"properties":{"x":{}},"x-hidden":true},"c":{"$ref":"#/properties/b/properties/x"},"d":{"$ref":"#/properties/a"}}}`,
		`{"type":"object","properties":{"a":{"description":"d"},"c":{},"d":{"$ref":"#/properties/a"}}}`,
	},
	"a reference written in codes": {
		`{"type":"object","properties":{"a":{"$ref":"#/properties/b%20~1c"},` +
			`"b /c":{"x-hidden":true},"e":{"$ref":"#/allOf/0"}},"allOf":[{"minProperties":1}]}`,
		`{"type":"object","properties":{"a":{},"e":{"$ref":"#/allOf/0"}},"allOf":[{"minProperties":1}]}`,
	},
	"titles that repeat": {
		`{"type":"object","title":"read_fileArguments","properties":{"max_results":{"title":"Max Results",` +
			`"type":"integer"},"url":{"title":"URL"},"q":{"title":"Query"}},"$defs":{"Kind":{"title":"Kind"}}}`,
		`{"type":"object","properties":{"max_results":{"type":"integer"},` +
			`"url":{},"q":{"title":"Query"}},"$defs":{"Kind":{}}}`,
	},
	"titles that tell": {
		`{"type":"object","title":"What to read","properties":{"a":{"items":{"title":"A"},` +
			`"title":["A"]}},"anyOf":[{"title":"First"}]}`,
		`{"type":"object","title":"What to read","properties":{"a":{"items":{"title":"A"},` +
			`"title":["A"]}},"anyOf":[{"title":"First"}]}`,
	},
	"letters that are alike": {
		`{"type":"object","properties":{"a1":{"title":"aQ"},"k":{"title":"\u212a"},"[":{"title":"{"}}}`,
		`{"type":"object","properties":{"a1":{"title":"aQ"},"k":{"title":"\u212a"},"[":{"title":"{"}}}`,
	},
	"boolean schemas": {
		`{"type":"object","properties":{"a":true},"additionalProperties":false,` +
			`"items":[true,{"x-hidden":true}],"patternProperties":{"^x":{"x-hidden":true}}}`,
		`{"type":"object","properties":{"a":true},"additionalProperties":false,` +
			`"items":[true,{}],"patternProperties":{"^x":{}}}`,
	},
	"keywords of the wrong form": {
		`{"type":"object","properties":[1],"required":"x","anyOf":3,"$defs":null,"dependencies":[],"$ref":7}`,
		`{"type":"object","properties":[1],"required":"x","anyOf":3,"$defs":null,"dependencies":[],"$ref":7}`,
	},
	"not UTF-8": {
		"{\"type\":\"object\",\"description\":\"a\xffb\"}", `{"type":"object","description":"a` + "\uFFFD" + `b"}`,
	},
}

func TestSchemasArePruned(t *testing.T) {
	t.Parallel()
	for name, c := range schemas {
		if got := render(t, c.input); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

func TestShownSchemasCompile(t *testing.T) {
	t.Parallel()
	compiled := 0
	for name, c := range schemas {
		if compile(c.input) != nil {
			continue // invalid to begin with
		}
		compiled++
		if err := compile(render(t, c.input)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if compiled < 15 {
		t.Errorf("only %d schemas compiled", compiled)
	}
}

func compile(schema string) error {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///s.json", value); err != nil {
		return err
	}
	_, err = c.Compile("mem:///s.json")
	return err
}

// A schema that compiles still compiles after pruning, however deep the hidden
// parameter is.
func TestPruningKeepsTheCatalogCompiling(t *testing.T) {
	t.Parallel()
	compiled := 0
	for i, one := range catalog(t) {
		if i%40 != 0 {
			continue
		}
		input := string(one.Tool.Spec.Input)
		if compile(input) != nil {
			continue
		}
		compiled++
		for _, marked := range []string{input, strings.ReplaceAll(input, `"string"`, `"string","x-hidden":true`)} {
			if err := compile(render(t, marked)); err != nil {
				t.Errorf("%s: %v", one.Wire, err)
			}
		}
	}
	if compiled < 100 {
		t.Errorf("only %d schemas compiled", compiled)
	}
}

func FuzzSchema(f *testing.F) {
	for _, c := range schemas {
		f.Add([]byte(c.input))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		out := render(t, string(input))
		var shown map[string]any
		if err := json.Unmarshal([]byte(out), &shown); err != nil {
			t.Fatalf("%q became %q: %v", input, out, err)
		}
		if shown["type"] != "object" {
			t.Errorf("%q became %s", input, out)
		}
		var whole map[string]any
		if err := json.Unmarshal(input, &whole); err == nil && whole != nil && len(shown) > len(whole)+1 {
			t.Errorf("%q grew to %s", input, out)
		} else if err != nil && out != anyObject {
			t.Errorf("%q is not an object and became %s", input, out)
		}
		if again := render(t, out); again != out {
			t.Errorf("%s, shown again, became %s", out, again)
		}
	})
}

func TestDescriptionsIncludeExamples(t *testing.T) {
	t.Parallel()
	one := item("fs.read", "Reads a \"file\".\n<Now> \x01é\xff", anyObject)
	one.Tool.Spec.Examples = []tool.Example{
		{Note: "the whole file. Always.", Args: json.RawMessage(`{ "path" : "a b" }`)},
		{Args: json.RawMessage(`{broken`)},
		{Note: "too long", Args: json.RawMessage(`"` + strings.Repeat("x", 700) + `"`)},
		{Args: json.RawMessage(`{"n":[1, 2]}`)},
		{Note: "a third", Args: json.RawMessage(`{}`)},
	}
	e := surface.New([]surface.Item{one}, nil, surface.Config{}).Shown[0]
	want := "Reads a \"file\".\n<Now> \x01é\uFFFD\nExample (the whole file.): {\"path\":\"a b\"}\nExample: {\"n\":[1,2]}"
	if e.Description != want {
		t.Errorf("described as %q, want %q", e.Description, want)
	}
	var back struct {
		Type     string
		Function struct {
			Name, Description string
			Parameters        json.RawMessage
		}
	}
	if err := json.Unmarshal(e.Definition(), &back); err != nil {
		t.Fatal(err)
	}
	function := back.Function
	if back.Type != "function" || function.Name != "fs__read" || function.Description != want ||
		string(function.Parameters) != anyObject {
		t.Errorf("the definition reads %+v", back)
	}
	if !strings.Contains(string(e.Definition()), "<Now>") {
		t.Errorf("the definition has needless escapes: %s", e.Definition())
	}
}

func TestItemWithoutAWireName(t *testing.T) {
	t.Parallel()
	one := item("fs.read", "Reads.", anyObject)
	one.Wire = ""
	for _, mode := range []surface.Mode{surface.Direct, surface.CompactDirect} {
		if p := surface.New([]surface.Item{one}, nil, surface.Config{Force: mode}); shown(p) != "fs__read" {
			t.Errorf("%s shows %q", mode, shown(p))
		}
	}
}
