package walk_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/gate/schema/schematest"
	"callgate/internal/gate/schema/walk"
)

// locations returns the locations of schemas within their text.
func locations(schemas []*jsonschema.Schema) []string {
	var out []string
	for _, s := range schemas {
		out = append(out, strings.TrimPrefix(s.Location, "test:///#"))
	}
	return out
}

func split(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(token string) bool { return token == "" })
}

func TestLocate(t *testing.T) {
	t.Parallel()
	const alternatives = `{"anyOf":[{"properties":{"a":{"type":"integer"}}},` +
		`{"properties":{"a":{"$ref":"#/$defs/s"}}}],"$defs":{"s":{"type":"string"}}}`
	const draft7 = `"$schema":"http://json-schema.org/draft-07/schema#",`
	tests := []struct {
		name, schema, doc, path string
		want                    []string
	}{
		{"the whole", `{"allOf":[{"not":{}},true]}`, `1`, "", []string{"", "/allOf/0", "/allOf/1"}},
		{"in every alternative", alternatives, `{"a":1}`, "a",
			[]string{"/anyOf/0/properties/a", "/anyOf/1/properties/a", "/$defs/s"}},
		{"a missing property", alternatives, `{}`, "a",
			[]string{"/anyOf/0/properties/a", "/anyOf/1/properties/a", "/$defs/s"}},
		{"a property without a schema", alternatives, `{"b":1}`, "b", nil},
		{"a pattern beside a property",
			`{"properties":{"a":{}},"patternProperties":{"b":{},"a":{}},"additionalProperties":{}}`, `{"a":1}`, "a",
			[]string{"/properties/a", "/patternProperties/a"}},
		{"the rest", `{"properties":{"a":{}},"additionalProperties":{}}`, `{"b":1}`, "b", []string{"/additionalProperties"}},
		{"an item", `{"items":{}}`, `[1,2]`, "1", []string{"/items"}},
		{"an item by its index", `{"prefixItems":[{},{}],"items":{}}`, `[1,2,3]`, "1", []string{"/prefixItems/1"}},
		{"an item after those", `{"prefixItems":[{},{}],"items":{}}`, `[1,2,3]`, "2", []string{"/items"}},
		{"an item of draft-07", `{` + draft7 + `"items":[{}],"additionalItems":{}}`,
			`[1,2]`, "1", []string{"/additionalItems"}},
		{"a number that is a name", `{"items":{},"additionalProperties":{}}`,
			`{"0":1}`, "0", []string{"/additionalProperties"}},
		{"through itself", `{"properties":{"n":{"$ref":"#"}}}`, `{"n":{"n":{}}}`, "n/n", []string{"/properties/n", ""}},
		{"in a circle", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`,
			`1`, "", []string{"", "/$defs/a", "/$defs/b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, doc := schematest.Library(t, tt.schema), schematest.Value(t, tt.doc)
			for range 3 {
				if diff := cmp.Diff(tt.want, locations(walk.Locate(s, doc, split(tt.path)))); diff != "" {
					t.Fatalf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestChildrenAreListedInOrder(t *testing.T) {
	t.Parallel()
	s := schematest.Library(t, `{"if":{},"then":{},"else":{},"not":{},"allOf":[{}],"anyOf":[{}],"oneOf":[{}],
		"properties":{"b":{},"a":{}},"patternProperties":{"x":{}},"additionalProperties":{},"propertyNames":{},
		"prefixItems":[{}],"items":{},"contains":{},
		"dependentSchemas":{"d":{}},"unevaluatedItems":{},"unevaluatedProperties":{}}`)
	want := []string{
		"/allOf/0", "/anyOf/0", "/oneOf/0", "/then", "/else", "/dependentSchemas/d",
		"/properties/a", "/properties/b", "/patternProperties/x", "/additionalProperties", "/prefixItems/0",
		"/if", "/not", "/propertyNames", "/unevaluatedProperties", "/items", "/contains", "/unevaluatedItems",
	}
	if diff := cmp.Diff(want, locations(walk.Children(s))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReplaceAndRemove(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, doc, path, put, dropped string }{
		{"the whole", `{"a":1}`, "", `"new"`, ""},
		{"a property", `{"a":1,"b":2}`, "a", `{"a":"new","b":2}`, `{"b":2}`},
		{"a property that is new", `{"b":2}`, "a", `{"a":"new","b":2}`, ""},
		{"a property inside", `{"a":[{"b":1}]}`, "a/0/b", `{"a":[{"b":"new"}]}`, `{"a":[{}]}`},
		{"an item", `[1,2]`, "1", `[1,"new"]`, ""},
		{"an item too far", `[1,2]`, "2", "", ""},
		{"a name in a list", `[1,2]`, "a", "", ""},
		{"inside a plain value", `{"a":1}`, "a/b", "", ""},
		{"inside nothing", `{}`, "a/b", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			doc := schematest.Value(t, tt.doc)
			got, ok := walk.Replace(walk.Clone(doc), split(tt.path), "new")
			want := doc
			if tt.put != "" {
				want = schematest.Value(t, tt.put)
			}
			if diff := cmp.Diff(want, got); diff != "" || ok != (tt.put != "") {
				t.Errorf("Replace reported %v (-want +got):\n%s", ok, diff)
			}
			less := walk.Clone(doc)
			if want = doc; tt.dropped != "" {
				want = schematest.Value(t, tt.dropped)
			}
			if ok := walk.Remove(less, split(tt.path)); ok != (tt.dropped != "") {
				t.Errorf("Remove reported %v", ok)
			}
			if diff := cmp.Diff(want, less); diff != "" {
				t.Errorf("Drop (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(schematest.Value(t, tt.doc), doc); diff != "" {
				t.Errorf("the original was changed through its clone:\n%s", diff)
			}
		})
	}
}
