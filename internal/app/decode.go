package app

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"callgate/internal/gate/policy"
	"callgate/tool"
)

// decoder walks the tree of one file and fills an app. It goes on after a
// mistake, so that all are told at once.
type decoder struct {
	*report
	known       KnownModules
	app         *App
	folder      string // of the file
	listed      bool   // whether tools.modules is there
	block       *policy.Capabilities
	constraints map[string]policy.Constraint
	mentions    []nameRef
	places      map[string]position // of each value, by its path
	vars        Vars
	variables   variables
	secrets     bool // what is being read may refer to secrets
	keyless     []missingKey
	skillsUsed  []skillRef
	included    []*report // of the files that were read beside this one
}

// entry is one value: of a key, or an item of a list.
type entry struct {
	path  string
	key   string
	keyAt position
	value ast.Node
	at    position // of the value, or of its key when there is none
}

// reader takes one value in.
type reader func(e entry)

// null reports whether nothing is written.
func (e entry) null() bool {
	_, ok := e.value.(*ast.NullNode)
	return ok
}

// typeError reports a value of the wrong kind.
func (d *decoder) typeError(e entry, want, out string) {
	d.fail(e.at, out, "%s must be %s, and this is %s", e.name(), want, kind(e.value))
}

// name is the value's path, for messages.
func (e entry) name() string {
	if e.path == "" {
		return "the file"
	}
	return e.path
}

// kind says what a node is.
func kind(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode, *ast.LiteralNode:
		return "text"
	case *ast.BoolNode:
		return "true or false"
	case *ast.NullNode:
		return "empty"
	case *ast.FloatNode:
		return "a decimal number"
	default:
		return "a number"
	}
}

// entries returns what a mapping holds; an empty value holds nothing. It
// reports what is no mapping, and keys that come twice.
func (d *decoder) entries(e entry, out string) []entry {
	if e.null() {
		return nil
	}
	m, ok := e.value.(ast.MapNode)
	if !ok {
		d.typeError(e, "a mapping of keys to values", out)
		return nil
	}
	var found []entry
	first := make(map[string]position)
	for i := m.MapRange(); i.Next(); {
		keyAt := at(i.Key())
		key, ok := keyText(i.Key())
		if !ok {
			d.fail(keyAt, "put the key in quotes if it is meant as text", "a key of %s must be text, and this is %s", e.name(), kind(i.Key()))
			continue
		}
		if before, twice := first[key]; twice {
			d.fail(keyAt, fmt.Sprintf("keep one of the two; the first is on line %d", before.line), "the key %s stands here a second time", quote(key))
			continue
		}
		first[key] = keyAt
		in := entry{path: strings.TrimPrefix(e.path+"."+key, "."), key: key, keyAt: keyAt, value: i.Value(), at: keyAt}
		if !in.null() {
			in.at = at(in.value)
		}
		d.places[in.path] = in.at
		found = append(found, in)
	}
	return found
}

func keyText(n ast.Node) (string, bool) {
	s, ok := n.(*ast.StringNode)
	if !ok {
		return "", false
	}
	return s.Value, true
}

// mapping reads a mapping whose keys are all known: level names the place in
// the table of keys that are not built yet.
func (d *decoder) mapping(level string, e entry, readers map[string]reader) {
	keys := slices.Sorted(maps.Keys(readers))
	for _, in := range d.entries(e, "its keys are "+strings.Join(keys, ", ")) {
		if read, ok := readers[in.key]; ok {
			read(in)
			continue
		}
		d.unknownKey(level, e, in, keys)
	}
}

// unknownKey reports a key that has no reader.
func (d *decoder) unknownKey(level string, e, in entry, keys []string) {
	unbuilt := strings.Fields(unbuiltKeys[level])
	if slices.Contains(unbuilt, in.key) {
		d.fail(in.keyAt, "delete the key for now; it is refused so that nobody relies on it by mistake", "%s is not built yet", in.path)
		return
	}
	if home := keyHomes[in.key]; home != "" && home != level {
		d.fail(in.keyAt, "move it to "+home, "%s does not belong here", in.path)
		return
	}
	out := "the keys of " + e.name() + " are " + strings.Join(keys, ", ")
	if len(keys) == 0 {
		out = "delete it: " + e.name() + " takes no keys"
	}
	if close := closestName(in.key, append(keys, unbuilt...)); close != "" {
		out = "did you mean " + close + "?"
		if slices.Contains(unbuilt, close) {
			out += " (that one is not built yet)"
		}
	}
	d.fail(in.keyAt, out, "%s has no key %s", e.name(), quote(in.key))
}

