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
	"callgate/internal/gate/schema/quick"
	"callgate/internal/gate/schema/walk"
	"callgate/tool"
)

// base is the URL that schemas are compiled under. Nothing can be loaded from it,
// so a relative $ref fails.
const base = "callgate://schema/"

// Schema is a compiled JSON Schema. It is immutable and safe for concurrent use;
// its example and signature are computed once, on demand.
type Schema struct {
	raw      json.RawMessage
	root     *jsonschema.Schema
	defaults defaults // nil when the schema has none that can be applied
	budget   limits.Budget
	blank    any           // the value of empty arguments: an empty object, or null
	nullIs   bool          // whether null means the same as empty arguments
	integers bool          // whether it wants an integer anywhere
	quick    *quick.Schema // accepts most arguments by their text; nil: none

	example   func() json.RawMessage
	signature func() string
}

// Compile compiles a schema. It keeps raw, which must not change afterwards. The
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
	integers := false
	for _, sub := range walk.Reachable(root, walk.Children) {
		integers = integers || wantsInteger(sub)
		if sub.PropertyNames != nil {
			sub.Extensions = append(sub.Extensions, &propertyNamesRule{sub.PropertyNames})
			sub.PropertyNames = nil
		}
	}
	s := &Schema{raw: raw, root: root, budget: budget, defaults: planDefaults(root, budget.Trial()), integers: integers}
	s.inferEmptyArgs()
	if s.defaults == nil {
		s.quick = quick.Of(doc)
	}
	s.example = sync.OnceValue(func() json.RawMessage { return example.Build(root, budget.Trial()) })
	s.signature = sync.OnceValue(s.sign)
	return s, nil
}

func unfit(op string, why error) error {
	return tool.Errorf(op, tool.Invalid, "the schema cannot be used: %v", why)
}

// Raw returns the schema as it was given. It must not be changed.
func (s *Schema) Raw() json.RawMessage { return s.raw }

// Example returns a minimal value that is valid under the schema, for a model to
// imitate: the required properties and no others. It is nil if none was found.
func (s *Schema) Example() json.RawMessage { return s.example() }

// inferEmptyArgs decides what empty arguments mean. If the schema accepts objects,
// they mean an empty object; null means the same unless the schema accepts null
// itself.
func (s *Schema) inferEmptyArgs() {
	if s.refusesType(map[string]any{}) {
		return
	}
	s.blank = map[string]any{}
	s.nullIs = s.refusesType(nil) || !s.refusesType(true)
}

// refusesType reports whether the schema rejects the type of the value, not its
// contents.
func (s *Schema) refusesType(value any) bool {
	for _, p := range diagnose.Validate(s.root, value) {
		switch p.Kind.(type) {
		case *kind.Type, *diagnose.Alternatives, *kind.FalseSchema, *kind.Enum, *kind.Const:
			if len(p.At) == 0 {
				return true
			}
		}
	}
	return false
}

// noLoader refuses every reference out of the schema: a tool's schema must not
// make the kernel read files or open connections.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("it lies outside the schema") }

// propertyNamesRule implements the keyword propertyNames. It replaces the
// library's own, which stores the location of an error in memory that later
// errors overwrite.
type propertyNamesRule struct{ schema *jsonschema.Schema }

// Subschema returns the schema of the names, for package walk.
func (r *propertyNamesRule) Subschema() *jsonschema.Schema { return r.schema }

// Validate checks each property name of an object against the schema.
func (r *propertyNamesRule) Validate(ctx *jsonschema.ValidatorContext, v any) {
	object, _ := v.(map[string]any)
	for name := range object {
		if err := ctx.Validate(r.schema, name, []string{name}); err != nil {
			causes := []*jsonschema.ValidationError{err.(*jsonschema.ValidationError)}
			ctx.AddErrors(causes, &kind.PropertyNames{Property: name})
		}
	}
}

// recoverPanic turns a panic of the validator into an error: a defect there may
// fail one call, but not the kernel.
func recoverPanic(op string, err *error) {
	if p := recover(); p != nil {
		*err = tool.Errorf(op, tool.Internal, "the schema validator failed: %s", phrase.Truncate(fmt.Sprint(p), 200)).
			WithHint("this is a defect of the kernel or of the tool's schema; other tools are not affected")
	}
}
