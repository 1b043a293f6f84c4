package llmtools

import (
	"encoding/json"
	"maps"
	"math"
	"strconv"
	"strings"

	"callgate/internal/app/node"
	"callgate/internal/condition"
	"callgate/llmtool"
)

// environment is what expressions of a definition may speak of: its arguments.
func environment(input json.RawMessage) condition.Env {
	roots := map[string]condition.Type{"mode": {}}
	maps.Copy(roots, condition.TypeOfSchema(input).Fields)
	return condition.Env{Roots: roots}
}

// preparation reads prepare_input: variables, and the templates that make them. The arguments stay.
func preparation(
	r, later *node.Reader, e node.Entry, input json.RawMessage,
) map[string]*condition.Template {
	const remedy = "write each variable with its template, such as shout: '{{upper(text)}}'"
	all := map[string]*condition.Template{}
	for _, in := range r.Entries(e, remedy) {
		raw, err := json.Marshal(later.Value(in))
		if err == nil {
			all[in.Key], err = condition.CompileTemplate(raw, environment(input))
		}
		if err != nil {
			r.Fail(in.At, remedy, "%s cannot be used: %v", in.Name(), err)
		}
	}
	return all
}

// prepared adds the variables to the arguments.
func prepared(all map[string]*condition.Template, values map[string]any) (map[string]any, error) {
	out := maps.Clone(values)
	for name, t := range all {
		raw, err := t.Render(values)
		if err != nil {
			return nil, err
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, err
		}
		out[name] = v
	}
	return out, nil
}

// limit reads resolve_max_tokens: an expression over the arguments, such as {{words * 2 + 100}},
// or a number.
func limit(
	r *node.Reader, e node.Entry, text string, input json.RawMessage,
) func(map[string]any, llmtool.Target) int {
	if !strings.Contains(text, "{{") {
		text = "{{" + text + "}}"
	}
	t, err := condition.CompileText(text, environment(input))
	if err != nil {
		r.Fail(e.At, "write a number over the arguments, such as '{{words * 2 + 100}}'",
			"%s cannot be used: %v", e.Below("resolve_max_tokens"), err)
		return nil
	}
	return func(values map[string]any, _ llmtool.Target) int {
		written, err := t.Text(values)
		if err != nil {
			return 0 // as the preference says
		}
		n, err := strconv.ParseFloat(written, 64)
		if err != nil || n < 1 || n > 1_000_000 {
			return 0
		}
		return int(math.Ceil(n))
	}
}
