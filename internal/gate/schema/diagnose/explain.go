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

// MaxNamed is the number of fields that a sentence names.
const MaxNamed = 5

// maxTried limits the problems that are looked at. Several may turn out to say the same.
const maxTried = 100

// explainer explains problems of doc under the schema root.
type explainer struct {
	root *jsonschema.Schema
	doc  any
}

// Explain turns the first problems of doc under root into at most most field errors, and
// counts the rest: to explain one costs more than to find it, and nobody reads thousands.
func Explain(root *jsonschema.Schema, problems []Problem, doc any, most int) (fields []tool.FieldError, more int) {
	e := explainer{root, doc}
	tried := 0
	for _, p := range problems {
		room := most - len(fields)
		names := p.names()
		if tried++; room == 0 || tried > maxTried {
			more += max(1, len(names))
			continue
		}
		for _, field := range e.fields(p, names[:min(len(names), room)]) {
			field.Want = phrase.Truncate(field.Want, phrase.MaxWant)
			field.Got = phrase.Truncate(field.Got, 2*phrase.MaxGot)
			if !slices.Contains(fields, field) {
				fields = append(fields, field)
			}
		}
		more += max(0, len(names)-room)
	}
	return fields, more
}

// Missing lists the properties that the object at the problem's path lacks.
func (p Problem) Missing() []string {
	switch k := p.Kind.(type) {
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

// names lists the properties that a problem names.
func (p Problem) names() []string {
	if k, ok := p.Kind.(*kind.AdditionalProperties); ok {
		return slices.Sorted(slices.Values(k.Properties))
	}
	return p.Missing()
}

// Sentence sums up the field errors, and counts the rest, on one line.
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
		want := phrase.Truncate(f.Want, 2*phrase.MaxGot)
		text := fmt.Sprintf("%s: want %s, got %s", path, want, f.Got)
		if strings.HasPrefix(want, noSuchField) {
			text = path + ": " + want // whatever its value is
		}
		named = append(named, text)
	}
	more += len(fields) - len(named)
	if more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	return start + ": " + strings.Join(named, "; ")
}

// fields explains one problem. Most concern one field; missing and unknown
// properties concern the fields in names.
func (e explainer) fields(p Problem, names []string) []tool.FieldError {
	switch k := p.Kind.(type) {
	case *kind.Required:
		return e.missing(p, names, "required")
	case *kind.DependentRequired:
		return e.missing(p, names, fmt.Sprintf("required with %q", k.Prop))
	case *kind.Dependency:
		return e.missing(p, names, fmt.Sprintf("required with %q", k.Prop))
	case *kind.AdditionalProperties:
		allowed := e.propertyNames(p, p.At, p.schema)
		var out []tool.FieldError
		for _, name := range names {
			out = append(out, e.field(extend(p.At, name), unknownField(name, allowed)))
		}
		return out
	case *kind.PropertyNames:
		return []tool.FieldError{{
			Path: phrase.Path(e.doc, extend(p.At, k.Property)),
			Want: "a field name that is " + e.nameWanted(p), Got: phrase.Literal(k.Property),
		}}
	case *kind.FalseSchema:
		if owner, ok := strings.CutSuffix(p.schema, "/unevaluatedProperties"); ok && len(p.At) > 0 {
			parent, name := p.At[:len(p.At)-1], p.At[len(p.At)-1]
			return []tool.FieldError{e.field(p.At, unknownField(name, e.propertyNames(p, parent, owner)))}
		}
	}
	value, _ := walk.At(e.doc, p.At)
	want, got := e.phrase(p, value)
	if got == "" {
		got = phrase.Actual(value)
	}
	return []tool.FieldError{{Path: phrase.Path(e.doc, p.At), Want: want, Got: got}}
}

// field returns the error of one field: what was wanted there, and what came.
func (e explainer) field(path []string, want string) tool.FieldError {
	value, _ := walk.At(e.doc, path)
	return tool.FieldError{Path: phrase.Path(e.doc, path), Want: want, Got: phrase.Actual(value)}
}

func extend(path []string, name string) []string { return append(slices.Clip(path), name) }

func (e explainer) missing(p Problem, names []string, why string) []tool.FieldError {
	var out []tool.FieldError
	for _, name := range names {
		path := extend(p.At, name)
		want := "a value"
		for _, sub := range walk.Locate(e.root, e.doc, path) {
			if text := describe(sub, 0); text != "" {
				want = text
				break
			}
		}
		want = fmt.Sprintf("%s (%s)", phrase.Truncate(want, phrase.MaxWant-40), why)
		out = append(out, tool.FieldError{Path: phrase.Path(e.doc, path), Want: want, Got: "nothing"})
	}
	return out
}

// propertyNames lists the fields that the schema at location accepts, or, if it
// names none, those that any schema of that path accepts.
func (e explainer) propertyNames(p Problem, path []string, location string) []string {
	names := map[string]bool{}
	located := walk.Locate(e.root, e.doc, path)
	for _, sub := range located {
		if sub.Location == location && p.schema == location {
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

// noSuchField begins what is said of a field that there is not.
const noSuchField = "no such field"

func unknownField(name string, allowed []string) string {
	if len(allowed) == 0 {
		return noSuchField
	}
	text := noSuchField + "; there are " + phrase.List(allowed, phrase.MaxListed)
	if len(allowed) == 1 {
		text = noSuchField + "; there is only " + allowed[0]
	}
	if near := closestName(name, allowed); near != "" {
		text = phrase.Truncate(text, phrase.MaxWant-100)
		return fmt.Sprintf("%s; did you mean %q?", text, phrase.Truncate(near, phrase.MaxGot))
	}
	return text
}

// nameWanted describes what a property's name should be, by the first error about
// it.
func (e explainer) nameWanted(p Problem) string {
	for _, cause := range p.causes {
		for _, inner := range List(cause) {
			want, _ := explainer{root: e.root}.phrase(inner, nil)
			return want
		}
	}
	return "allowed"
}
