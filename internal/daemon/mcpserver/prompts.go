package mcpserver

import (
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/calls"
	"callgate/internal/daemon/mcpserver/items"
	"callgate/internal/daemon/mcpserver/mcpresult"
	"callgate/tool"
)

func (c *client) listPrompts(ctx context.Context, r *sdk.ListPromptsRequest) (sdk.Result, error) {
	if r.Params != nil {
		if err := checkCursor(r.Params.Cursor); err != nil {
			return nil, err
		}
	}
	s, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	list := append([]*sdk.Prompt{}, c.items.Prompts(ctx, c.scope(s))...)
	return &sdk.ListPromptsResult{Prompts: list, Cacheable: sdk.Cacheable{CacheScope: private}}, nil
}

// getPrompt has a server fill in one of its prompts.
func (c *client) getPrompt(ctx context.Context, r *sdk.GetPromptRequest) (sdk.Result, error) {
	s, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	scope := c.scope(s)
	server, own, err := c.items.Find(ctx, scope, items.Prompts, r.Params.Name)
	if err != nil {
		return nil, err
	}
	req := calls.NewRequest(r, c.level(), r.Params.InputResponses)
	out, err := c.readItem(ctx, scope, req, itemRead{
		kind: items.Prompts, server: server, args: promptArgs(own, r.Params.Arguments), state: r.Params.RequestState,
	})
	if err != nil {
		return nil, err
	}
	if out.Questions != nil {
		res := mcpresult.InputPrompt()
		res.Messages, res.InputRequests, res.RequestState = nil, out.Questions, out.State
		return &res, nil
	}
	var filled sdk.GetPromptResult
	if err := json.Unmarshal(out.Result.Data, &filled); err != nil {
		return nil, tool.Errorf("mcpserver.prompt", tool.Failed,
			"the MCP server %s answered with something that is no prompt: %w", server, err)
	}
	res := sdk.GetPromptResult{}
	if mcpresult.Stateless(req.Version) {
		res = mcpresult.CompletePrompt()
	}
	res.Description, res.Messages = filled.Description, filled.Messages
	return &res, nil
}

// promptArgs are the arguments of the tool that fills in a prompt.
func promptArgs(name string, values map[string]string) map[string]any {
	args := map[string]any{"name": name}
	if len(values) > 0 {
		args["arguments"] = values
	}
	return args
}
