package scripted

import (
	"regexp"
	"strings"
)

// discover looks for a tool with the tool that finds tools.
func (w *work) discover(m *Model, r *Request) {
	query := queryOf(w.intent)
	if w.intent == acting {
		if t, ok := recognized(r.Tools, w.step.Is); ok {
			w.tool = t.Name
			return
		}
		query = w.step.Tool
	}
	t, p, ok := helper(r.Tools, []string{"search", "find"}, []string{"query", "queries", "q", "text", "words"})
	if !ok {
		w.failed = "I have no tool for that."
		return
	}
	var asked any = query
	if p[0] == "queries" {
		asked = []string{query}
	}
	w.call = m.write(t.Name, map[string]any{p[0]: asked})
	w.aside = func(m *Model, r *Request, res Result) { w.found(m, r, res.Text) }
}

// recognized finds a tool that the model knows for the right one.
func recognized(tools []Tool, is string) (Tool, bool) {
	if is == "" {
		return Tool{}, false
	}
	for _, t := range tools {
		if regexp.MustCompile(is).MatchString(t.Name) {
			return t, true
		}
	}
	return Tool{}, false
}

// found takes the best of the tools that a search shows, and reads its schema, or
// goes on without.
func (w *work) found(m *Model, r *Request, text string) {
	var names []string
	for _, n := range toolLike.FindAllStringSubmatch(text, -1) {
		names = append(names, n[1])
	}
	if len(names) == 0 {
		m.wasted[w.call.ID] = true
		w.failed = "I found no tool for that."
		return
	}
	w.tool = pick(names, w)
	if w.intent != acting {
		m.names[w.intent] = w.tool
	}
	get, p, ok := helper(r.Tools, []string{"get", "describe", "schema"}, nameParams())
	if _, known := schemaIn(text); !ok || known && !m.habits.discovers || !m.habits.discovers {
		return
	}
	w.waitFor(m, get.Name, map[string]any{p[0]: w.tool})
}

// waitFor has the schema of a tool read before it is called.
func (w *work) waitFor(_ *Model, get string, args map[string]any) {
	tool := w.tool
	w.tool, w.exact = get, args
	w.aside = func(m *Model, _ *Request, res Result) {
		w.tool = tool
		if s, ok := schemaIn(res.Text); ok {
			m.known[tool], m.learned[tool] = s, true
			return
		}
		m.wasted[w.call.ID] = true
	}
}

// pick chooses among the names that a search shows, as a reader would.
func pick(names []string, w *work) string {
	for _, n := range names {
		if w.step.Is != "" && regexp.MustCompile(w.step.Is).MatchString(n) {
			return n
		}
	}
	for _, word := range wordsOf(w.intent) {
		for _, n := range names {
			if strings.Contains(strings.Join(nameWords(n), "_"), word) {
				return n
			}
		}
	}
	return names[0]
}
