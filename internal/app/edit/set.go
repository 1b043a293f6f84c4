package edit

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"callgate/internal/app/node"
	"callgate/tool"
)

// Change sets one key of an app file, or takes it out.
type Change struct {
	Path  []string // the keys on the way to it, from the file's own
	Value any      // as encoding/json decodes it; nil takes the key out
}

// The bounds of a change.
const (
	maxPath  = 16
	maxDepth = 32
)

// Set makes changes, one after the other. What no change is about stays byte for byte,
// comments included. A list is set whole.
//
// The new text is verified: read as YAML, it holds what the old text held with the changes
// made in it, and nothing else. A file with anchors, aliases or tags is no app file, so
// what a key says is what stands there.
func Set(text []byte, changes []Change) ([]byte, error) {
	const op = "edit.Set"
	if len(changes) == 0 {
		return nil, tool.Errorf(op, tool.Invalid, "no change is named")
	}
	for _, c := range changes {
		next, err := set(op, text, c)
		if err != nil {
			return nil, err
		}
		text = next
	}
	return text, nil
}

// set makes one change.
func set(op string, text []byte, c Change) ([]byte, error) {
	name := strings.Join(c.Path, ".")
	want, err := valueOf(op, name, c.Value, 0)
	if err != nil {
		return nil, err
	}
	if len(c.Path) == 0 || len(c.Path) > maxPath || slices.Contains(c.Path, "") {
		return nil, tool.Errorf(op, tool.Invalid, "%q is not the path of a key", tool.TruncateTo(name, 100)).
			WithHint("name the keys from the top of the file: tools.modules.http.config")
	}
	d, ok := outline(text)
	var before map[string]any
	if ok {
		before, ok = tree(text)
	}
	if !ok || d.null {
		return nil, tool.Errorf(op, tool.Invalid, "the structure of the file cannot be made out").
			WithHint("change it by hand")
	}
	splices, problem := d.set(c.Path, want, c.Value == nil)
	if problem != "" {
		return nil, tool.Errorf(op, tool.Invalid, "%s cannot be changed without losing something: %s", name, problem).
			WithHint("change another key, or have a human change this one by hand")
	}
	after := d.apply(splices)
	got, ok := tree(after)
	if !ok || len(after) > node.MaxBytes || !sameTree(got, patched(before, c.Path, c.Value)) {
		return nil, tool.Errorf(op, tool.Internal, "the edited file would not say what was asked for at %s, "+
			"so it is left as it was", name).WithHint("change it by hand")
	}
	return after, nil
}

// set finds the splices of a change, or says what stands in its way.
func (d *document) set(path []string, want any, remove bool) (splices []splice, problem string) {
	if d.root == nil {
		if remove {
			return nil, ""
		}
		return []splice{d.append(level{limit: d.contentEnd()}, nested(path, want))}, ""
	}
	l, ok := d.top()
	for depth, key := range path {
		if !ok {
			return nil, "its levels could not be made out line by line, or one of them is no mapping"
		}
		i, last := l.find(key), depth == len(path)-1
		switch {
		case i < 0 && remove:
			return nil, ""
		case i < 0:
			return d.appendTo(l, nested(path[depth:], want), depth == 0), ""
		case last && remove:
			splices, ok = d.without(pathStep{l, i})
		case last:
			splices, ok = d.rewrite(l, l.entries[i], want)
		default:
			inner, found := d.within(l, l.entries[i])
			if !found || len(inner.entries) > 0 {
				l, ok = inner, found
				continue
			}
			if remove {
				return nil, ""
			}
			splices, ok = d.fill(l, l.entries[i], inner, nested(path[depth+1:], want))
		}
		if !ok {
			return nil, inTheWay
		}
		return splices, ""
	}
	return nil, errUnclear
}

// nested is a value with the levels of a path around it.
func nested(path []string, value any) []field {
	f := []field{{path[len(path)-1], value}}
	for _, key := range slices.Backward(path[:len(path)-1]) {
		f = []field{{key, f}}
	}
	return f
}

// valueOf is a value of JSON as it is written. A key of a mapping has a value.
func valueOf(op, name string, value any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, tool.Errorf(op, tool.Invalid, "the value of %s is nested too deep", name)
	}
	switch v := value.(type) {
	case nil:
		if depth == 0 {
			return nil, nil
		}
		return nil, tool.Errorf(op, tool.Invalid, "the value of %s holds a null", name).
			WithHint("leave the key out; to take a key out of the file, set it to null by its own path")
	case string:
		return v, nil
	case bool:
		return rawText(strconv.FormatBool(v)), nil
	case float64:
		return rawText(strconv.FormatFloat(v, 'f', -1, 64)), nil
	case json.Number:
		return rawText(v.String()), nil
	case []any:
		list := make([]any, len(v))
		for i := range v {
			item, err := valueOf(op, name, v[i], depth+1)
			if err != nil {
				return nil, err
			}
			list[i] = item
		}
		return list, nil
	case map[string]any:
		f := []field{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			in, err := valueOf(op, name, v[key], depth+1)
			if err != nil {
				return nil, err
			}
			f = append(f, field{key, in})
		}
		return f, nil
	}
	return nil, tool.Errorf(op, tool.Invalid, "the value of %s is a %T", name, value)
}

// tree reads a text as YAML. It reports whether that could be done.
func tree(text []byte) (t map[string]any, ok bool) {
	defer func() {
		if recover() != nil {
			t, ok = nil, false
		}
	}()
	t = map[string]any{}
	if len(strings.TrimSpace(string(text))) == 0 {
		return t, true
	}
	return t, yaml.Unmarshal(text, &t) == nil
}

// patched is a copy of a tree with a change made in it.
func patched(t map[string]any, path []string, value any) map[string]any {
	t = maps.Clone(t)
	if t == nil {
		t = map[string]any{}
	}
	key := path[0]
	below, has := t[key]
	switch {
	case len(path) > 1:
		inner, _ := below.(map[string]any)
		if value == nil && (!has || len(inner) == 0) {
			return t
		}
		t[key] = patched(inner, path[1:], value)
	case value == nil:
		delete(t, key)
	default:
		t[key] = value
	}
	return t
}

// sameTree compares trees by what they say: a number is the same however it was read, and
// a level that is written and empty is that.
func sameTree(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok && !(b == nil && len(x) == 0) {
			return false
		}
		for key, value := range x {
			other, has := y[key]
			if !has || !sameTree(value, other) {
				return false
			}
		}
		return len(x) == len(y)
	case nil:
		y, ok := b.(map[string]any)
		return b == nil || ok && len(y) == 0
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !sameTree(x[i], y[i]) {
				return false
			}
		}
		return true
	case string, bool:
		return reflect.DeepEqual(a, b)
	}
	if _, text := b.(string); text || b == nil {
		return false
	}
	x, errX := strconv.ParseFloat(fmt.Sprint(a), 64)
	y, errY := strconv.ParseFloat(fmt.Sprint(b), 64)
	return errX == nil && errY == nil && x == y
}
