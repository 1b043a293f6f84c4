// Package argname reads arguments that are named as other programs name them.
//
// A model that has learnt file_path, old_string or timeout_ms elsewhere writes them
// here too. Law: arguments that fit the schema are never touched. Only where they do
// not fit are parameters renamed that the schema does not know: by the tool's own list
// ([tool.ParamAlias]), or because the name differs only in case and separators from one
// parameter that is not given (filePath, file-path). A name never replaces an argument
// that is there with another value. Rules about arguments see the tool's own names.
//
// The cost grows with the size of the arguments and of the schema, not with their product:
// each name is folded once and looked up. The work ends when the context does.
package argname

import (
	"bytes"
	"context"
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
func Check(
	ctx context.Context, s *schema.Schema, t *tool.Tool, args json.RawMessage, mode schema.Mode,
) (schema.Checked, error) {
	checked, err := s.Check(args, mode)
	if err == nil {
		return checked, nil
	}
	fitted, notes := fit(ctx, t, args)
	if ended := ctx.Err(); ended != nil {
		return checked, tool.Errorf("argname.Check", tool.Cancelled, "the caller ended the call before its arguments were checked: %w", ended)
	}
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
	ctx context.Context, candidates []*tool.Tool, compile func(json.RawMessage) (*schema.Schema, error), args json.RawMessage, err error,
) (*tool.Tool, error) {
	var chosen *tool.Tool
	for _, t := range candidates {
		s, unfit := compile(t.Spec.Input)
		if unfit != nil {
			continue
		}
		if _, unfit = Check(ctx, s, t, args, schema.Strict); unfit != nil {
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
func fit(ctx context.Context, t *tool.Tool, args json.RawMessage) (json.RawMessage, []string) {
	var known properties
	var given map[string]json.RawMessage
	if json.Unmarshal(t.Spec.Input, &known) != nil || json.Unmarshal(args, &given) != nil || given == nil {
		return args, nil
	}
	notes := newNames(known.Properties, "", t.Runtime.ParamAliases).rename(ctx, given)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if items := known.Properties[name].Items; items != nil && len(items.Properties) > 0 {
			list, inside := fitItems(ctx, given[name], newNames(items.Properties, name, t.Runtime.ParamAliases))
			if len(inside) > 0 {
				given[name], notes = list, append(notes, inside...)
			}
		}
	}
	if len(notes) == 0 || ctx.Err() != nil {
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
func fitItems(ctx context.Context, list json.RawMessage, n *names) (json.RawMessage, []string) {
	var items []json.RawMessage
	if json.Unmarshal(list, &items) != nil {
		return list, nil
	}
	var notes []string
	for i, item := range items {
		if ctx.Err() != nil {
			return list, nil
		}
		var given map[string]json.RawMessage
		if json.Unmarshal(item, &given) != nil || given == nil {
			continue
		}
		if made := n.rename(ctx, given); len(made) > 0 {
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

// names are the names that the parameters of one kind of object may have.
type names struct {
	known   map[string]properties
	aliases map[string][]tool.ParamAlias // by the folded name
	params  map[string]string            // by the folded name; "": several parameters have it
}

func newNames(known map[string]properties, in string, aliases []tool.ParamAlias) *names {
	n := &names{known: known, aliases: map[string][]tool.ParamAlias{}, params: make(map[string]string, len(known))}
	for _, a := range aliases {
		if a.In == in {
			n.aliases[fold(a.Name)] = append(n.aliases[fold(a.Name)], a)
		}
	}
	for p := range known {
		folded := fold(p)
		if _, taken := n.params[folded]; taken {
			p = ""
		}
		n.params[folded] = p
	}
	return n
}

// rename gives the parameters of one object the tool's names, and says what it did.
func (n *names) rename(ctx context.Context, given map[string]json.RawMessage) (notes []string) {
	for i, name := range slices.Sorted(maps.Keys(given)) {
		if i%1000 == 999 && ctx.Err() != nil {
			return notes
		}
		value, folded := given[name], fold(name)
		for _, a := range n.aliases[folded] {
			if replace(given, name, a) {
				if note := noteOf(name, value, a, given); note != "" {
					notes = append(notes, note)
				}
				break
			}
		}
		_, there := given[name]
		if _, known := n.known[name]; !there || known {
			continue
		}
		// A name that differs only in case and separators from one parameter means it.
		param := n.params[folded]
		if param != "" && replace(given, name, tool.ParamAlias{Name: name, Param: param}) {
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

// fold removes case and separators. The minus at the beginning of -A stays, since it
// is all that tells an option from a word.
func fold(name string) string {
	separator := func(c rune) rune {
		switch c {
		case '_', '-', ' ', '.':
			return -1
		}
		return c
	}
	folded := strings.ToLower(strings.Map(separator, name))
	if strings.HasPrefix(name, "-") {
		return "-" + folded
	}
	return folded
}
