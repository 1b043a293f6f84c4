package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp"
	upstream "callgate/internal/source/mcp/downstream"
)

var _ mcp.Client = (*pendingCall)(nil)

// Info tells what the client of the flight can do.
func (f *pendingCall) Info() upstream.ClientInfo {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.about
}

// RequestInput carries a server's questions to the client.
func (f *pendingCall) RequestInput(ctx context.Context, server string, asked sdk.InputRequestMap) (sdk.InputResponseMap, error) {
	signed := make(sdk.InputRequestMap, len(asked))
	for key, p := range asked {
		if form, ok := p.(*sdk.ElicitParams); ok { // a human must know who asks
			by := *form
			by.Mode, by.Message = "form", "The MCP server "+server+" asks: "+form.Message
			p = &by
		}
		signed[key] = p
	}
	q := newQuestion(signed, false)
	select {
	case f.asks <- q:
	case <-f.done:
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case s := <-q.answer:
		return s.answers, s.err
	case <-f.done:
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Log passes on what a server tells of its work.
func (f *pendingCall) Log(p *upstream.Log) {
	select {
	case f.logs <- p:
	default: // the client does not keep up
	}
}

// MissingCapability notes that a server refused a call for want of a capability.
func (f *pendingCall) MissingCapability(call string, refusal *jsonrpc.Error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.missingCaps[call] = refusal
}
