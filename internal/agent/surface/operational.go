package surface

import (
	"slices"

	"callgate/tool"
)

// operational are the tools by which an agent keeps its working memory, has others work for
// it, and changes files that a human reviews, by module; nil: all of the module's. The
// prompt tells it to use them, so it must not have to find them first.
var operational = map[string][]string{
	"memory":      {"set_goal", "task_create", "task_update", "remember"},
	"agent_spawn": nil,
	"workspace":   nil,
}

// IsOperational reports whether an agent that has a tool is shown it whole in every mode,
// like a primitive.
func IsOperational(id tool.ID) bool {
	names, ok := operational[id.Namespace]
	return ok && (names == nil || slices.Contains(names, id.Name))
}
