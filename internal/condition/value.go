package condition

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"

	"callgate/tool"
)

// normal turns a value into one of those an evaluation works with. It looks one level
// deep; what is inside is turned when it is reached.
func (e *evaluation) normal(n *node, v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, int64, float64, []any, map[string]any:
		return v, nil
	case int:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case uint64:
		if v > math.MaxInt64 {
			return float64(v), nil
		}
		return int64(v), nil
	case float32:
		return float64(v), nil
	case json.Number:
		if i, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return i, nil
		}
		if f, err := v.Float64(); err == nil {
			return f, nil
		}
		return string(v), nil
	case []string:
		out := make([]any, len(v))
		for i, s := range v {
			out[i] = s
		}
		return out, e.count(n, len(v))
	case map[string]string:
		out := make(map[string]any, len(v))
		for k, s := range v {
			out[k] = s
		}
		return out, e.count(n, len(v))
	case json.RawMessage:
		var out any
		if err := json.Unmarshal(v, &out); err != nil {
			return nil, undecided(e.source, n.pos, "%s is no JSON", n.text(e.source))
		}
		return out, e.count(n, len(v)/16)
	}
	return nil, undecided(e.source, n.pos, "%s is a value that expressions do not know (%T)", n.text(e.source), v)
}

// kindOf is the kind of a value that is normal.
func kindOf(v any) Kind {
	switch v.(type) {
	case nil:
		return Null
	case bool:
		return Bool
	case int64, float64:
		return Number
	case string:
		return Text
	case []any, spread:
		return List
	case map[string]any:
		return Map
	}
	return Any
}

func toFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// compareNumbers compares two numbers, and reports whether they are. Whole numbers
// are compared as such, since a float64 does not hold all of them.
func compareNumbers(a, b any) (int, bool) {
	i, wholeA := a.(int64)
	j, wholeB := b.(int64)
	if wholeA && wholeB {
		return cmp.Compare(i, j), true
	}
	x, okA := toFloat(a)
	y, okB := toFloat(b)
	return cmp.Compare(x, y), okA && okB
}

// show writes a value for an error.
func show(v any) string {
	if s, ok := v.(string); ok {
		return tool.Truncate(s)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return kindOf(v).String()
	}
	return tool.Truncate(string(data))
}
