// Package template fills in the prompts of LLM-backed tools.
//
//	Sum up {{content}} in {{limits.words}} words.
//	{{suggestions | numbered 0}}
//
// # Law
//
// A template is filled in once: what a value says is never read as a template, so no input can
// reach another variable. A variable that has no value is an error that names it. Null is empty,
// text is written as it is, and everything else as JSON. What stands between braces and is no
// variable ({x}, {{1x}}) is text. A template that repeats a variable multiplies its value, so a
// result above MaxText is refused before it is made.
package template

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// MaxText limits what a template becomes. No model reads this much.
const MaxText = 16 << 20

// Template is a parsed template. It never changes.
type Template struct {
	parts []part
}

// part is text, or the place of a variable.
type part struct {
	text   string
	path   []string // of a variable; nil: text
	filter string
	from   int // of the filter numbered
}

// places finds variables: a path, and perhaps a filter with a number.
var places = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{\{\s*([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*)` +
		`\s*(?:\|\s*([A-Za-z_]+)(?:\s+(-?[0-9]{1,9}))?\s*)?\}\}`)
})

// filters are the ways in which a list is written.
var filters = []string{"numbered", "bulleted"}

// Parse reads a template.
func Parse(text string) (*Template, error) {
	t := &Template{}
	last := 0
	group := func(m []int, i int) string {
		if m[2*i] < 0 {
			return ""
		}
		return text[m[2*i]:m[2*i+1]]
	}
	for _, m := range places().FindAllStringSubmatchIndex(text, -1) {
		p := part{path: strings.Split(group(m, 1), "."), filter: group(m, 2), from: 1}
		number := group(m, 3)
		switch {
		case p.filter != "" && !slices.Contains(filters, p.filter):
			return nil, fmt.Errorf("%s: there is no filter %s; there are %s", group(m, 0), p.filter, strings.Join(filters, ", "))
		case number != "" && p.filter != "numbered":
			return nil, fmt.Errorf("%s: only numbered takes a number, the first one", group(m, 0))
		case number != "":
			p.from, _ = strconv.Atoi(number) // at most nine digits
		}
		if last < m[0] {
			t.parts = append(t.parts, part{text: text[last:m[0]]})
		}
		t.parts = append(t.parts, p)
		last = m[1]
	}
	if last < len(text) {
		t.parts = append(t.parts, part{text: text[last:]})
	}
	return t, nil
}

// Variables returns the names with which the variables begin, each once, in their order.
func (t *Template) Variables() (names []string) {
	for _, p := range t.parts {
		if p.path != nil && !slices.Contains(names, p.path[0]) {
			names = append(names, p.path[0])
		}
	}
	return names
}

// Render fills in the template. The values are made of what encoding/json decodes into an any.
func (t *Template) Render(values map[string]any) (string, error) {
	var out strings.Builder
	written := map[string]string{} // variables, so that one that is repeated is written as JSON once
	for _, p := range t.parts {
		if p.path == nil {
			out.WriteString(p.text)
			continue
		}
		key := strings.Join(p.path, ".") + "|" + p.filter + "|" + strconv.Itoa(p.from)
		if text, ok := written[key]; ok {
			if out.Len()+len(text) > MaxText {
				return "", tooLarge()
			}
			out.WriteString(text)
			continue
		}
		value, err := lookUp(values, p.path)
		if err != nil {
			return "", err
		}
		text, err := p.write(value)
		if err != nil {
			return "", err
		}
		if out.Len()+len(text) > MaxText {
			return "", tooLarge()
		}
		out.WriteString(text)
		written[key] = text
	}
	return out.String(), nil
}

func tooLarge() error {
	return fmt.Errorf("with its variables filled in it has more than %d MiB", MaxText>>20)
}

// lookUp follows a path. The error names the first part of it that leads nowhere.
func lookUp(values map[string]any, path []string) (any, error) {
	var at any = values
	for i, name := range path {
		var ok bool
		switch v := at.(type) {
		case map[string]any:
			at, ok = v[name]
		case []any:
			n, err := strconv.Atoi(name)
			if ok = err == nil && n >= 0 && n < len(v); ok {
				at = v[n]
			}
		}
		if !ok {
			return nil, missing(path, i, values)
		}
	}
	return at, nil
}

func missing(path []string, at int, values map[string]any) error {
	name := strings.Join(path, ".")
	if at > 0 {
		return fmt.Errorf("the variable %s has no value: there is no %s in %s",
			name, path[at], strings.Join(path[:at], "."))
	}
	known := make([]string, 0, len(values))
	for k := range values {
		known = append(known, k)
	}
	if len(known) == 0 {
		return fmt.Errorf("the variable %s has no value, and neither has any other", name)
	}
	slices.Sort(known)
	return fmt.Errorf("the variable %s has no value; there are %s", name, strings.Join(known, ", "))
}

// write writes a value in its place.
func (p part) write(value any) (string, error) {
	if p.filter == "" {
		return text(value)
	}
	if value == nil {
		return "", nil
	}
	list, ok := value.([]any)
	if !ok {
		return "", fmt.Errorf("the variable %s is no list, which %s wants", strings.Join(p.path, "."), p.filter)
	}
	items := make([]string, len(list))
	for i, v := range list {
		var err error
		if items[i], err = text(v); err != nil {
			return "", err
		}
	}
	if p.filter == "bulleted" {
		return Bulleted(items), nil
	}
	return Numbered(items, p.from), nil
}

// text writes a value: null is empty, text is itself, and everything else JSON.
func text(value any) (string, error) {
	switch v := value.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // a model reads it, not a browser
	if err := enc.Encode(value); err != nil {
		return "", fmt.Errorf("a value cannot be written as JSON: %w", err)
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// Numbered writes items on a line each, with their numbers from first on.
func Numbered(items []string, first int) string {
	return lines(items, func(i int) string { return strconv.Itoa(first+i) + ". " })
}

// Bulleted writes items on a line each.
func Bulleted(items []string) string {
	return lines(items, func(int) string { return "- " })
}

func lines(items []string, mark func(i int) string) string {
	var out strings.Builder
	for i, item := range items {
		if i > 0 {
			out.WriteByte('\n')
		}
		out.WriteString(mark(i))
		out.WriteString(item)
	}
	return out.String()
}
