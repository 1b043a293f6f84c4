package mcpserver

import (
	"context"
	"encoding/json"

	"callgate/internal/daemon/mcpserver/calls"
	"callgate/internal/daemon/mcpserver/items"
	"callgate/tool"
)

// itemRead is a read of an item of a server.
type itemRead struct {
	kind   items.Kind
	server string
	args   any    // of the tool that reads it
	state  string // the requestState of a request that resumes the read
}

// readItem reads an item of a server, or resumes a suspended read. The outcome
// has either a result, which is a success, or questions for the client.
func (c *client) readItem(
	ctx context.Context, scope items.Scope, req *calls.Request, r itemRead,
) (calls.Outcome, error) {
	server, err := scope.Servers.Get(r.server)
	if err != nil {
		return calls.Outcome{}, err
	}
	args, err := json.Marshal(r.args)
	if err != nil {
		return calls.Outcome{}, err
	}
	name := server.Namespace() + "." + r.kind.Action()
	out, err := c.calls.Do(ctx, req, calls.Call{
		Session: scope.Session, Name: name, Args: args, Whole: true, State: r.state,
		Key: func() string { return "reading " + name + "\x00" + calls.Canonical(args) },
	})
	switch {
	case err != nil:
		return calls.Outcome{}, err
	case out.Questions != nil:
		return out, nil
	case out.Waiting != nil:
		return calls.Outcome{}, tool.Errorf("mcpserver.read", tool.Denied, "%s", out.Waiting.Summary).
			WithHint("ask for it again once it is approved")
	case out.Result.Status != tool.Success && !scope.MayRead(ctx, server.Namespace(), r.kind):
		return calls.Outcome{}, tool.Errorf("mcpserver.read", tool.NotFound,
			"the MCP server %s offers no %s here", r.server, r.kind.Action())
	case out.Result.Status != tool.Success:
		return calls.Outcome{}, out.Result.Err()
	}
	return out, nil
}
