package node

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"

	"callgate/internal/nearest"
	"callgate/tool"
)

// Keys is what is known of keys that a mapping does not take.
type Keys struct {
	// Unbuilt are keys whose features are designed and not built, separated by
	// spaces, by the level they belong to.
	Unbuilt map[string]string
	// Homes are the levels of keys that are often written elsewhere.
	Homes map[string]string
}

// Expander puts values in the place of a text's variables. It reports false
// after it has reported a variable that cannot be filled in.
type Expander interface {
	Expand(r *Reader, e Entry, text string) (string, bool)
}

// Reader reads the values of one file.
type Reader struct {
	*Report
	keys      Keys
	variables Expander
	secrets   bool
	noEnv     bool
	templates []string            // the names that are filled in later: see WithTemplates
	positions map[string]Position // of each value, by its path
	data      []byte              // of the file
}

// Open parses a file's text. It reports false, with the reasons in the Reader's
// report, when the text is no YAML that an app file may hold.
func Open(file string, data []byte, keys Keys, variables Expander) (*Reader, Entry, bool) {
	r := &Reader{
		Report: &Report{file: file}, keys: keys, variables: variables, positions: make(map[string]Position),
		data: data,
	}
	root := r.parse(data)
	if root == nil {
		return r, Entry{}, false
	}
	return r, Entry{value: root, At: start(root)}, true
}

// Written returns the file, and its text as it was read.
func (r *Reader) Written() (file, text string) { return r.file, string(r.data) }

// Beside parses the text of another file, which has a report of its own.
func (r *Reader) Beside(file string, data []byte) (*Reader, Entry, bool) {
	return Open(file, data, r.keys, r.variables)
}

// Apart is the reader of the same file with a report of its own, so that several can read at once.
func (r *Reader) Apart() *Reader {
	apart := *r
	apart.Report = &Report{file: r.file, lines: r.lines}
	apart.positions = make(map[string]Position)
	return &apart
}

// WithSecrets is the reader for values that may refer to secrets.
func (r *Reader) WithSecrets() *Reader {
	with := *r
	with.secrets = true
	return &with
}

// SecretsAllowed reports whether the values may refer to secrets.
func (r *Reader) SecretsAllowed() bool { return r.secrets }

// WithoutEnv is the reader for values that are shown as they are, to models and to
// people: what holds a value of the environment would tell it.
func (r *Reader) WithoutEnv() *Reader {
	without := *r
	without.noEnv = true
	return &without
}

// EnvAllowed reports whether the values may refer to the environment.
func (r *Reader) EnvAllowed() bool { return !r.noEnv }

// WithTemplates is the reader for texts in which some variables are filled in later, when
// they are used. roots are what those begin with.
func (r *Reader) WithTemplates(roots []string) *Reader {
	with := *r
	with.templates = roots
	return &with
}

// IsTemplate reports whether texts hold variables that are filled in later.
func (r *Reader) IsTemplate() bool { return r.templates != nil }

// IsLater reports whether what stands between {{ and }} is filled in later.
func (r *Reader) IsLater(inside string) bool {
	inside = strings.TrimLeft(inside, " (!-")
	name := inside
	if i := strings.IndexFunc(inside, isOther); i >= 0 {
		name = inside[:i]
		if inside[i] == '(' && r.templates != nil { // a function
			return r.IsLater(inside[i+1:])
		}
	}
	return slices.Contains(r.templates, name)
}

// isOther reports whether a character does not belong to a name.
func isOther(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) }

// Position is where the value of a path is written; zero if it is not.
func (r *Reader) Position(path string) Position { return r.positions[path] }

// SetPosition moves the position of a path, to its key for example.
func (r *Reader) SetPosition(path string, at Position) { r.positions[path] = at }

