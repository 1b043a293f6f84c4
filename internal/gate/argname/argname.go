// Package argname reads arguments that are named as other programs name them.
//
// A model that has learnt file_path, old_string or timeout_ms elsewhere writes them
// here too. Law: arguments that fit the schema are never touched. Only where they do
// not fit are parameters renamed that the schema does not know: by the tool's own list
// ([tool.ParamAlias]), or because the name differs only in case and separators from one
// parameter that is not given (filePath, file-path). A name never replaces an argument
// that is there with another value. Rules about arguments see the tool's own names.
package argname

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"callgate/internal/gate/schema"
	"callgate/tool"
)

// Check checks arguments against the tool's schema, with parameters renamed where
// they do not fit as they are.
func Check(s *schema.Schema, t *tool.Tool, args json.RawMessage, mode schema.Mode) (schema.Checked, error) {
	checked, err := s.Check(args, mode)
	if err == nil {
		return checked, nil
	}
	fitted, notes := fit(t, args)
	if len(notes) == 0 {
		return checked, err
	}
	checked, err = s.Check(fitted, mode) // its error is about what is left to mend
	if err == nil {
		checked.Coercions = append(notes, checked.Coercions...)
	}
	return checked, err
}

// Choose returns the one of several tools with the same name that the arguments fit,
// or otherwise err, which names them all. Another program may do under one name, by
// an argument, what several tools do here.
func Choose(
	candidates []*tool.Tool, compile func(json.RawMessage) (*schema.Schema, error), args json.RawMessage, err error,
) (*tool.Tool, error) {
	var chosen *tool.Tool
	for _, t := range candidates {
		s, unfit := compile(t.Spec.Input)
		if unfit != nil {
			continue
		}
		if _, unfit = Check(s, t, args, schema.Strict); unfit != nil {
			continue
		}
		if chosen != nil {
			return nil, err
		}
		chosen = t
	}
	if chosen == nil {
		return nil, err
	}
	return chosen, nil
}

// properties is the part of a schema that names parameters.
type properties struct {
	Properties map[string]properties `json:"properties"`
	Items      *properties           `json:"items"`
}

// fit renames the parameters of a call. It returns no notes if it changed nothing.
func fit(t *tool.Tool, args json.RawMessage) (json.RawMessage, []string) {
	var known properties
	var given map[string]json.RawMessage
	if json.Unmarshal(t.Spec.Input, &known) != nil || json.Unmarshal(args, &given) != nil || given == nil {
		return args, nil
	}
	notes := rename(given, known.Properties, "", t.Runtime.ParamAliases)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if items := known.Properties[name].Items; items != nil && len(items.Properties) > 0 {
			list, inside := fitItems(given[name], items.Properties, name, t.Runtime.ParamAliases)
			if len(inside) > 0 {
				given[name], notes = list, append(notes, inside...)
			}
		}
	}
	if len(notes) == 0 {
		return args, nil
	}
	slices.Sort(notes)
	fitted, err := json.Marshal(given)
	if err != nil {
		return args, nil
	}
	return fitted, slices.Compact(notes)
}

// fitItems renames the parameters of each object in a list.
func fitItems(
	list json.RawMessage, known map[string]properties, in string, aliases []tool.ParamAlias,
) (json.RawMessage, []string) {
	var items []json.RawMessage
	if json.Unmarshal(list, &items) != nil {
		return list, nil
	}
	var notes []string
	for i, item := range items {
		var given map[string]json.RawMessage
		if json.Unmarshal(item, &given) != nil || given == nil {
			continue
		}
		if made := rename(given, known, in, aliases); len(made) > 0 {
			if fitted, err := json.Marshal(given); err == nil {
				items[i], notes = fitted, append(notes, made...)
			}
		}
	}
	if len(notes) == 0 {
		return list, nil
	}
	fitted, err := json.Marshal(items)
	if err != nil {
		return list, nil
	}
	return fitted, notes
}

// rename gives the parameters of one object the tool's names, and says what it did.
func rename(
	given map[string]json.RawMessage, known map[string]properties, in string, aliases []tool.ParamAlias,
) (notes []string) {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value := given[name]
		for _, a := range aliases {
			if a.In == in && fold(a.Name) == fold(name) && replace(given, name, a) {
				if note := noteOf(name, value, a, given); note != "" {
					notes = append(notes, note)
				}
				break
			}
		}
		if _, there := given[name]; !there || has(known, name) {
			continue
		}
		if param, ok := spelling(name, known); ok && replace(given, name, tool.ParamAlias{Name: name, Param: param}) {
			notes = append(notes, fmt.Sprintf("%s: taken as %s", name, param))
		}
	}
	return notes
}

// replace does what an alias says, if the value allows it and nothing else is there.
func replace(given map[string]json.RawMessage, name string, a tool.ParamAlias) bool {
	value, ok := given[name], true
	if a.Convert != nil {
		value, ok = a.Convert(value)
	}
	there, taken := given[a.Param]
	taken = taken && a.Param != name
	if !ok || taken && !a.Weak && !bytes.Equal(there, value) {
		return false
	}
	delete(given, name)
	if a.Param != "" && !taken {
		given[a.Param] = value
	}
	return true
}

// noteOf says what a rename did; "" if that is nothing.
func noteOf(name string, was json.RawMessage, a tool.ParamAlias, given map[string]json.RawMessage) string {
	switch {
	case a.Param == "":
		return name + ": not a parameter here, left out"
	case a.Param == name && bytes.Equal(was, given[name]):
		return ""
	case a.Param == name:
		short := func(v json.RawMessage) string { return tool.TruncateTo(string(v), 60) }
		return fmt.Sprintf("%s: %s taken as %s", name, short(was), short(given[name]))
	default:
		return fmt.Sprintf("%s: taken as %s", name, a.Param)
	}
}

// spelling returns the one parameter that a name differs from only in case and
// separators.
func spelling(name string, known map[string]properties) (param string, ok bool) {
	for p := range known {
		if fold(p) == fold(name) {
			if ok {
				return "", false
			}
			param, ok = p, true
		}
	}
	return param, ok
}

func has(known map[string]properties, name string) bool { _, ok := known[name]; return ok }

// fold removes case and separators. The minus at the beginning of -A stays, since it
// is all that tells an option from a word.
func fold(name string) string {
	dash := strings.HasPrefix(name, "-")
	name = strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(name))
	if dash {
		return "-" + name
	}
	return name
}
