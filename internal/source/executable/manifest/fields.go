package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"callgate/internal/nearest"
	"callgate/tool"
)

// reader reads one value. The path names it in messages.
type reader func(n *node, path string)

// fields are the keys that an object may have.
type fields map[string]reader

// object reads an object whose keys are all known.
func (d *decoder) object(n *node, path string, known fields, required ...string) {
	keys := slices.Sorted(maps.Keys(known))
	if n.kind != object {
		d.wrong(n, path, "an object", "its keys are "+strings.Join(keys, ", "))
		return
	}
	for _, m := range n.members {
		if read, ok := known[m.key]; ok {
			read(m.value, strings.TrimPrefix(path+"."+m.key, "."))
			continue
		}
		hint := "its keys are " + strings.Join(keys, ", ")
		if parent := parents[m.key]; parent != "" && parent != path {
			hint = "it belongs below " + parent
		} else if near := meant(m.key, keys); near != "" {
			hint = "did you mean " + near + "?"
		}
		d.fail(m.at, hint, "%s has no key %s", title(path), quote(m.key))
	}
	required = slices.DeleteFunc(required, func(key string) bool { return n.get(key) != nil })
	if len(required) > 0 {
		d.fail(n.at, needs[required[0]], "%s has no %s", title(path), strings.Join(required, ", no "))
	}
}

// needs says what to write for a key that is missing.
var needs = map[string]string{
	"llm":         `add "llm": {"name": …, "description": …, "parameters": …}`,
	"name":        `add "name": "module.action"`,
	"description": "add it: a model chooses a tool by its description",
	"parameters":  `add it; a tool that takes nothing has "parameters": {"type": "object"}`,
	"args":        `write {"args": {…}}, with the arguments of the call inside`,
	"resource":    `write {"resource": "file:{path}", "mode": "S"}`,
	"mode":        "add one of IS, IX, S, U, X",
}

// parents says where keys belong that are easily misplaced.
var parents = map[string]string{
	"name": "llm", "description": "llm", "parameters": "llm", "input_schema": "llm", "output_schema": "llm",
	"examples": "llm", "aliases": "llm", "tags": "llm", "short_name": "llm",
	"exec_path": "runtime", "args": "runtime", "timeout_ms": "runtime", "locks": "runtime", "network": "runtime",
	"secret_resources": "runtime", "side_effect": "runtime", "idempotent": "runtime", "version": "runtime",
	"risk": "runtime", "exposure": "runtime", "prompt_mask": "runtime", "ask_first": "runtime", "env": "runtime",
	"max_output": "runtime", "data_classification": "runtime",
}

// title names a value in messages.
func title(path string) string {
	if path == "" {
		return "the manifest"
	}
	return path
}

// meant returns the known name that was probably meant, or "".
func meant(name string, known []string) string {
	for _, k := range known {
		if len(name) >= 3 && strings.HasPrefix(k, name) {
			return k
		}
	}
	return nearest.Name(strings.ReplaceAll(name, "-", "_"), known)
}

// wrong reports a value of the wrong kind.
func (d *decoder) wrong(n *node, path, want, hint string) {
	d.fail(n.at, hint, "%s must be %s, and this is %s", title(path), want, n.kind)
}

// text reads a text that is not empty and has no control characters; only a long
// text may have several lines.
func (d *decoder) text(to *string, most int) reader {
	return func(n *node, path string) {
		lines := most >= maxText
		control := func(c rune) bool { return unicode.IsControl(c) && !(lines && (c == '\n' || c == '\t')) }
		switch {
		case n.kind != text:
			d.wrong(n, path, "text", "put it in double quotes")
		case strings.TrimSpace(n.text) == "":
			d.fail(n.at, "write a value, or leave the key out", "%s is empty", path)
		case len(n.text) > most:
			d.fail(n.at, fmt.Sprintf("at most %d bytes", most), "%s is too long", path)
		case strings.ContainsFunc(n.text, control):
			d.fail(n.at, "delete it", "%s holds a control character", path)
		default:
			*to = n.text
		}
	}
}

// each reads every item of a list.
func (d *decoder) each(n *node, path string, read reader) {
	switch {
	case n.kind != list:
		d.wrong(n, path, "a list", "put it in brackets: […]")
		return
	case len(n.items) > maxList:
		d.fail(n.at, fmt.Sprintf("at most %d items", maxList), "%s is too long", path)
		return
	}
	for i, item := range n.items {
		read(item, fmt.Sprintf("%s[%d]", path, i))
	}
}

// texts reads a list of texts. Each is also checked by check, if that is not nil.
func (d *decoder) texts(to *[]string, check func(n *node, path string)) reader {
	return func(n *node, path string) {
		d.each(n, path, func(item *node, path string) {
			var s string
			d.text(&s, maxLine)(item, path)
			if *to = append(*to, s); s != "" && check != nil { // an empty text keeps the others in place
				check(item, path)
			}
		})
	}
}

// variable checks the name of an environment variable.
func (d *decoder) variable(n *node, path string) {
	switch {
	case !isName(n.text, ""):
		d.fail(n.at, "it is to be the name of an environment variable",
			"%s %s must be letters, digits and _", path, quote(n.text))
	case strings.HasPrefix(n.text, Reserved):
		d.fail(n.at, "choose another name",
			"%s %s: names that begin with %s are the kernel's own", path, quote(n.text), Reserved)
	}
}

