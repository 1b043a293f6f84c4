// Package downstream describes the client on whose behalf an MCP server works,
// as the server sees it: it may ask the client's human and model, list its
// roots, and send it logs.
//
// Many clients share one connection to a server. With each request the server
// learns the capabilities of the one client that makes it, and what the server
// asks reaches that client and no other.
//
//lint:file-ignore SA1019 servers still use models, roots and logs
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
	// Info returns what the client can do now.
	Info() ClientInfo
	// RequestInput puts the questions of a server to the client, all at once, and
	// returns its answers under the same keys. It may leave some out.
	RequestInput(ctx context.Context, server string, asked sdk.InputRequestMap) (sdk.InputResponseMap, error)
	// Log passes on what a server reports of its work. It never blocks.
	Log(*Log)
	// MissingCapability notes that a server refused a call because the client
	// lacks a capability.
	MissingCapability(call string, refusal *jsonrpc.Error)
}

// The capabilities that servers learn of.
const (
	Elicitation = "elicitation"
	Sampling    = "sampling"
	Roots       = "roots"
)

// ClientInfo is what a server learns of a client.
type ClientInfo struct {
	Capabilities map[string]any // as the protocol writes them
	LogLevel     Level
}

// Log is one message of a server about its work.
type Log = sdk.LoggingMessageParams

// Level is the severity of a Log.
type Level = sdk.LoggingLevel

// LevelKey is the key of a request's metadata under which it says from which
// level on the client wants logs.
const LevelKey = sdk.MetaKeyLogLevel

// InfoOf returns what servers learn of a client with these capabilities. Of the
// kinds of elicitation only forms are passed on: a server may not show a page of
// its choice.
func InfoOf(c *sdk.ClientCapabilities, level Level) ClientInfo {
	info := ClientInfo{Capabilities: map[string]any{}, LogLevel: level}
	if c == nil {
		return info
	}
	if e := c.Elicitation; e != nil && (e.Form != nil || e.URL == nil) {
		info.Capabilities[Elicitation] = map[string]any{"form": struct{}{}}
	}
	if c.Sampling != nil {
		info.Capabilities[Sampling] = c.Sampling
	}
	if c.RootsV2 != nil {
		info.Capabilities[Roots] = c.RootsV2
	} else if c.Roots.ListChanged {
		info.Capabilities[Roots] = c.Roots
	}
	return info
}

// Meta is the metadata of a request that is made for a client, to a server that
// keeps nothing between requests. Without a client, no capability is announced.
func Meta(c Client) sdk.Meta {
	info := InfoOf(nil, "")
	if c != nil {
		info = c.Info()
	}
	if info.Capabilities == nil {
		info.Capabilities = map[string]any{} // servers reject a request without the key
	}
	m := sdk.Meta{sdk.MetaKeyClientCapabilities: info.Capabilities}
	if info.LogLevel != "" {
		m[LevelKey] = info.LogLevel
	}
	return m
}

// Forward puts a server's questions to a client. A form is declined when there
// is no client, or the client shows no forms. A question for the client's model
// or roots fails when the client has none, since no answer could say so.
func Forward(ctx context.Context, c Client, server string, asked sdk.InputRequestMap) (sdk.InputResponseMap, error) {
	answers, rest := sdk.InputResponseMap{}, sdk.InputRequestMap{}
	can := map[string]any{}
	if c != nil {
		can = c.Info().Capabilities
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
				return nil, missing(server, "where its roots are", Roots)
			}
		default:
			if can[Sampling] == nil {
				return nil, missing(server, "something of the client's model", Sampling)
			}
		}
		rest[key] = asked[key]
	}
	if len(rest) == 0 {
		return answers, nil
	}
	given, err := c.RequestInput(ctx, server, rest)
	if err != nil {
		return nil, err
	}
	for key := range rest {
		if given[key] != nil {
			answers[key] = given[key]
		}
	}
	return answers, nil
}

func missing(server, what, capability string) error {
	return tool.Errorf("mcp.ask", tool.Unavailable,
		"the MCP server %s wants to know %s, and no client with the capability %q has the one call that it works on",
		server, what, capability).WithHint("call it from a client that has it")
}

// levels are the levels of logs, lowest first.
var levels = []Level{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// MinLevel returns the lower of two levels; the empty level is above all.
func MinLevel(a, b Level) Level {
	i, j := slices.Index(levels, a), slices.Index(levels, b)
	if j < 0 || i >= 0 && i <= j {
		return a
	}
	return b
}
