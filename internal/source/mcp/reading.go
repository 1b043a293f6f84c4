package mcp

import (
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/tool"
)

// item is a resource or a prompt of the server.
type item struct {
	uri    string
	prompt string
	args   map[string]string // of the prompt
}

// method is the protocol's name for reading it.
func (i item) method() string {
	if i.prompt != "" {
		return "prompts/get"
	}
	return "resources/read"
}

// read reads a resource or a prompt, as the protocol writes it.
func (in *inputs) read(ctx context.Context, call string, grant tool.Grant, i item) (json.RawMessage, error) {
	var res any
	err := in.do(ctx, request{method: i.method(), call: call, grant: grant},
		func(ctx context.Context, session *sdk.ClientSession, r round) (reply, error) {
			if i.prompt != "" {
				got, err := session.GetPrompt(ctx, &sdk.GetPromptParams{
					Meta: r.meta, Name: i.prompt, Arguments: i.args, InputResponses: r.answers, RequestState: r.state,
				})
				if err != nil {
					return reply{}, err
				}
				res = got
				return reply{got.NeedsInput(), got.InputRequests, got.RequestState}, nil
			}
			got, err := session.ReadResource(ctx, &sdk.ReadResourceParams{
				Meta: r.meta, URI: i.uri, InputResponses: r.answers, RequestState: r.state,
			})
			if err != nil {
				return reply{}, err
			}
			res = got
			return reply{got.NeedsInput(), got.InputRequests, got.RequestState}, nil
		})
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(res)
	if err != nil {
		return nil, err
	}
	if len(raw) > maxBytes {
		return nil, tool.Errorf("mcp."+i.method(), tool.Failed, "the MCP server %s answered with %d bytes; the most is %d",
			in.cfg.Name, len(raw), maxBytes)
	}
	return raw, nil
}