// Nearest is where a path is written, or else the nearest value around it.
func (r *Reader) Nearest(path string) Position {
	for path != "" {
		if at, ok := r.positions[path]; ok {
			return at
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return Position{}
}

// TypeError reports a value of the wrong kind.
func (r *Reader) TypeError(e Entry, want, remedy string) {
	r.Fail(e.At, remedy, "%s must be %s, and this is %s", e.Name(), want, kind(e.value))
}

// Entries returns what a mapping holds; an empty value holds nothing. It
// reports a value that is no mapping, and keys that are written twice.
func (r *Reader) Entries(e Entry, remedy string) []Entry {
	if e.IsNull() {
		return nil
	}
	m, ok := e.value.(ast.MapNode)
	if !ok {
		r.TypeError(e, "a mapping of keys to values", remedy)
		return nil
	}
	found := make([]Entry, 0, e.Len())
	first := make(map[string]Position, e.Len())
	for i := m.MapRange(); i.Next(); {
		keyAt := start(i.Key())
		key, ok := keyText(i.Key())
		if !ok {
			r.Fail(keyAt, "put the key in quotes if it is meant as text",
				"a key of %s must be text, and this is %s", e.Name(), kind(i.Key()))
			continue
		}
		if before, twice := first[key]; twice {
			r.Fail(keyAt, fmt.Sprintf("keep one of the two; the first is on line %d", before.Line),
				"the key %s stands here a second time", Quote(key))
			continue
		}
		first[key] = keyAt
		in := Entry{Path: e.Below(key), Key: key, KeyAt: keyAt, value: i.Value(), At: keyAt}
		if !in.IsNull() {
			in.At = start(in.value)
		}
		r.positions[in.Path] = in.At
		found = append(found, in)
	}
	return found
}

// Mapping reads a mapping whose keys are all known. The level names it in the
// tables of keys that it does not take.
func (r *Reader) Mapping(level string, e Entry, reads map[string]Read) {
	remedy := "" // is for what is no mapping
	if !e.IsMapping() {
		remedy = "its keys are " + strings.Join(slices.Sorted(maps.Keys(reads)), ", ")
	}
	r.Known(level, e, r.Entries(e, remedy), reads)
}

// Known is Mapping for the entries of a mapping that were read before.
func (r *Reader) Known(level string, e Entry, entries []Entry, reads map[string]Read) {
	for _, in := range entries {
		if read, ok := reads[in.Key]; ok {
			read(in)
			continue
		}
		r.unknownKey(level, e, in, slices.Sorted(maps.Keys(reads)))
	}
}

// unknownKey reports a key that nothing reads.
func (r *Reader) unknownKey(level string, e, in Entry, keys []string) {
	unbuilt := strings.Fields(r.keys.Unbuilt[level])
	if slices.Contains(unbuilt, in.Key) {
		r.Fail(in.KeyAt, "delete the key for now; it is refused so that nobody relies on it by mistake",
			"%s is not built yet", in.Path)
		return
	}
	if home := r.keys.Homes[in.Key]; home != "" && home != level {
		r.Fail(in.KeyAt, "move it to "+home, "%s does not belong here", in.Path)
		return
	}
	remedy := "the keys of " + e.Name() + " are " + strings.Join(keys, ", ")
	if len(keys) == 0 {
		remedy = "delete it: " + e.Name() + " takes no keys"
	}
	if close := Closest(in.Key, append(keys, unbuilt...)); close != "" {
		remedy = "did you mean " + close + "?"
		if slices.Contains(unbuilt, close) {
			remedy += " (that one is not built yet)"
		}
	}
	r.Fail(in.KeyAt, remedy, "%s has no key %s", e.Name(), Quote(in.Key))
}

// Items returns what a list holds.
func (r *Reader) Items(e Entry, want, remedy string) []Entry {
	list, ok := e.value.(*ast.SequenceNode)
	if !ok {
		r.TypeError(e, want, remedy)
		return nil
	}
	found := make([]Entry, 0, len(list.Values))
	for i, value := range list.Values {
		in := Entry{Path: e.Item(i), value: value, At: start(value)}
		if in.IsNull() {
			in.At = e.At
			if i < len(list.Entries) && list.Entries[i] != nil && list.Entries[i].Start != nil {
				in.At = positionOf(list.Entries[i].Start)
			}
		}
		r.positions[in.Path] = in.At
		found = append(found, in)
	}
	return found
}

// DidYouMean is the way out of a name that does not exist. The text all begins
// the list of the names that do.
func DidYouMean(name string, among []string, all string) string {
	if len(among) == 0 {
		return all + " none"
	}
	remedy := fmt.Sprintf("%s %s", all, strings.Join(among, ", "))
	if close := Closest(name, among); close != "" {
		remedy = "did you mean " + close + "? " + remedy
	}
	return remedy
}

// Closest returns the name that was probably meant, or "": one that was cut
// short, or mistyped.
func Closest(name string, among []string) string {
	for _, candidate := range among {
		if len(name) >= 3 && strings.HasPrefix(candidate, name) {
			return candidate
		}
	}
	return nearest.Name(strings.ReplaceAll(name, "-", "_"), among)
}

// FailExpression reports what is wrong with an expression or a template that a value holds.
func (r *Reader) FailExpression(e Entry, err error) {
	var t *tool.Error
	if errors.As(err, &t) {
		message, _, _ := strings.Cut(t.Message, "\n") // the file's own lines show the place
		r.Fail(e.At, t.Hint, "%s: %s", e.Name(), message)
		return
	}
	r.Fail(e.At, "", "%s: %v", e.Name(), err)
}
