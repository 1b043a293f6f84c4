//lint:file-ignore SA1019 servers want models, roots and an ear for logs all the same

package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// subscribed is the resources with subscriptions.
type subscribed struct {
	mu   sync.Mutex
	uris map[string]int
}

func (s *subscribed) add(uri string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uris[uri] += n; s.uris[uri] <= 0 {
		delete(s.uris, uri)
	}
}

func (s *subscribed) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Keys(s.uris)), " ")
}

// askingServer asks questions, sends logs and has subscriptions, in all versions
// or in some.
func askingServer(versions ...string) *sdk.Server {
	watched := &subscribed{uris: map[string]int{}}
	s := sdk.NewServer(&sdk.Implementation{Name: "asking", Version: "1"}, &sdk.ServerOptions{
		SupportedProtocolVersions: versions,
		SubscribeHandler: func(_ context.Context, r *sdk.SubscribeRequest) error {
			if r.Params.URI == "watch://refused" {
				return errors.New("not that one")
			}
			watched.add(r.Params.URI, 1)
			return nil
		},
		UnsubscribeHandler: func(_ context.Context, r *sdk.UnsubscribeRequest) error {
			watched.add(r.Params.URI,
				-1)
			return nil
		},
	})
	addAsking(s)
	addOldAsking(s)
	s.AddResource(&sdk.Resource{URI: "watch://a", Name: "a"}, nil)
	var level sdk.LoggingLevel
	s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if r, ok := req.(*sdk.ServerRequest[*sdk.SetLoggingLevelParams]); ok {
				level = r.Params.Level
			}
			return next(ctx, method, req)
		}
	})
	plain := func(name string, do func(context.Context, *sdk.CallToolRequest) string) {
		sdk.AddTool(s, &sdk.Tool{Name: name, Description: name},
			func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
				return words("%s", do(ctx, r)), nil, nil
			})
	}
	plain("level", func(context.Context, *sdk.CallToolRequest) string { return "level " + string(level) })
	plain("watching", func(context.Context, *sdk.CallToolRequest) string { return watched.String() })
	plain("log", func(ctx context.Context, r *sdk.CallToolRequest) string {
		_ = r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Logger: "own", Data: "one s3cr3t"})
		_ = r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "debug", Logger: "own", Data: "too little"})
		_ = r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "error", Logger: "own", Data: map[string]any{"two": 2}})
		return "logged"
	})
	sdk.AddTool(s, &sdk.Tool{Name: "change", Description: "Changes."},
		func(ctx context.Context, _ *sdk.CallToolRequest, in struct {
			URI string `json:"uri"`
		}) (*sdk.CallToolResult, any, error) {
			return words("changed"), nil, s.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: in.URI})
		})
	return s
}

