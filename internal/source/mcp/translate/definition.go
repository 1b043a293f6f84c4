// Package translate turns the definitions of MCP servers into tools, and their
// results into results of Callgate.
//
// Nothing here is trusted. Names are changed to fit, and two are never the same;
// schemas are repaired where it is plain what was meant, and replaced where it is
// not; risk is inferred, and in doubt assumed. What was changed in a definition
// is noted for the person who runs the server, and never in what a model reads.
package translate

import (
	"encoding/json"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/tool"
)

// Definition is a tool as its server defines it.
type Definition struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input_schema,omitempty"`
	Output      json.RawMessage `json:"output_schema,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
}

// hints are a server's annotations of a tool. They are unchecked claims.
type hints struct {
	Title       string `json:"title,omitempty"`
	ReadOnly    *bool  `json:"readOnlyHint,omitempty"`
	Destructive *bool  `json:"destructiveHint,omitempty"`
	Idempotent  *bool  `json:"idempotentHint,omitempty"`
	OpenWorld   *bool  `json:"openWorldHint,omitempty"`
}

// FromSDK converts a definition of the protocol. Its schemas were decoded, so
// their keys are sorted.
func FromSDK(t *sdk.Tool) Definition {
	d := Definition{
		Name: t.Name, Title: t.Title, Description: t.Description,
		Input: encode(t.InputSchema), Output: encode(t.OutputSchema),
	}
	if a := t.Annotations; a != nil {
		h := hints{Title: a.Title, Destructive: a.DestructiveHint, OpenWorld: a.OpenWorldHint}
		yes := true
		if a.ReadOnlyHint { // false may mean that the server did not say
			h.ReadOnly = &yes
		}
		if a.IdempotentHint {
			h.Idempotent = &yes
		}
		if h != (hints{}) {
			d.Annotations = encode(h)
		}
	}
	return d
}

// hints reads the annotations. Those that cannot be read are ignored.
func (d Definition) hints() hints {
	var h hints
	if len(d.Annotations) > 0 && json.Unmarshal(d.Annotations, &h) != nil {
		return hints{}
	}
	return h
}

// ClosedWorld reports whether the server says that the tool reaches nothing but the
// server's own things.
func (d Definition) ClosedWorld() bool {
	open := d.hints().OpenWorld
	return open != nil && !*open
}

// title is the tool's name for people, or "".
func (d Definition) title() string {
	if d.Title != "" {
		return d.Title
	}
	return d.hints().Title
}

// DescriptionFor returns the description, or a sentence with the tool's name if
// it has none: without a description a model could not choose the tool.
func (d Definition) DescriptionFor(server string) string {
	switch {
	case strings.TrimSpace(d.Description) != "":
		return d.Description
	case d.title() != "":
		return d.title() + " (a tool of the MCP server " + server + ")."
	default:
		return "The tool " + tool.Truncate(d.Name) + " of the MCP server " + server + "."
	}
}

// Aliases are other names of the tool: the one that MCP clients give it, and
// its title, for searching. A title without a space is left out: a server must
// not take the names of other tools.
func (d Definition) Aliases(server string) []string {
	var list []string
	if plainName(server) && plainName(d.Name) {
		list = append(list, "mcp__"+server+"__"+d.Name)
	}
	if title := strings.TrimSpace(d.title()); strings.Contains(title, " ") {
		list = append(list, tool.Truncate(title))
	}
	return list
}

// plainName reports whether a name has only the characters that the protocol
// asks for, except the dot.
func plainName(name string) bool {
	const most = 128
	if name == "" || len(name) > most {
		return false
	}
	for _, c := range []byte(name) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}

// encode writes a value as JSON, without escapes for HTML.
func encode(value any) json.RawMessage {
	if value == nil {
		return nil
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(value) != nil {
		return nil
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}
