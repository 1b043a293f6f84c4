// Package configtree is the content of a config file, with the position of every
// value in its text. It is the same for JSON and TOML, so that a reader need not
// know which of the two a file is, and an editor can splice the text and leave
// the other bytes alone.
package configtree

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind is what a value is.
type Kind int

// The kinds.
const (
	Null Kind = iota
	Bool
	Number
	Text
	Time
	List
	Object
)

// String names the kind in a sentence.
func (k Kind) String() string {
	return [...]string{"null", "true or false", "a number", "text", "a time", "a list", "an object"}[k]
}

// Value is one value and its position.
type Value struct {
	Kind     Kind
	Text     string // the value of a text, or the spelling of another scalar
	Items    []Value
	Members  []Member // in the file's order, also those whose name came before
	From, To int      // bytes of the text; To is behind the last
}

// Member is a value with its name.
type Member struct {
	Name  string
	At    int // where the name begins
	Comma int // the comma behind the value, or -1
	Value Value
}

// Get returns the first member of that name, or nil. A nil value has none.
func (v *Value) Get(name string) *Value {
	if v == nil || v.Kind != Object {
		return nil
	}
	for i := range v.Members {
		if v.Members[i].Name == name {
			return &v.Members[i].Value
		}
	}
	return nil
}

// Duplicate returns the first member whose name an earlier member has. Programs
// differ in which of the two they take, so such a file is refused.
func (v *Value) Duplicate() (Member, bool) {
	seen := make(map[string]bool, len(v.Members))
	for _, m := range v.Members {
		if seen[m.Name] {
			return m, true
		}
		seen[m.Name] = true
	}
	return Member{}, false
}

// SecondMember returns the second member of a name.
func (v *Value) SecondMember(name string) (Member, bool) {
	seen := false
	for _, m := range v.Members {
		if m.Name == name && seen {
			return m, true
		}
		seen = seen || m.Name == name
	}
	return Member{}, false
}

// Equal reports whether two values are the same, whatever their positions. It
// leaves out the members at the end of a path, and the levels of the path that
// only one of the two has.
func Equal(a, b *Value, except ...string) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Kind != b.Kind || len(a.Items) != len(b.Items) || a.Kind != Object && a.Text != b.Text {
		return false
	}
	for i := range a.Items {
		if !Equal(&a.Items[i], &b.Items[i]) {
			return false
		}
	}
	if len(except) == 0 {
		return slices.EqualFunc(a.Members, b.Members, func(a, b Member) bool {
			return a.Name == b.Name && Equal(&a.Value, &b.Value)
		})
	}
	other := func(m Member) bool { return m.Name == except[0] }
	inA, inB := a.Get(except[0]), b.Get(except[0])
	if inA != nil && inB != nil && len(except) > 1 && inA.Kind == Object && !Equal(inA, inB, except[1:]...) {
		return false
	}
	restA := slices.DeleteFunc(slices.Clone(a.Members), other)
	restB := slices.DeleteFunc(slices.Clone(b.Members), other)
	return Equal(&Value{Kind: Object, Members: restA}, &Value{Kind: Object, Members: restB})
}

// SyntaxError says why a text could not be read, and where.
type SyntaxError struct {
	At   int
	What string
}

// Error says what is wrong.
func (m *SyntaxError) Error() string { return m.What }

// Valid reports where a text stops being UTF-8.
func Valid(text []byte) error {
	for at := 0; at < len(text); {
		c, size := utf8.DecodeRune(text[at:])
		if c == utf8.RuneError && size == 1 {
			return &SyntaxError{At: at, What: "the file is not UTF-8 text from here on"}
		}
		at += size
	}
	return nil
}

// Lines finds the line of an offset.
type Lines []int

// NewLines counts the lines of a text once.
func NewLines(text []byte) Lines {
	var ends Lines
	for i, c := range text {
		if c == '\n' {
			ends = append(ends, i)
		}
	}
	return ends
}

// Of is the line of an offset, from 1.
func (l Lines) Of(at int) int {
	i, _ := slices.BinarySearch(l, at)
	return i + 1
}

// EOL is the line end of a text: that of its first line.
func EOL(text []byte) string {
	if line, _, found := strings.Cut(string(text[:min(len(text), 1<<16)]), "\n"); found && strings.HasSuffix(line, "\r") {
		return "\r\n"
	}
	return "\n"
}

// Field is one key of an entry that is to be written. Its value is a string, a
// []string, a bool, an int or a []Field, which is an object.
type Field struct {
	Name  string
	Value any
}

// Is reports whether a value is an object of exactly these fields.
func (v *Value) Is(fields []Field) bool {
	if v == nil || v.Kind != Object || len(v.Members) != len(fields) {
		return false
	}
	for i, f := range fields {
		if v.Members[i].Name != f.Name || !v.Members[i].Value.equals(f.Value) {
			return false
		}
	}
	return true
}

func (v *Value) equals(value any) bool {
	switch value := value.(type) {
	case string:
		return v.Kind == Text && v.Text == value
	case bool:
		return v.Kind == Bool && (v.Text == "true") == value
	case int:
		return v.Kind == Number && v.Text == strconv.Itoa(value)
	case []Field:
		return v.Is(value)
	case []string:
		return v.Kind == List && slices.EqualFunc(v.Items, value, func(item Value, s string) bool { return item.equals(s) })
	}
	return false
}

// Splice puts a text in the place of another.
type Splice struct {
	From, To int
	With     string
}

// Apply makes the splices. Those that only take away may lie over each other.
func Apply(text []byte, splices []Splice) []byte {
	slices.SortStableFunc(splices, func(a, b Splice) int { return cmp.Compare(a.From, b.From) })
	var out []byte
	at := 0
	for _, s := range splices {
		if s.From > at {
			out = append(out, text[at:s.From]...)
		}
		out = append(out, s.With...)
		at = max(at, s.To)
	}
	return append(out, text[at:]...)
}