// isName reports whether s is letters, digits and _, and does not begin with a
// digit; also holds more characters that it may have.
func isName(s, also string) bool {
	for i, c := range s {
		switch {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_':
		case i > 0 && ('0' <= c && c <= '9' || strings.ContainsRune(also, c)):
		default:
			return false
		}
	}
	return s != ""
}

// yesNo reads true or false.
func (d *decoder) yesNo(to *bool) reader {
	return func(n *node, path string) {
		if n.kind != truth {
			d.wrong(n, path, string(truth), "write it without quotes")
			return
		}
		*to = n.yes
	}
}

// integer reads a whole number from 1 to most.
func (d *decoder) integer(n *node, path string, most int, to *int) {
	if n.kind != number {
		d.wrong(n, path, "a whole number", "write it without quotes")
		return
	}
	v, err := strconv.Atoi(n.text)
	if err != nil || v < 1 || v > most {
		d.fail(n.at, "leave it out for the default", "%s must be a whole number from 1 to %d", path, most)
		return
	}
	*to = v
}

// choice reads one of a few words.
func choice[T ~string](d *decoder, to *T, among ...T) reader {
	return func(n *node, path string) {
		words := make([]string, len(among))
		for i, word := range among {
			words[i] = string(word)
		}
		all := strings.Join(words, ", ")
		switch {
		case n.kind != text:
			d.wrong(n, path, "one of "+all, "put it in double quotes")
		case slices.Contains(words, n.text):
			*to = T(n.text)
		default:
			hint := "write one of " + all
			if near := meant(n.text, words); near != "" {
				hint = "did you mean " + near + "?"
			}
			d.fail(n.at, hint, "%s is %s", path, quote(n.text))
		}
	}
}

// locks reads the effects of a call, after all the rest.
func (d *decoder) locks(n *node) {
	r := &d.m.Runtime
	d.each(n, "runtime.locks", func(n *node, path string) {
		var e tool.Effect
		d.object(n, path, fields{
			"resource": func(n *node, path string) {
				if d.text(&e.Resource, maxLine)(n, path); e.Resource != "" {
					d.resource(n, path)
				}
			},
			"mode": func(n *node, path string) {
				var mode string
				choice(d, &mode, "IS", "IX", "S", "U", "X")(n, path)
				if mode == "" {
					return
				}
				_ = e.Mode.UnmarshalText([]byte(mode)) // it is one of the five
				if e.Mode.Writes() && !r.SideEffect.Durable() {
					d.fail(n.at, "take S, or say side_effect: write",
						"%s %s permits a change, yet side_effect is %s", path, mode, r.SideEffect)
				}
			},
		}, "resource", "mode")
		r.Effects = append(r.Effects, e)
	})
}

// resource checks a lock's template: a kind of resource and, after a colon, its
// name, in which {argument} is replaced by an argument of the call.
func (d *decoder) resource(n *node, path string) {
	kind, name, named := strings.Cut(n.text, ":")
	mode := name[strings.LastIndexByte(name, ':')+1:]
	switch {
	case strings.ContainsAny(n.text, "<>"):
		d.fail(n.at, "write file:{path}, with the argument's name in braces",
			"%s %s has its argument in angle brackets", path, quote(n.text))
		return
	case named && mode != name && slices.Contains([]string{"IS", "IX", "S", "U", "X"}, mode):
		d.fail(n.at, "write the mode under its own key",
			"%s %s ends with a lock mode", path, quote(n.text))
		return
	case strings.ContainsAny(kind, "{}") || kind == "":
		d.fail(n.at, "write a kind and a name, such as file:{path}",
			"%s %s does not say what kind of resource it is", path, quote(n.text))
		return
	case kind == "file" && name == "":
		d.fail(n.at, "write file:{path} for one file, or workspace for all of them",
			"%s %s names no file", path, quote(n.text))
		return
	}
	for rest := name; ; {
		before, after, open := strings.Cut(rest, "{")
		name, tail, closed := strings.Cut(after, "}")
		if strings.Contains(before, "}") || open && (!closed || name == "" || strings.Contains(name, "{")) {
			d.fail(n.at, "write an argument's name in braces, such as file:{path}",
				"%s %s has braces that do not match", path, quote(n.text))
			return
		}
		if !open {
			return
		}
		d.argument(n, path, name)
		rest = tail
	}
}

// argument reports a name that the input schema does not declare. A schema that
// is composed of others may declare it in one of those, so it is not checked.
func (d *decoder) argument(n *node, path, name string) {
	if d.input == nil || d.input.kind != object {
		return
	}
	for _, key := range []string{"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "patternProperties"} {
		if d.input.get(key) != nil {
			return
		}
	}
	var declared []string
	if p := d.input.get("properties"); p != nil {
		for _, m := range p.members {
			declared = append(declared, m.key)
		}
	}
	if slices.Contains(declared, name) {
		return
	}
	hint := "the tool has no parameters; name the resource itself"
	if len(declared) > 0 {
		hint = "its parameters are " + tool.TruncateTo(strings.Join(declared, ", "), maxLine)
	}
	if near := meant(name, declared); near != "" {
		hint = "did you mean {" + near + "}?"
	}
	d.fail(n.at, hint, "%s speaks of the parameter %s, which is not declared", path, quote(name))
}
