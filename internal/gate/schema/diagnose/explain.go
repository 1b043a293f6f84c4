package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"callgate/internal/gate/schema/phrase"
	"callgate/internal/gate/schema/walk"
	"callgate/tool"
)

// MaxNamed is how many fields a sentence names.
const MaxNamed = 5

// explainer is what an explanation is drawn from: the schema and the value.
type explainer struct {
	root *jsonschema.Schema
	doc  any
}

// Explain says in words what is wrong with doc under root, at most most times,
// and how many more complaints there are.
func Explain(root *jsonschema.Schema, trouble []Problem, doc any, most int) (fields []tool.FieldError, more int) {
	t := explainer{root, doc}
	for _, f := range trouble {
		room := most - len(fields)
		names := f.names()
		if room == 0 {
			more += max(1, len(names))
			continue
		}
		for _, field := range t.fields(f, names[:min(len(names), room)]) {
			field.Want, field.Got = phrase.Truncate(field.Want, phrase.MaxWant), phrase.Truncate(field.Got, 2*phrase.MaxGot)
			if !slices.Contains(fields, field) {
				fields = append(fields, field)
			}
		}
		more += max(0, len(names)-room)
	}
	return fields, more
}

// Missing lists the properties that the object at the fault's place lacks.
func (f Problem) Missing() []string {
	switch k := f.Kind.(type) {
	case *kind.Required:
		return k.Missing
	case *kind.DependentRequired:
		return k.Missing
	case *kind.Dependency:
		return k.Missing
	default:
		return nil
	}
}

// names lists the properties that a complaint speaks of by name.
func (f Problem) names() []string {
	if k, ok := f.Kind.(*kind.AdditionalProperties); ok {
		return slices.Sorted(slices.Values(k.Properties))
	}
	return f.Missing()
}

// Sentence sums up the fields, and how many more there are, in one line.
func Sentence(start string, fields []tool.FieldError, more int) string {
	var named []string
	for _, f := range fields {
		if len(named) == MaxNamed {
			break
		}
		path := f.Path
		if path == "" {
			path = "the whole"
		}
		named = append(named, fmt.Sprintf("%s: want %s, got %s", path, phrase.Truncate(f.Want, 2*phrase.MaxGot), f.Got))
	}
	more += len(fields) - len(named)
	if more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	return start + ": " + strings.Join(named, "; ")
}

// fields explains one fault. Most are about one field; what is missing and
// what is too much are about the properties in names.
func (t explainer) fields(f Problem, names []string) []tool.FieldError {
	switch k := f.Kind.(type) {
	case *kind.Required:
		return t.missing(f, names, "required")
	case *kind.DependentRequired:
		return t.missing(f, names, fmt.Sprintf("required with %q", k.Prop))
	case *kind.Dependency:
		return t.missing(f, names, fmt.Sprintf("required with %q", k.Prop))
	case *kind.AdditionalProperties:
		allowed := t.propertyNames(f, f.At, f.schema)
		var out []tool.FieldError
		for _, name := range names {
			out = append(out, t.field(extend(f.At, name), extraWords(name, allowed)))
		}
		return out
	case *kind.PropertyNames:
		return []tool.FieldError{{Path: phrase.Path(t.doc, extend(f.At, k.Property)), Want: "a field name that is " + t.nameWords(f), Got: phrase.Literal(k.Property)}}
	case *kind.FalseSchema:
		if owner, ok := strings.CutSuffix(f.schema, "/unevaluatedProperties"); ok && len(f.At) > 0 {
			parent, name := f.At[:len(f.At)-1], f.At[len(f.At)-1]
			return []tool.FieldError{t.field(f.At, extraWords(name, t.propertyNames(f, parent, owner)))}
		}
	}
	value, _ := walk.At(t.doc, f.At)
	want, got := t.phrase(f, value)
	if got == "" {
		got = phrase.Actual(value)
	}
	return []tool.FieldError{{Path: phrase.Path(t.doc, f.At), Want: want, Got: got}}
}

// field sets what was wanted at a place against what is there.
func (t explainer) field(path []string, want string) tool.FieldError {
	value, _ := walk.At(t.doc, path)
	return tool.FieldError{Path: phrase.Path(t.doc, path), Want: want, Got: phrase.Actual(value)}
}

func extend(path []string, name string) []string { return append(slices.Clip(path), name) }

func (t explainer) missing(f Problem, names []string, why string) []tool.FieldError {
	var out []tool.FieldError
	for _, name := range names {
		path := extend(f.At, name)
		want := "a value"
		for _, sub := range walk.Locate(t.root, t.doc, path) {
			if said := describe(sub, 0); said != "" {
				want = said
				break
			}
		}
		want = fmt.Sprintf("%s (%s)", phrase.Truncate(want, phrase.MaxWant-40), why)
		out = append(out, tool.FieldError{Path: phrase.Path(t.doc, path), Want: want, Got: "nothing"})
	}
	return out
}

// propertyNames lists the fields that the schema at location takes, or, when
// it speaks of none, those that any schema of that place takes.
func (t explainer) propertyNames(f Problem, path []string, location string) []string {
	names := map[string]bool{}
	located := walk.Locate(t.root, t.doc, path)
	for _, sub := range located {
		if sub.Location == location && f.schema == location {
			for name := range sub.Properties {
				names[name] = true
			}
		}
	}
	if len(names) == 0 {
		for _, sub := range located {
			for name := range sub.Properties {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func extraWords(name string, allowed []string) string {
	if len(allowed) == 0 {
		return "no such field"
	}
	said := "no such field; there are " + phrase.List(allowed, phrase.MaxListed)
	if len(allowed) == 1 {
		said = "no such field; there is only " + allowed[0]
	}
	if near := closestName(name, allowed); near != "" {
		return fmt.Sprintf("%s; did you mean %q?", phrase.Truncate(said, phrase.MaxWant-100), phrase.Truncate(near, phrase.MaxGot))
	}
	return said
}

// nameWords says what a property's name should be, by the first complaint
// about it.
func (t explainer) nameWords(f Problem) string {
	for _, cause := range f.causes {
		for _, inner := range List(cause) {
			want, _ := explainer{root: t.root}.phrase(inner, nil)
			return want
		}
	}
	return "allowed"
}
