// Package mcpresult writes results and errors of the kernel as MCP has them:
// content by its type, errors so that a model can act on them, and the kinds of
// result that the protocol distinguishes.
package mcpresult

import (
	"encoding/json"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/tool"
)

// The kinds of result that the protocol distinguishes since 2026-07-28. The SDK
// sets the kind only where it calls a tool itself, but reads it anywhere.
var (
	completeCall   = parse[sdk.CallToolResult](`{"content":[],"resultType":"complete"}`)
	inputCall      = parse[sdk.CallToolResult](`{"content":[],"resultType":"input_required"}`)
	completeRead   = parse[sdk.ReadResourceResult](`{"contents":[],"resultType":"complete"}`)
	inputRead      = parse[sdk.ReadResourceResult](`{"contents":[],"resultType":"input_required"}`)
	completePrompt = parse[sdk.GetPromptResult](`{"messages":[],"resultType":"complete"}`)
	inputPrompt    = parse[sdk.GetPromptResult](`{"messages":[],"resultType":"input_required"}`)
)

// parse returns a function that parses a constant when it is first called: few
// processes need one.
func parse[T any](text string) func() T {
	return sync.OnceValue(func() T {
		var value T
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			panic("mcpresult: " + err.Error()) // it is a constant
		}
		return value
	})
}

// InputCall is the answer to a call for which the client must answer a question
// first. InputRead and InputPrompt are the same for resources and prompts.
func InputCall() sdk.CallToolResult { return inputCall() }

// InputRead: see InputCall.
func InputRead() sdk.ReadResourceResult { return inputRead() }

// InputPrompt: see InputCall.
func InputPrompt() sdk.GetPromptResult { return inputPrompt() }

// CompleteRead is the answer to a read that has ended, and CompletePrompt that of
// a prompt, in a protocol that distinguishes them.
func CompleteRead() sdk.ReadResourceResult { return completeRead() }

// CompletePrompt: see CompleteRead.
func CompletePrompt() sdk.GetPromptResult { return completePrompt() }

// statelessVersion is the first version of the protocol without connections.
const statelessVersion = "2026-07-28"

// Stateless reports whether a version of the protocol is one without connections.
func Stateless(version string) bool { return version >= statelessVersion }

// newResult begins the result of a call for a client of a version.
func newResult(version string) *sdk.CallToolResult {
	if !Stateless(version) {
		return &sdk.CallToolResult{}
	}
	r := completeCall()
	return &r
}

// content is a piece of content by its type.
func content(c tool.Content) sdk.Content {
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
	return text(c.Text)
}

func text(s string) *sdk.TextContent { return &sdk.TextContent{Text: s} }
