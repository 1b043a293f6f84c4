//lint:file-ignore SA1019 servers still use models, roots and logs

package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// playRich is an MCP server that does all that a server may.
func playRich() {
	var watched atomic.Int64
	s := sdk.NewServer(&sdk.Implementation{Name: "rich", Version: "1"}, &sdk.ServerOptions{
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { watched.Add(1); return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { watched.Add(-1); return nil },
	})
	act(s, "watched", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return texted("%d", watched.Load()), nil
	})
	addContent(s)
	addQuestions(s)
	read := func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return resourced(r.Params.URI, os.Getenv("WHO")+" has "+r.Params.URI), nil
	}
	for _, uri := range append(strings.Fields(os.Getenv("RESOURCES")), "watch://both") {
		s.AddResource(&sdk.Resource{URI: uri, Name: uri}, read)
	}
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: os.Getenv("WHO") + "://{+any}", Name: "any"}, read)
	for _, name := range append(strings.Fields(os.Getenv("PROMPTS")), "shared") {
		s.AddPrompt(&sdk.Prompt{Name: name}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return prompted(os.Getenv("WHO") + " says " + name), nil
		})
	}
	for _, name := range strings.Fields(os.Getenv("TOOLS")) {
		act(s, name, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return texted("%s did %s", os.Getenv("WHO"), name), nil
		})
	}
	_ = s.Run(context.Background(), &sdk.StdioTransport{})
}

func texted(format string, args ...any) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

func prompted(text string) *sdk.GetPromptResult {
	return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}}}
}

func resourced(uri, text string) *sdk.ReadResourceResult {
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, Text: text}}}
}

// act adds a tool that only reads.
func act(s *sdk.Server, name string, do func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error)) {
	s.AddTool(&sdk.Tool{
		Name: name, Description: "Does " + name + ".", InputSchema: map[string]any{"type": "object"},
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
	}, do)
}

func addContent(s *sdk.Server) {
	act(s, "contents", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.TextContent{Text: "words"}, &sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("wav")},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "note://x", MIMEType: "text/plain", Text: "a note"}},
			&sdk.EmbeddedResource{
				Resource: &sdk.ResourceContents{URI: "zip://x", MIMEType: "application/zip", Blob: []byte("zip")},
			},
		}}, nil
	})
	act(s, "change", func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return texted("changed"), s.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: "watch://both"})
	})
	act(s, "log", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for _, level := range []sdk.LoggingLevel{"debug", "info", "error"} {
			if err := r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: level, Data: "at " + string(level)}); err != nil {
				return nil, err
			}
		}
		return texted("logged"), nil
	})
}

// addQuestions adds what wants to know something first, in the ways of both
// handshakes.
func addQuestions(s *sdk.Server) {
	form := func(what string) *sdk.ElicitParams {
		return &sdk.ElicitParams{Message: what + "?", RequestedSchema: json.RawMessage(oneField)}
	}
	it := func(answers sdk.InputResponseMap, key string) any {
		if res, ok := answers[key].(*sdk.ElicitResult); ok {
			return res.Content["it"]
		}
		return nil
	}
	model := &sdk.CreateMessageParams{
		MaxTokens: 9, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: "hi"}}},
	}
	act(s, "several", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		a := r.Params.InputResponses
		words, ok := a["words"].(*sdk.CreateMessageWithToolsResult)
		roots, also := a["roots"].(*sdk.ListRootsResult)
		if ok && also && it(a, "name") != nil {
			return texted("%v, %s, %s", it(a, "name"), words.Content[0].(*sdk.TextContent).Text, roots.Roots[0].URI), nil
		}
		return &sdk.CallToolResult{RequestState: "mine", InputRequests: sdk.InputRequestMap{
			"name": form("name"), "words": model, "roots": &sdk.ListRootsParams{},
		}}, nil
	})
	act(s, "twice", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for _, key := range []string{"one", "two"} {
			if answer := it(r.Params.InputResponses, key); r.Params.RequestState == "" || answer != nil {
				next := map[string]string{"": "one", "one": "two"}[r.Params.RequestState]
				if next == "" {
					return texted("told %v", answer), nil
				}
				return &sdk.CallToolResult{RequestState: next, InputRequests: sdk.InputRequestMap{next: form(next)}}, nil
			}
		}
		return texted("told nothing"), nil
	})
	act(s, "needy", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if c := r.ClientCapabilities(); c != nil && c.Sampling != nil {
			return texted("fine"), nil
		}
		return nil, &jsonrpc.Error{
			Code: sdk.CodeMissingRequiredClientCapabilities, Message: "lend me your model",
			Data: json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`),
		}
	})
	act(s, "sample", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		res, err := r.Session.CreateMessage(ctx, model)
		if err != nil {
			return nil, err
		}
		return texted("the model: %s", res.Content.(*sdk.TextContent).Text), nil
	})
	s.AddPrompt(&sdk.Prompt{Name: "asks"}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		if name := it(r.Params.InputResponses, "name"); name != nil {
			return prompted(fmt.Sprint("told ", name)), nil
		}
		return &sdk.GetPromptResult{InputRequests: sdk.InputRequestMap{"name": form("name")}}, nil
	})
	asks := &sdk.Resource{URI: "asks://" + os.Getenv("WHO"), Name: "asks"}
	s.AddResource(asks, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		if name := it(r.Params.InputResponses, "name"); name != nil {
			return resourced(r.Params.URI, fmt.Sprint("told ", name)), nil
		}
		return &sdk.ReadResourceResult{InputRequests: sdk.InputRequestMap{"name": form("name")}}, nil
	})
}
