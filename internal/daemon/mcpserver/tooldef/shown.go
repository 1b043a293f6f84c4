// Package tooldef writes tools as MCP clients are shown them: schemas that the
// protocol allows, promises that can be kept, and hints that follow from what the
// kernel knows of a tool's effects.
package tooldef

import (
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/tool"
)

// OpenObject is the schema of a tool whose parameters are not shown.
const OpenObject = `{"type":"object"}`

// Schema makes a schema one that the protocol allows: its root says that
// it is of an object.
func Schema(raw json.RawMessage) json.RawMessage {
	var root map[string]json.RawMessage
	if json.Unmarshal(raw, &root) != nil || root == nil {
		return json.RawMessage(OpenObject)
	}
	if string(root["type"]) == `"object"` {
		return raw
	}
	root["type"] = json.RawMessage(`"object"`)
	fixed, err := json.Marshal(root)
	if err != nil {
		return json.RawMessage(OpenObject)
	}
	return fixed
}

// OutputSchema is an output schema as clients are told it. They hold every success
// against it, and a result may be cut or kept back, so its root promises what
// may be there, not what must be. One that is not plainly of an object, or
// whose root says more than that, is not told at all.
func OutputSchema(raw json.RawMessage) (json.RawMessage, bool) {
	var root map[string]json.RawMessage
	if json.Unmarshal(raw, &root) != nil || string(root["type"]) != `"object"` {
		return nil, false
	}
	for key := range root {
		if !slices.Contains([]string{"type", "properties", "required", "additionalProperties", "title", "description", "$schema", "$id", "$defs", "definitions", "examples", "$comment"}, key) {
			return nil, false
		}
	}
	delete(root, "required")
	delete(root, "additionalProperties")
	delete(root, "$id")
	told, err := json.Marshal(root)
	return told, err == nil
}

// Title is a tool's name for people.
func Title(t *tool.Tool) string {
	name := strings.ReplaceAll(t.ID.Name, "_", " ")
	if t.Runtime.Control {
		return strings.ToUpper(name[:1]) + name[1:]
	}
	return strings.TrimPrefix(t.ID.Namespace, "mcp_") + ": " + name
}

// readOnlyNames are those of the kernel's own tools that only look. Any other may do
// whatever it is told to call.
var readOnlyNames = []string{"search_tools", "get_tool", "list_categories", "browse_category", "collect"}

// Annotations tell what the kernel knows of a tool's effects.
func Annotations(t *tool.Tool) *sdk.ToolAnnotations {
	r := &t.Runtime
	reads := !r.SideEffect.Durable()
	harm := !reads && r.Risk.Level() >= tool.High.Level()
	open := r.SideEffect == tool.External || r.Network
	idempotent := r.Idempotent
	if r.Control && !slices.Contains(readOnlyNames, t.ID.Name) {
		reads, harm, open, idempotent = false, true, true, false
	}
	return &sdk.ToolAnnotations{
		Title: Title(t), ReadOnlyHint: reads, DestructiveHint: &harm, IdempotentHint: idempotent, OpenWorldHint: &open,
	}
}
