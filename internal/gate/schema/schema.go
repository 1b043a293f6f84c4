package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"callgate/internal/gate/schema/diagnose"
	"callgate/internal/gate/schema/example"
	"callgate/internal/gate/schema/limits"
	"callgate/internal/gate/schema/phrase"
	"callgate/internal/gate/schema/walk"
	"callgate/tool"
)

// base is the address schemas are compiled under. It is nobody's: a relative
// $ref resolves to something that cannot be loaded.
const base = "callgate://schema/"

// Schema is a compiled JSON Schema. It is immutable and safe for concurrent
// use; what it works out on demand (example, signature) it works out once.
type Schema struct {
	raw      json.RawMessage
	root     *jsonschema.Schema
	defaults defaults // nil when the schema has none that can be applied
	budget   limits.Budget
	blank    any  // what empty arguments stand for: an object, or null
	nullIs   bool // whether null stands for blank

	example   func() json.RawMessage
	signature func() string
}

// Compile reads a schema. It keeps raw, which must not change afterwards. The
// error is a [*tool.Error] that says where the schema is wrong and why.
func Compile(raw json.RawMessage) (compiled *Schema, err error) {
	const op = "schema.Compile"
	defer recoverPanic(op, &err)
	doc, weight, err := limits.ReadSchema(raw)
	if err != nil {
		return nil, unfit(op, err)
	}
	switch doc.(type) {
	case map[string]any, bool:
	default:
		return nil, unfit(op, fmt.Errorf("a schema is an object, or true or false; this is %s", phrase.Actual(doc)))
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(noLoader{})
	if err := c.AddResource(base, doc); err != nil {
		return nil, compileError(op, err, doc)
	}
	root, err := c.Compile(base)
	if err != nil {
		return nil, compileError(op, err, doc)
	}
	budget, err := limits.NewBudget(root, weight)
	if err != nil {
		return nil, unfit(op, err)
	}
	for _, sub := range walk.Reachable(root, walk.Children) {
		if sub.PropertyNames != nil {
			sub.Extensions = append(sub.Extensions, &propertyNamesRule{sub.PropertyNames})
			sub.PropertyNames = nil
		}
	}
	s := &Schema{raw: raw, root: root, budget: budget, defaults: planDefaults(root, budget.Trial())}
	s.inferEmptyArgs()
	s.example = sync.OnceValue(func() json.RawMessage { return example.Build(root, budget.Trial()) })
	s.signature = sync.OnceValue(s.sign)
	return s, nil
}

func unfit(op string, why error) error {
	return tool.Errorf(op, tool.Invalid, "the schema cannot be used: %v", why)
}

// Raw returns the schema as it was given. It must not be changed.
func (s *Schema) Raw() json.RawMessage { return s.raw }

// Example returns a minimal value that is valid under the schema, for a model
// to imitate: what is required and nothing else. It is nil when none was found.
func (s *Schema) Example() json.RawMessage { return s.example() }

// inferEmptyArgs settles what no arguments at all mean. A schema that takes
// objects is given an empty one; null means the same unless the schema speaks
// of null itself.
func (s *Schema) inferEmptyArgs() {
	if s.refusesType(map[string]any{}) {
		return
	}
	s.blank = map[string]any{}
	s.nullIs = s.refusesType(nil) || !s.refusesType(true)
}

// refusesType reports whether the schema rejects the value for what it is,
// not for what it holds.
func (s *Schema) refusesType(value any) bool {
	for _, f := range diagnose.Validate(s.root, value) {
		switch f.Kind.(type) {
		case *kind.Type, *diagnose.Alternatives, *kind.FalseSchema, *kind.Enum, *kind.Const:
			if len(f.At) == 0 {
				return true
			}
		}
	}
	return false
}

// noLoader refuses whatever lies outside the schema: a tool's schema must not
// make the kernel read files or open connections.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("it lies outside the schema") }

// propertyNamesRule is the propertyNames keyword. The library's own reports its
// complaints at a place that later ones overwrite, so it is replaced.
type propertyNamesRule struct{ schema *jsonschema.Schema }

// Subschema is what every name must fit, for those who walk through a schema.
func (r *propertyNamesRule) Subschema() *jsonschema.Schema { return r.schema }

// Validate holds each name of an object against the rule.
func (r *propertyNamesRule) Validate(ctx *jsonschema.ValidatorContext, v any) {
	object, _ := v.(map[string]any)
	for name := range object {
		if err := ctx.Validate(r.schema, name, []string{name}); err != nil {
			ctx.AddErrors([]*jsonschema.ValidationError{err.(*jsonschema.ValidationError)}, &kind.PropertyNames{Property: name})
		}
	}
}

// recoverPanic turns a panic of the validator into an error: a defect there must
// cost one call, not the kernel.
func recoverPanic(op string, err *error) {
	if p := recover(); p != nil {
		*err = tool.Errorf(op, tool.Internal, "the schema validator failed: %s", phrase.Truncate(fmt.Sprint(p), 200)).
			WithHint("this is a defect of the kernel or of the tool's schema; other tools are not affected")
	}
}
