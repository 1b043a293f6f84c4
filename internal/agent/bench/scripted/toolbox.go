package scripted

import (
	"slices"
	"strings"
)

// nameWords splits the last part of a tool's name into words.
func nameWords(name string) []string {
	for _, sep := range []string{"__", ".", ":"} {
		if i := strings.LastIndex(name, sep); i >= 0 {
			name = name[i+len(sep):]
		}
	}
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' })
}

// param returns the parameter of a schema that has a role.
func (s Schema) param(r role) string {
	for _, name := range namesOf(r) {
		if s.has(name) {
			return name
		}
	}
	return ""
}

// shown finds a tool on the wire that is for something, as a reader of names and
// schemas does.
func shown(tools []Tool, i intent, values map[role]any) (Tool, bool) {
	for _, word := range wordsOf(i) {
		for _, t := range tools {
			words := nameWords(t.Name)
			if !slices.Contains(words, word) || slices.Contains(words, "tools") || slices.Contains(words, "tool") {
				continue
			}
			fits := true
			for r := range values {
				fits = fits && (t.Schema.param(r) != "" || r == offset || r == limit)
			}
			if fits {
				return t, true
			}
		}
	}
	for _, word := range wordsOf(i) { // names without parameters: those about files or the shell
		for _, t := range tools {
			about := strings.Contains(t.Name, "file") || strings.Contains(t.Name, "shell")
			if len(t.Schema.Properties) == 0 && about && slices.Contains(nameWords(t.Name), word) {
				return t, true
			}
		}
	}
	return Tool{}, false
}

// helper finds the tool by which other tools are found, described or called: one
// whose name has the words, and whose schema has one of each list of parameters.
func helper(tools []Tool, words []string, params ...[]string) (Tool, []string, bool) {
	for _, t := range tools {
		has := nameWords(t.Name)
		if !slices.ContainsFunc(words, func(w string) bool { return slices.Contains(has, w) }) {
			continue
		}
		var found []string
		for _, names := range params {
			if i := slices.IndexFunc(names, t.Schema.has); i >= 0 {
				found = append(found, names[i])
			}
		}
		if len(found) == len(params) {
			return t, found, true
		}
	}
	return Tool{}, nil, false
}

func nameParams() []string { return []string{"name", "tool", "tool_name", "id"} }

func argsParams() []string { return []string{"parameters", "params", "arguments", "args", "input"} }

func byName(tools []Tool, name string) (Tool, bool) {
	i := slices.IndexFunc(tools, func(t Tool) bool { return sameName(t.Name, name) })
	if i < 0 {
		return Tool{}, false
	}
	return tools[i], true
}

// sameName reports whether two spellings are of one tool: a__b, a.b.
func sameName(a, b string) bool {
	plain := strings.NewReplacer("__", ".", ":", ".")
	return strings.EqualFold(plain.Replace(a), plain.Replace(b))
}
