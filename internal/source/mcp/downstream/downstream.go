// Package downstream is what an MCP server may want of the client on whose behalf it
// works: answers of its human, its model, its roots, and an ear for what the
// server says while it works.
//
// A server has one connection to us and many clients behind it. What it is told
// of a client, with each request, are the capabilities of the one client whose
// request it is; what it asks reaches that one and no other.
//
//lint:file-ignore SA1019 servers want models, roots and an ear for logs all the same
package downstream

import (
	"context"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/tool"
)

// Client is one client.
type Client interface {
	// Info tells what the client can do, now.
	Info() ClientInfo
	// RequestInput puts questions of a server to the client, all of them at once, and
	// returns what it said under their keys. It may leave some out.
	RequestInput(ctx context.Context, server string, asked sdk.InputRequestMap) (sdk.InputResponseMap, error)
	// Log passes on what a server tells of its work. It never waits.
	Log(*Log)
	// MissingCapability notes that a server refused a call for want of a capability of the
	// client's.
	MissingCapability(call string, refusal *jsonrpc.Error)
}

// The capabilities that are carried to servers.
const (
	Elicitation = "elicitation"
	Sampling    = "sampling"
	Roots       = "roots"
)

// ClientInfo is what a server is told of a client.
type ClientInfo struct {
	Capabilities map[string]any // as the protocol writes them, of those that are carried
	LogLevel     Level
}

// Log is one thing that a server tells of its work.
type Log = sdk.LoggingMessageParams

// Level is how much of it somebody wants to hear.
type Level = sdk.LoggingLevel

// LevelKey is where a request says that of itself.
const LevelKey = sdk.MetaKeyLogLevel

// InfoOf is what a client said of itself, without what cannot be carried through.
// A form can; a page of a server's choice cannot.
func InfoOf(c *sdk.ClientCapabilities, level Level) ClientInfo {
	a := ClientInfo{Capabilities: map[string]any{}, LogLevel: level}
	if c == nil {
		return a
	}
	if e := c.Elicitation; e != nil && (e.Form != nil || e.URL == nil) {
		a.Capabilities[Elicitation] = map[string]any{"form": struct{}{}}
	}
	if c.Sampling != nil {
		a.Capabilities[Sampling] = c.Sampling
	}
	if c.RootsV2 != nil {
		a.Capabilities[Roots] = c.RootsV2
	} else if c.Roots.ListChanged {
		a.Capabilities[Roots] = c.Roots
	}
	return a
}

// Meta is what goes with a request that is made for a guest, to a server that
// keeps nothing between requests. For nobody nothing is promised.
func Meta(g Client) sdk.Meta {
	a := InfoOf(nil, "")
	if g != nil {
		a = g.Info()
	}
	if a.Capabilities == nil {
		a.Capabilities = map[string]any{} // servers take none at all for a mistake
	}
	m := sdk.Meta{sdk.MetaKeyClientCapabilities: a.Capabilities}
	if a.LogLevel != "" {
		m[LevelKey] = a.LogLevel
	}
	return m
}

// Forward puts what a server asks to a guest. A form for nobody, or for a client
// that shows none, is declined; a model or roots that a client does not lend are
// an error, for there is no answer that would say so.
func Forward(ctx context.Context, g Client, server string, asked sdk.InputRequestMap) (sdk.InputResponseMap, error) {
	answers, rest := sdk.InputResponseMap{}, sdk.InputRequestMap{}
	can := map[string]any{}
	if g != nil {
		can = g.Info().Capabilities
	}
	for _, key := range slices.Sorted(maps.Keys(asked)) {
		switch p := asked[key].(type) {
		case *sdk.ElicitParams:
			if can[Elicitation] == nil || p.Mode != "" && p.Mode != "form" {
				answers[key] = &sdk.ElicitResult{Action: "decline"}
				continue
			}
		case *sdk.ListRootsParams:
			if can[Roots] == nil {
				return nil, lacks(server, "where its roots are", Roots)
			}
		default:
			if can[Sampling] == nil {
				return nil, lacks(server, "something of the client's model", Sampling)
			}
		}
		rest[key] = asked[key]
	}
	if len(rest) == 0 {
		return answers, nil
	}
	said, err := g.RequestInput(ctx, server, rest)
	if err != nil {
		return nil, err
	}
	for key := range rest {
		if said[key] != nil {
			answers[key] = said[key]
		}
	}
	return answers, nil
}

func lacks(server, what, capability string) error {
	return tool.Errorf("mcp.ask", tool.Unavailable, "the MCP server %s wants to know %s, and no client with the capability %q has the one call that it works on", server, what, capability).
		WithHint("call it from a client that has it")
}

// levels of logs, lowest first.
var levels = []Level{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// MinLevel returns the lower of two levels; the empty one is above all.
func MinLevel(a, b Level) Level {
	i, j := slices.Index(levels, a), slices.Index(levels, b)
	if j < 0 || i >= 0 && i <= j {
		return a
	}
	return b
}
