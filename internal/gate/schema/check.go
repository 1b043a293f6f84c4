package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/gate/schema/diagnose"
	"callgate/internal/gate/schema/limits"
	"callgate/internal/gate/schema/phrase"
	"callgate/internal/gate/schema/walk"
	"callgate/tool"
)

// maxFields limits the fields that one error explains; the rest are counted.
const maxFields = 10

// Checked is a valid value, and the coercions that made it valid.
type Checked struct {
	// Args is the input itself, byte for byte, if nothing was changed. It is
	// encoded again if something was: a coercion, a default, a duplicate name (of
	// which only the last value is left), bytes that are not UTF-8, an integer that
	// is written with a fraction or an exponent. So every reader of Args, in any
	// language, reads the same.
	Args json.RawMessage
	// Coercions describes each coercion in a sentence. A default that was filled
	// in is not a coercion.
	Coercions []string
}

// Check makes args valid under the schema, as far as mode allows, or returns an
// error that explains what is wrong. Empty arguments (or null) mean an empty
// object if the schema accepts one.
//
// Checking the result again changes nothing. A valid value is changed only by
// defaults and in how its integers are written, and gets none of them if they would make it invalid.
func (s *Schema) Check(args json.RawMessage, mode Mode) (out Checked, err error) {
	const op = "schema.Check"
	if s.quick.Accepts(args) {
		return Checked{Args: args}, nil
	}
	defer recoverPanic(op, &err)
	in, err := s.parse(args)
	if err != nil {
		return Checked{}, s.unreadableError(op, "the arguments cannot be read", err)
	}
	r := &repairRun{schema: s, mode: mode, size: len(args), value: in.value}
	if s.defaults != nil {
		in.names = in.namesOf()
		var ok bool
		if r.added, ok = s.fillIn(in.value, len(args)); !ok {
			in, _ = s.parse(args)
			r.value, r.added = in.value, 0
		}
		r.fill = ok
	}
	wrong := s.root.Validate(r.value)
	if wrong == nil {
		return in.accept(r)
	}
	return s.repair(op, in, r, wrong.(*jsonschema.ValidationError))
}

// repair repairs a value that is invalid with its defaults filled in. It tries in
// turn: the value without defaults; coercions together with defaults; coercions
// without them.
func (s *Schema) repair(op string, in input, r *repairRun, err *jsonschema.ValidationError) (Checked, error) {
	r.problems = diagnose.List(err)
	var plain *repairRun
	if r.added > 0 {
		plain = in.again(r)
		if plain.problems = diagnose.Validate(s.root, plain.value); len(plain.problems) == 0 {
			return in.accept(plain)
		}
	}
	failed := r.run()
	if failed == nil && len(r.problems) == 0 {
		return in.accept(r)
	}
	if plain == nil && (r.added > 0 || errors.Is(failed, errEndless)) {
		plain = in.again(r)
		plain.problems = diagnose.Validate(s.root, plain.value)
	}
	if plain != nil {
		if failed := plain.run(); failed == nil && len(plain.problems) == 0 {
			plain.refillDefaults()
			return in.accept(plain)
		}
	}
	if failed != nil && !errors.Is(failed, errEndless) {
		return Checked{}, s.unreadableError(op, "the arguments cannot be checked", failed)
	}
	if plain != nil && (failed != nil || len(plain.problems) < len(r.problems)) {
		r = plain
	}
	if err := r.unwrap(); err != nil {
		return Checked{}, s.unreadableError(op, "the arguments cannot be checked", err)
	}
	return Checked{}, s.argumentError(op, r)
}

// refillDefaults adds the defaults to a value that was repaired without them, if it
// stays valid, so that checking it again adds nothing.
func (r *repairRun) refillDefaults() {
	value := walk.Clone(r.value)
	added, ok := r.schema.fillIn(value, r.size)
	if ok && r.schema.root.Validate(value) == nil {
		r.value, r.added = value, added
	}
}

// input holds the decoded arguments.
type input struct {
	schema  *Schema
	args    json.RawMessage
	value   any
	changed bool            // whether the value differs from args
	names   map[string]bool // of a large object
	notes   []string
}

