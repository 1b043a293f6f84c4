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

// maxFields bounds the fields of one error.
const maxFields = 20

// Checked is a value that is valid, and what was done to make it so.
type Checked struct {
	// Args is the input itself, byte for byte, when nothing was changed. It is
	// encoded anew when something was: a coercion, a default filled in, a name
	// given twice (of which only the last value is left), bytes that are not
	// UTF-8. So whoever reads Args, in whatever language, reads the same.
	Args json.RawMessage
	// Coercions tells in a sentence each what was read as something else. A
	// default that was filled in is not a coercion.
	Coercions []string
}

// Check makes args fit the schema, as far as mode allows, or says why they do
// not. No arguments at all (or null) stand for an empty object where the
// schema takes one.
//
// Checking what Check returned changes nothing more. A value that is valid is
// never changed but for defaults, and those are left out altogether when they
// would make it invalid.
func (s *Schema) Check(args json.RawMessage, mode Mode) (out Checked, err error) {
	const op = "schema.Check"
	defer recoverPanic(op, &err)
	in, err := s.parse(args)
	if err != nil {
		return Checked{}, s.unreadableError(op, "the arguments cannot be read", err)
	}
	m := &repairRun{schema: s, mode: mode, size: len(args), value: in.value}
	if s.defaults != nil {
		var ok bool
		if m.added, ok = s.fillIn(in.value, len(args)); !ok {
			in, _ = s.parse(args)
			m.value, m.added = in.value, 0
		}
		m.fill = ok
	}
	wrong := s.root.Validate(m.value)
	if wrong == nil {
		return in.accept(m)
	}
	return s.repair(op, in, m, wrong.(*jsonschema.ValidationError))
}

// repair takes a value that is invalid with its defaults filled in. It tries in
// turn: the value without defaults; readings together with defaults; readings
// without them.
func (s *Schema) repair(op string, in input, m *repairRun, err *jsonschema.ValidationError) (Checked, error) {
	m.trouble = diagnose.List(err)
	var plain *repairRun
	if m.added > 0 {
		plain = in.again(m)
		if plain.trouble = diagnose.Validate(s.root, plain.value); len(plain.trouble) == 0 {
			return in.accept(plain)
		}
	}
	failed := m.run()
	if failed == nil && len(m.trouble) == 0 {
		return in.accept(m)
	}
	if plain == nil && (m.added > 0 || errors.Is(failed, errEndless)) {
		plain = in.again(m)
		plain.trouble = diagnose.Validate(s.root, plain.value)
	}
	if plain != nil {
		if failed := plain.run(); failed == nil && len(plain.trouble) == 0 {
			plain.refillDefaults()
			return in.accept(plain)
		}
	}
	if failed != nil && !errors.Is(failed, errEndless) {
		return Checked{}, s.unreadableError(op, "the arguments cannot be checked", failed)
	}
	if plain != nil && (failed != nil || len(plain.trouble) < len(m.trouble)) {
		m = plain
	}
	if err := m.unwrap(); err != nil {
		return Checked{}, s.unreadableError(op, "the arguments cannot be checked", err)
	}
	return Checked{}, s.argumentError(op, m)
}

// refillDefaults gives a value that was mended without defaults those that it can
// bear, so that checking it again would find nothing to add.
func (m *repairRun) refillDefaults() {
	value := walk.Clone(m.value)
	added, ok := m.schema.fillIn(value, m.size)
	if ok && m.schema.root.Validate(value) == nil {
		m.value, m.added = value, added
	}
}

// input is the arguments as they were read.
type input struct {
	schema  *Schema
	args    json.RawMessage
	value   any
	changed bool // whether args cannot be handed on as they are
	notes   []string
}

// parse reads the arguments once, within limits.
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
func (in input) again(m *repairRun) *repairRun {
	fresh, _ := in.schema.parse(in.args) // it was read before
	return &repairRun{schema: m.schema, mode: m.mode, size: m.size, value: fresh.value}
}

// accept returns a valid value, in the bytes it came in when those still say
// the same.
func (in input) accept(m *repairRun) (Checked, error) {
	if !in.changed && m.added == 0 && len(m.steps) == 0 {
		return Checked{Args: in.args}, nil
	}
	text, err := limits.Encode(m.value)
	if err != nil {
		return Checked{}, in.schema.unreadableError("schema.Check", "the mended arguments cannot be used", err)
	}
	return Checked{Args: text, Coercions: slices.Concat(in.notes, m.notes())}, nil
}

// CheckResult reports whether a result fits the schema. Nothing is mended and
// nothing filled in; the error is short, since the one who reads it cannot
// change the result.
func (s *Schema) CheckResult(value json.RawMessage) (err error) {
	const op = "schema.Conforms"
	defer recoverPanic(op, &err)
	doc, _, err := limits.Decode(value)
	if err == nil {
		err = s.budget.Allows(doc, len(value))
	}
	if err != nil {
		return tool.Errorf(op, tool.Invalid, "the result cannot be checked: %v", err)
	}
	trouble := diagnose.Validate(s.root, doc)
	if len(trouble) == 0 {
		return nil
	}
	fields, more := diagnose.Explain(s.root, trouble, doc, diagnose.MaxNamed)
	return &tool.Error{Op: op, Kind: tool.Invalid, Fields: fields, Message: diagnose.Sentence("the result does not fit its schema", fields, more)}
}

// argumentError says what is still wrong.
func (s *Schema) argumentError(op string, m *repairRun) error {
	fields, more := diagnose.Explain(s.root, m.trouble, m.value, maxFields)
	hint := "nothing was changed and nothing was run; mend these and call again"
	if m.mode != Lenient {
		hint = "nothing was changed and nothing was run; this tool takes values only in their exact types: mend these and call again"
	}
	return &tool.Error{
		Op: op, Kind: tool.Invalid, Fields: fields, Schema: s.raw, Example: s.example(), Hint: hint,
		Message: diagnose.Sentence("the arguments do not fit", fields, more),
	}
}

// unreadableError says why arguments could not be held against the schema at all.
func (s *Schema) unreadableError(op, what string, err error) error {
	return &tool.Error{
		Op: op, Kind: tool.Invalid, Schema: s.raw, Example: s.example(),
		Message: phrase.Truncate(fmt.Sprintf("%s: %v", what, err), 2*phrase.MaxWant),
		Hint:    "nothing was changed and nothing was run; send one JSON value that fits the schema",
	}
}
