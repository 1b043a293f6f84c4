package mcpserver

import (
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/mcpresult"
	"callgate/tool"
)

func (g *client) listPrompts(ctx context.Context, r *sdk.ListPromptsRequest) (sdk.Result, error) {
	if r.Params != nil {
		if err := wholeList(r.Params.Cursor); err != nil {
			return nil, err
		}
	}
	s, err := g.open(ctx)
	if err != nil {
		return nil, err
	}
	list := append([]*sdk.Prompt{}, g.prompts(ctx, s)...)
	return &sdk.ListPromptsResult{Prompts: list, Cacheable: sdk.Cacheable{CacheScope: private}}, nil
}

// getPrompt fills in a prompt of the server that its name tells.
func (g *client) getPrompt(ctx context.Context, r *sdk.GetPromptRequest) (sdk.Result, error) {
	s, err := g.open(ctx)
	if err != nil {
		return nil, err
	}
	server, own, err := g.find(ctx, s, prompts, r.Params.Name)
	if err != nil {
		return nil, err
	}
	v := newClientRequest(g, r, r.Params.InputResponses)
	raw, left, err := g.read(ctx, s, server, prompts, promptArgs(own, r.Params.Arguments), r.Params.RequestState, v)
	if err != nil {
		return nil, err
	}
	if left.asked != nil {
		answer := mcpresult.InputPrompt()
		answer.Messages, answer.InputRequests, answer.RequestState = nil, left.asked, left.state
		return &answer, nil
	}
	var res sdk.GetPromptResult
	if err := json.Unmarshal(raw, &res); err != nil {
		return nil, tool.Errorf("mcpserver.prompt", tool.Failed, "the MCP server %s answered with something that is no prompt: %w", server, err)
	}
	answer := sdk.GetPromptResult{}
	if stateless(v.version) {
		answer = mcpresult.CompletePrompt()
	}
	answer.Description, answer.Messages = res.Description, res.Messages
	return &answer, nil
}

// promptArgs are the arguments of the tool that fills in a prompt.
func promptArgs(name string, values map[string]string) map[string]any {
	args := map[string]any{"name": name}
	if len(values) > 0 {
		args["arguments"] = values
	}
	return args
}
