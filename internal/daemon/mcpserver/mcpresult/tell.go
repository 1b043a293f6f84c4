// Package mcpresult writes results in the words of MCP: content as what it is, errors
// so that a model can act on them, and the kinds of result that the protocol
// tells apart.
package mcpresult

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/tool"
)

// The kinds of result that the protocol since 2026-07-28 tells apart. The SDK
// sets them only where it calls a tool by itself, but reads them anywhere.
var (
	completeCall   = made[sdk.CallToolResult](`{"content":[],"resultType":"complete"}`)
	inputCall      = made[sdk.CallToolResult](`{"content":[],"resultType":"input_required"}`)
	completeRead   = made[sdk.ReadResourceResult](`{"contents":[],"resultType":"complete"}`)
	inputRead      = made[sdk.ReadResourceResult](`{"contents":[],"resultType":"input_required"}`)
	completePrompt = made[sdk.GetPromptResult](`{"messages":[],"resultType":"complete"}`)
	inputPrompt    = made[sdk.GetPromptResult](`{"messages":[],"resultType":"input_required"}`)
)

// made reads a value when it is first wanted: most processes never want one.
func made[T any](text string) func() T {
	return sync.OnceValue(func() T {
		var value T
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			panic("mcpresult: " + err.Error()) // it is a constant
		}
		return value
	})
}

// InputCall is the answer to a call for which the client must say something
// first; InputRead and InputPrompt are the same for what is read beside tools.
func InputCall() sdk.CallToolResult { return inputCall() }

// InputRead see InputCall.
func InputRead() sdk.ReadResourceResult { return inputRead() }

// InputPrompt see InputCall.
func InputPrompt() sdk.GetPromptResult { return inputPrompt() }

// CompleteRead is the answer to a reading that has ended, and CompletePrompt the
// same for a prompt, for clients to whom that is to be said.
func CompleteRead() sdk.ReadResourceResult { return completeRead() }

// CompletePrompt see CompleteRead.
func CompletePrompt() sdk.GetPromptResult { return completePrompt() }

// StatelessVersion is the first protocol without connections.
const StatelessVersion = "2026-07-28"

// NewResult starts a result for a client of some version.
func NewResult(version string) *sdk.CallToolResult {
	if version < StatelessVersion {
		return &sdk.CallToolResult{}
	}
	r := completeCall()
	return &r
}

// Content is one piece of content as what it is.
func Content(c tool.Content) sdk.Content {
	switch {
	case len(c.Data) > 0 && c.URI != "":
		return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: c.URI, MIMEType: c.MIME, Blob: c.Data}}
	case c.Type == "image":
		return &sdk.ImageContent{MIMEType: c.MIME, Data: c.Data}
	case c.Type == "audio" && len(c.Data) > 0:
		return &sdk.AudioContent{MIMEType: c.MIME, Data: c.Data}
	case c.Type == "resource" && c.URI != "":
		return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: c.URI, MIMEType: c.MIME, Text: c.Body()}}
	}
	return Text(c.Text)
}

// ErrorText tells a failure so that a model can act on it.
func ErrorText(e *tool.Error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Kind, e.Message)
	if e.Hint != "" {
		b.WriteString("\nhint: " + e.Hint)
	}
	for _, f := range e.Fields {
		path := f.Path
		if path == "" {
			path = "the arguments"
		}
		fmt.Fprintf(&b, "\n- %s: want %s, got %s", path, f.Want, f.Got)
	}
	if missing := slices.DeleteFunc(slices.Clone(e.Similar), func(s string) bool { return strings.Contains(e.Hint, s) }); len(missing) > 0 {
		b.WriteString("\nsimilar: " + strings.Join(missing, ", "))
	}
	if len(e.Schema) > 0 {
		b.WriteString("\nschema: " + string(e.Schema))
	}
	if len(e.Example) > 0 {
		b.WriteString("\nexample: " + string(e.Example))
	}
	return b.String()
}

// Text is a piece of text.
func Text(s string) *sdk.TextContent { return &sdk.TextContent{Text: s} }
