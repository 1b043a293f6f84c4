// Package schematest helps the tests of package schema and its subpackages:
// schemas that must compile, and checks that must fail.
package schematest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/gate/schema"
	"callgate/tool"
)

// Compile compiles a schema that must compile.
func Compile(t testing.TB, text string) *schema.Schema {
	t.Helper()
	s, err := schema.Compile(json.RawMessage(text))
	if err != nil {
		t.Fatalf("Compile(%.200s): %v", text, err)
	}
	return s
}

// Refused returns the error of a check that must fail as invalid.
func Refused(t testing.TB, s *schema.Schema, args string, mode schema.Mode) *tool.Error {
	t.Helper()
	out, err := s.Check(json.RawMessage(args), mode)
	if err == nil {
		t.Fatalf("Check(%.200s) = %s, want an error", args, out.Args)
	}
	var e *tool.Error
	if !errors.As(err, &e) || e.Kind != tool.Invalid {
		t.Fatalf("Check(%.200s) failed with %v, want kind invalid", args, err)
	}
	if len(out.Args) > 0 || len(out.Coercions) > 0 {
		t.Errorf("Check(%.200s) returned %v beside its error", args, out)
	}
	return e
}

// Prop returns a schema with one required property x.
func Prop(x string) string {
	return `{"type":"object","properties":{"x":` + x + `},"required":["x"]}`
}

// Library compiles a schema with the validator library alone.
func Library(t testing.TB, text string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("test:///", doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("test:///")
}

// Value decodes a value for the validator library.
func Value(t testing.TB, text string) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
