package mcpserver

import (
	"context"
	"encoding/json"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp"
	"callgate/tool"
)

// between separates a server's name from that of its prompt.
const between = "__"

func (g *guest) listPrompts(ctx context.Context, r *sdk.ListPromptsRequest) (sdk.Result, error) {
	if r.Params != nil {
		if err := wholeList(r.Params.Cursor); err != nil {
			return nil, err
		}
	}
	s, err := g.open(ctx)
	if err != nil {
		return nil, err
	}
	list := []*sdk.Prompt{}
	for _, o := range offers(ctx, g, s, prompts, (*mcp.Server).ListPrompts) {
		var one sdk.Prompt
		if json.Unmarshal(o.raw, &one) == nil && one.Name != "" {
			one.Name = o.server + between + one.Name
			list = append(list, &one)
		}
	}
	return &sdk.ListPromptsResult{Prompts: list, Cacheable: sdk.Cacheable{CacheScope: private}}, nil
}

// getPrompt fills in a prompt of the server that its name begins with.
func (g *guest) getPrompt(ctx context.Context, r *sdk.GetPromptRequest) (sdk.Result, error) {
	s, err := g.open(ctx)
	if err != nil {
		return nil, err
	}
	known, err := s.Servers(ctx)
	if err != nil {
		return nil, err
	}
	for _, one := range known {
		name, ok := strings.CutPrefix(r.Params.Name, one.Name+between)
		if !ok || name == "" || !one.Accepted || !s.MayRead(one.Module, prompts.action()) {
			continue
		}
		server, err := s.Server(one.Name)
		if err != nil {
			return nil, err
		}
		raw, err := server.GetPrompt(ctx, name, r.Params.Arguments)
		if err != nil {
			return nil, err
		}
		var res sdk.GetPromptResult
		if err := json.Unmarshal(raw, &res); err != nil {
			return nil, tool.Errorf("mcpserver.prompt", tool.Failed, "the MCP server %s answered with something that is no prompt: %w", one.Name, err)
		}
		answer := sdk.GetPromptResult{}
		if stateless(r.ProtocolVersion()) {
			answer = completePrompt
		}
		answer.Description, answer.Messages = res.Description, res.Messages
		return &answer, nil
	}
	return nil, tool.Errorf("mcpserver.prompt", tool.NotFound, "there is no prompt %q", tool.Clip(r.Params.Name)).WithHint("list the prompts to see which there are")
}