// items returns what a list holds.
func (d *decoder) items(e entry, want, out string) []entry {
	list, ok := e.value.(*ast.SequenceNode)
	if !ok {
		d.typeError(e, want, out)
		return nil
	}
	found := make([]entry, 0, len(list.Values))
	for i, value := range list.Values {
		in := entry{path: fmt.Sprintf("%s[%d]", e.path, i), value: value, at: at(value)}
		if in.null() {
			in.at = e.at
			if i < len(list.Entries) && list.Entries[i] != nil && list.Entries[i].Start != nil {
				in.at = placeOf(list.Entries[i].Start)
			}
		}
		d.places[in.path] = in.at
		found = append(found, in)
	}
	return found
}

// text reads text that is not empty.
func (d *decoder) text(e entry) (string, bool) {
	var s string
	switch n := e.value.(type) {
	case *ast.StringNode:
		s = n.Value
	case *ast.LiteralNode:
		s = n.Value.Value
	case *ast.NullNode:
		d.fail(e.at, "write a value, or leave the key out", "%s has no value", e.name())
		return "", false
	case *ast.SequenceNode, *ast.MappingNode, *ast.MappingValueNode:
		d.typeError(e, "text", "write one value")
		return "", false
	default:
		d.typeError(e, "text", fmt.Sprintf("put it in quotes: %q", tool.TruncateTo(n.GetToken().Value, 60)))
		return "", false
	}
	if strings.TrimSpace(s) == "" {
		d.fail(e.at, "write a value, or leave the key out", "%s is empty", e.name())
		return "", false
	}
	s, ok := d.expand(e, s)
	if ok && strings.TrimSpace(s) == "" {
		d.fail(e.at, "give the variable a value, or a text to fall back on after ??", "%s is empty once its variables are filled in", e.name())
		return "", false
	}
	return s, ok
}

// textInto reads text into a variable.
func (d *decoder) textInto(to *string) reader {
	return func(e entry) {
		if s, ok := d.text(e); ok {
			*to = s
		}
	}
}

// texts reads a list of texts; one that is written empty is not nil.
func (d *decoder) texts(to *[]string, out string) reader {
	return func(e entry) {
		if e.null() {
			d.fail(e.at, out, "%s has no value", e.name())
			return
		}
		list := []string{}
		for _, in := range d.items(e, "a list", out) {
			if s, ok := d.text(in); ok {
				list = append(list, s)
			} else {
				list = append(list, "") // keep the places of the others
			}
		}
		*to = list
	}
}

// integer reads a whole number.
func (d *decoder) integer(e entry, out string) (int, bool) {
	n, ok := e.value.(*ast.IntegerNode)
	if !ok {
		d.typeError(e, "a whole number", out)
		return 0, false
	}
	switch v := n.Value.(type) {
	case int64:
		if math.MinInt32 <= v && v <= math.MaxInt32 {
			return int(v), true
		}
	case uint64:
		if v <= math.MaxInt32 {
			return int(v), true
		}
	}
	d.fail(e.at, out, "%s is too large a number", e.name())
	return 0, false
}

// value reads anything, as JSON would hold it.
func (d *decoder) value(e entry) any {
	switch n := e.value.(type) {
	case *ast.NullNode:
		return nil
	case *ast.BoolNode:
		return n.Value
	case *ast.IntegerNode:
		return n.Value
	case *ast.FloatNode:
		return n.Value
	case *ast.StringNode:
		s, _ := d.expand(e, n.Value)
		return s
	case *ast.LiteralNode:
		s, _ := d.expand(e, n.Value.Value)
		return s
	case *ast.SequenceNode:
		list := []any{}
		for _, in := range d.items(e, "a list", "") {
			list = append(list, d.value(in))
		}
		return list
	case *ast.MappingNode, *ast.MappingValueNode:
		m := make(map[string]any)
		for _, in := range d.entries(e, "") {
			m[in.key] = d.value(in)
		}
		return m
	default:
		d.fail(e.at, "write a plain number", "%s is not a number that can be used", e.name())
		return nil
	}
}
