package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Kind says what sort of failure an error is. Kinds cross the wire, so a
// client in another process can still ask errors.Is-like questions.
type Kind string

// The kinds.
const (
	Invalid     Kind = "invalid"     // the request is malformed: mend it and try again
	NotFound    Kind = "not_found"   // no such thing, or none the asker may know of
	Ambiguous   Kind = "ambiguous"   // several things answer to that name
	Denied      Kind = "denied"      // policy or a human said no
	Limited     Kind = "limited"     // a rate limit: try again later
	Busy        Kind = "busy"        // a resource stayed locked past the wait
	Timeout     Kind = "timeout"     // the call's time ran out
	Cancelled   Kind = "cancelled"   // the asker went away
	Conflict    Kind = "conflict"    // somebody was first: already answered, already exists
	Failed      Kind = "failed"      // the tool ran and reported failure
	Unavailable Kind = "unavailable" // the kernel cannot serve now: disk full, closing
	InDoubt     Kind = "in_doubt"    // it may or may not have happened
	Internal    Kind = "internal"    // a defect in the tool or the kernel
)

// Error is a failure with the operation that met it, its kind, and words a
// model or a person can act on.
type Error struct {
	Op      string          // package.operation, for the log
	Kind    Kind            //
	Message string          // what was wrong, and where
	Hint    string          // what to do next
	Fields  []FieldError    // for Invalid arguments: each field that is wrong
	Similar []string        // for NotFound and Ambiguous: names that do exist
	Schema  json.RawMessage // for Invalid arguments: the schema they must meet
	Example json.RawMessage // for Invalid arguments: a minimal call that would be valid
	Err     error           // the cause, kept in this process
}

// FieldError says what is wrong with one argument.
type FieldError struct {
	Path string `json:"path"` // "limit", "edits[0].line"; "" is the whole
	Want string `json:"want"` // what the schema expects
	Got  string `json:"got"`  // what came
}

// Errorf makes an Error; a %w operand becomes its cause.
func Errorf(op string, kind Kind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Op: op, Kind: kind, Message: err.Error(), Err: errors.Unwrap(err)}
}

// WithHint returns e with the words that say what to do next.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// Error writes the message, with what caused it, and the hint.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.message()
	}
	return e.message() + " (" + e.Hint + ")"
}

// message joins the cause to the message, unless it says that already.
func (e *Error) message() string {
	if e.Err == nil || strings.Contains(e.Message, e.Err.Error()) {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Detach returns a copy that may leave this process: the cause stays behind,
// and its words join the message.
func (e *Error) Detach() *Error {
	out := *e
	out.Message, out.Err = e.message(), nil
	return &out
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the first Error in err's chain, and Internal for
// any other error. KindOf(nil) is "".
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}

// wireError is Error as it crosses the wire: the cause stays behind.
type wireError struct {
	Op      string          `json:"op,omitempty"`
	Kind    Kind            `json:"kind"`
	Message string          `json:"message"`
	Hint    string          `json:"hint,omitempty"`
	Fields  []FieldError    `json:"fields,omitempty"`
	Similar []string        `json:"similar,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"`
	Example json.RawMessage `json:"example,omitempty"`
}

// MarshalJSON writes the error without its cause, whose text joins the message.
func (e *Error) MarshalJSON() ([]byte, error) {
	return json.Marshal(wireError{e.Op, e.Kind, e.message(), e.Hint, e.Fields, e.Similar, e.Schema, e.Example})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *Error) UnmarshalJSON(data []byte) error {
	var w wireError
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*e = Error{
		Op: w.Op, Kind: w.Kind, Message: w.Message, Hint: w.Hint,
		Fields: w.Fields, Similar: w.Similar, Schema: w.Schema, Example: w.Example,
	}
	return nil
}
