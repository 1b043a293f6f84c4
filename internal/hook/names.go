package hook

import (
	"strings"

	"callgate/tool"
)

// mcpPrefix begins the module of an MCP server's tools.
const mcpPrefix = "mcp_"

// Names are the names by which a tool may be meant: ours, with and without its version,
// its short one, and Claude Code's.
func Names(t *tool.Tool) []string {
	names := []string{t.ID.Dotted(), t.ID.String(), t.ID.WithoutVersion(), t.ID.Namespace + "__" + t.ID.Name}
	if t.Spec.Short != "" {
		names = append(names, t.Spec.Short)
	}
	return append(names, claudeNames(t)...)
}

// claudeNames are what Claude Code calls a tool, or several of which it does the work: who
// guards Edit guards whatever edits.
func claudeNames(t *tool.Tool) []string {
	if server, ok := strings.CutPrefix(t.ID.Namespace, mcpPrefix); ok {
		return []string{"mcp__" + server + "__" + t.ID.Name}
	}
	switch t.ID.Dotted() {
	case "filesystem.list":
		return []string{"LS"}
	case "filesystem.edit":
		return []string{"MultiEdit"}
	case "filesystem.apply_patch":
		return []string{"Edit", "MultiEdit", "Write"}
	case "memory.task_create", "memory.task_update":
		return []string{"TodoWrite"}
	}
	return nil
}

// ClaudeTool is the name that a command of Claude Code's form is given of a tool.
func ClaudeTool(t *tool.Tool) string {
	if server, ok := strings.CutPrefix(t.ID.Namespace, mcpPrefix); ok {
		return "mcp__" + server + "__" + t.ID.Name
	}
	switch name := t.ID.Dotted(); {
	case name == "filesystem.list":
		return "LS"
	case name == "filesystem.apply_patch":
		return "Edit"
	case t.Spec.Short != "":
		return t.Spec.Short
	default:
		return name
	}
}

// claudeParams are the parameters of a tool that Claude Code calls otherwise, with our
// names.
func claudeParams(t *tool.Tool) map[string]string {
	var names map[string]string
	for _, a := range t.Runtime.ParamAliases {
		switch a.Name {
		case "file_path", "notebook_path", "old_string", "new_string", "replace_all":
			if a.Param != "" && a.In == "" && a.Param != a.Name {
				if names == nil {
					names = map[string]string{}
				}
				names[a.Name] = a.Param
			}
		}
	}
	return names
}