// named is a form that asks for one value.
func named(what string) *sdk.ElicitParams {
	return &sdk.ElicitParams{Message: what + "?",
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{"it":{"type":"string"}}}`)}
}

// it is the value in such a form.
func it(answers sdk.InputResponseMap, key string) string {
	if res, ok := answers[key].(*sdk.ElicitResult); ok {
		return fmt.Sprint(res.Content["it"])
	}
	return ""
}

// addAsking adds tools that ask as in the newest protocol.
func addAsking(s *sdk.Server) {
	sdk.AddTool(s, &sdk.Tool{Name: "several", Description: "Asks for several things."},
		func(_ context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			answers := r.Params.InputResponses
			switch {
			case r.Params.RequestState == "":
				return &sdk.CallToolResult{RequestState: "one", InputRequests: sdk.InputRequestMap{
					"name": named("name"), "roots": &sdk.ListRootsParams{},
					"words": &sdk.CreateMessageParams{MaxTokens: 1, Messages: []*sdk.SamplingMessage{{Role: "user",
						Content: &sdk.TextContent{Text: "hi"}}}},
				}}, nil, nil
			case r.Params.RequestState == "one" && len(answers) == 3:
				model := answers["words"].(*sdk.CreateMessageWithToolsResult).Content[0].(*sdk.TextContent).Text
				so := it(answers, "name") + " " + model + " " + answers["roots"].(*sdk.ListRootsResult).Roots[0].URI
				return &sdk.CallToolResult{RequestState: so, InputRequests: sdk.InputRequestMap{"colour": named("colour")}}, nil, nil
			}
			return words("round 2: %s, then %s", r.Params.RequestState, it(answers, "colour")), nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "busy", Description: "Puts off."},
		func(_ context.Context, r *sdk.CallToolRequest, in struct {
			Times int `json:"times"`
		}) (*sdk.CallToolResult, any, error) {
			if n := len(r.Params.RequestState); n < in.Times {
				return &sdk.CallToolResult{RequestState: strings.Repeat("x", n+1), InputRequests: sdk.InputRequestMap{}}, nil, nil
			}
			return words("at last"), nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "capabilities", Description: "What the client can do."},
		func(_ context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			raw, _ := json.Marshal(r.Params.Meta[sdk.MetaKeyClientCapabilities])
			var can map[string]any
			err := json.Unmarshal(raw, &can)
			return words("can: %s", strings.Join(slices.Sorted(maps.Keys(can)), " ")), nil, err
		})
	sdk.AddTool(s, &sdk.Tool{Name: "needs_sampling", Description: "Needs a model."},
		func(_ context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			if c := r.ClientCapabilities(); c == nil || c.Sampling == nil {
				return nil, nil, &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "sampling is needed",
					Data: json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`)}
			}
			return words("fine"), nil, nil
		})
	s.AddPrompt(&sdk.Prompt{Name: "asks"}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		if name := it(r.Params.InputResponses, "name"); name != "" {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "told " +
				name}}}}, nil
		}
		return &sdk.GetPromptResult{InputRequests: sdk.InputRequestMap{"name": named("name")}}, nil
	})
	s.AddResource(
		&sdk.Resource{URI: "asks://it", Name: "asks"},
		func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			if name := it(r.Params.InputResponses, "name"); name != "" {
				return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "asks://it", Text: "told " + name}}}, nil
			}
			return &sdk.ReadResourceResult{InputRequests: sdk.InputRequestMap{"name": named("name")}}, nil
		},
	)
}

// addOldAsking adds tools that ask in the middle of a call.
func addOldAsking(s *sdk.Server) {
	sdk.AddTool(s, &sdk.Tool{Name: "sample", Description: "Asks a model."},
		func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			res, err := r.Session.CreateMessage(ctx, &sdk.CreateMessageParams{MaxTokens: 1,
				Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: "hi"}}}})
			if err != nil {
				return nil, nil, err
			}
			return words("the model: %s", res.Content.(*sdk.TextContent).Text), nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "choose", Description: "Asks for several of some."},
		func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			form := json.RawMessage(`{"type":"object","properties":{"many":{"type":"array","items":{"type":"string","anyOf":[` +
				`{"const":"a","title":"A"},{"const":"b","title":"B"}]}}}}`)
			whole := &sdk.ElicitParams{Mode: "form", Message: "which?", RequestedSchema: form}
			// This side of the SDK does not know the form either.
			res, err := r.Session.Elicit(context.WithValue(ctx, formKey{}, whole), &sdk.ElicitParams{Mode: "form",
				Message: "which?"})
			if err != nil {
				return nil, nil, err
			}
			said, err := json.Marshal(res.Content)
			return words("%s %s", res.Action, said), nil, err
		})
	s.AddSendingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if whole, ok := ctx.Value(formKey{}).(*sdk.ElicitParams); ok && method == "elicitation/create" {
				req = &sdk.ServerRequest[sdk.Params]{Session: req.GetSession().(*sdk.ServerSession), Params: whole}
			}
			return next(ctx, method, req)
		}
	})
}

type formKey struct{}