// parse decodes the arguments, within limits.
func (s *Schema) parse(args json.RawMessage) (input, error) {
	in := input{schema: s, args: args}
	if len(bytes.TrimSpace(args)) == 0 {
		in.value, in.changed = walk.Clone(s.blank), true
		return in, nil
	}
	var err error
	var doubled bool
	if in.value, doubled, err = limits.Decode(args); err != nil {
		return in, err
	}
	if doubled {
		in.changed = true
		in.notes = append(in.notes, "a name is given more than once in one object: its last value counts")
	}
	if !utf8.Valid(args) {
		in.changed = true
		in.notes = append(in.notes, "bytes that are not UTF-8 were replaced")
	}
	if in.value == nil && s.nullIs {
		in.value, in.changed = walk.Clone(s.blank), true
	}
	return in, s.budget.Allows(in.value, len(args))
}

// again starts over from the same arguments, without defaults.
func (in input) again(r *repairRun) *repairRun {
	fresh, _ := in.schema.parse(in.args) // cannot fail: it succeeded before
	return &repairRun{schema: r.schema, mode: r.mode, size: r.size, value: fresh.value}
}

// accept returns a valid value: the original bytes if nothing was changed.
func (in input) accept(r *repairRun) (Checked, error) {
	var rewritten bool
	if r.mode != Exact {
		r.value, rewritten = in.schema.writeIntegers(r.value)
	}
	if !in.changed && !rewritten && r.added == 0 && len(r.steps) == 0 {
		return Checked{Args: in.args}, nil
	}
	if !in.changed && !rewritten && len(r.steps) == 0 {
		if text := in.splice(r, in.names); text != nil {
			return Checked{Args: text}, nil
		}
	}
	text, err := limits.Encode(r.value)
	if err != nil {
		return Checked{}, in.schema.unreadableError("schema.Check", "the mended arguments cannot be used", err)
	}
	return Checked{Args: text, Coercions: slices.Concat(in.notes, r.notes())}, nil
}

// CheckResult checks a result against the schema. It coerces nothing and fills in
// no default. The error is short, since its reader cannot change the result.
func (s *Schema) CheckResult(value json.RawMessage) (err error) {
	const op = "schema.CheckResult"
	defer recoverPanic(op, &err)
	doc, _, err := limits.Decode(value)
	if err == nil {
		err = s.budget.Allows(doc, len(value))
	}
	if err != nil {
		return tool.Errorf(op, tool.Invalid, "the result cannot be checked: %v", err)
	}
	problems := diagnose.Validate(s.root, doc)
	if len(problems) == 0 {
		return nil
	}
	fields, more := diagnose.Explain(s.root, problems, doc, diagnose.MaxNamed)
	message := diagnose.Sentence("the result does not fit its schema", fields, more)
	return &tool.Error{Op: op, Kind: tool.Invalid, Fields: fields, Message: message}
}

// argumentError returns the error of arguments that stay invalid.
func (s *Schema) argumentError(op string, r *repairRun) error {
	fields, more := diagnose.Explain(s.root, r.problems, r.value, maxFields)
	const unchanged = "nothing was changed and nothing was run; "
	hint := unchanged + "mend these and call again"
	if r.mode != Lenient {
		hint = unchanged + "this tool takes values only in their exact types: mend these and call again"
	}
	return &tool.Error{
		Op: op, Kind: tool.Invalid, Fields: fields, Schema: s.raw, Example: s.example(), Hint: hint,
		Message: diagnose.Sentence("the arguments do not fit", fields, more),
	}
}

// unreadableError returns the error of arguments that could not be checked at all.
func (s *Schema) unreadableError(op, what string, err error) error {
	return &tool.Error{
		Op: op, Kind: tool.Invalid, Schema: s.raw, Example: s.example(),
		Message: phrase.Truncate(fmt.Sprintf("%s: %v", what, err), 2*phrase.MaxWant),
		Hint:    "nothing was changed and nothing was run; send one JSON value that fits the schema",
	}
}
