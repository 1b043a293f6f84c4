package rules

import "slices"

// StatementsKey is the constraint of a module with the kinds of statements that it refuses.
const StatementsKey = "blocked_statements"

// WithStatements adds the kinds of statements among blocked actions to the constraints of a
// module: whoever blocks drop_table means that no table is dropped, by whatever action.
func WithStatements(constraints map[string]any, blocked, kinds []string) map[string]any {
	list, _ := constraints[StatementsKey].([]any)
	for _, kind := range blocked {
		if slices.Contains(kinds, kind) && !slices.Contains(list, any(kind)) {
			list = append(list, kind)
		}
	}
	if len(list) > 0 && constraints == nil {
		constraints = map[string]any{}
	}
	if len(list) > 0 {
		constraints[StatementsKey] = list
	}
	return constraints
}
