// Package tooldef writes the definitions of tools for MCP clients: schemas that
// the protocol allows, output schemas that results match, and hints that follow
// from a tool's declared effects.
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

// Schema makes an input schema one that the protocol allows: the root has the
// type object.
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

// outputKeywords are the keywords that the root of an output schema may have to
// be shown.
var outputKeywords = []string{
	"type", "properties", "required", "additionalProperties", "title", "description", "examples",
	"$schema", "$id", "$defs", "definitions", "$comment",
}

// OutputSchema is an output schema as clients see it. Clients check every success
// against it, and a result may be cut or withheld, so the root requires nothing.
// It reports false for a schema that is not shown: one that does not simply
// describe an object.
func OutputSchema(raw json.RawMessage) (json.RawMessage, bool) {
	var root map[string]json.RawMessage
	if json.Unmarshal(raw, &root) != nil || string(root["type"]) != `"object"` {
		return nil, false
	}
	for key := range root {
		if !slices.Contains(outputKeywords, key) {
			return nil, false
		}
	}
	delete(root, "required")
	delete(root, "additionalProperties")
	delete(root, "$id")
	shown, err := json.Marshal(root)
	return shown, err == nil
}

// Title is a tool's name for people.
func Title(t *tool.Tool) string {
	name := strings.ReplaceAll(t.ID.Name, "_", " ")
	if t.Runtime.Control {
		return strings.ToUpper(name[:1]) + name[1:]
	}
	return strings.TrimPrefix(t.ID.Namespace, "mcp_") + ": " + name
}

// readOnlyNames are the kernel's own tools that only read. Any other may do
// whatever the tools do that it calls.
var readOnlyNames = []string{"search_tools", "get_tool", "list_categories", "browse_category", "collect", "read"}

// Annotations are the hints on a tool's effects.
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
