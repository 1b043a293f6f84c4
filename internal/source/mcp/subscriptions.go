package mcp

import (
	"cmp"
	"context"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp/connector"
	"callgate/internal/source/mcp/dial"
	"callgate/internal/source/mcp/subscription"
	"callgate/tool"
)

// unsubscribeTimeout is how long a server may take to end a subscription.
const unsubscribeTimeout = 5 * time.Second

// subscriptions is which of the server's resources somebody watches. The server
// is asked once for each; a server that was started again is asked again.
type subscriptions struct {
	*identity
	sender     *sender
	connector  *connector.Connector[*connection]
	background func(func())
	table      subscription.Table
}

// add calls changed whenever a resource changes, until stop is called.
func (s *subscriptions) add(ctx context.Context, uri string, changed func()) (stop func(), err error) {
	subscribe := func(ctx context.Context) error {
		var unsupported error
		err := s.sender.do(ctx, request{method: "resources/subscribe"},
			func(ctx context.Context, c *dial.Conn, _ string) error {
				if !supportsSubscribe(c.Session) {
					unsupported = tool.Errorf("mcp.subscribe", tool.Invalid,
						"the MCP server %s does not tell of changes", s.cfg.Name).
						WithHint("read the resource again when it matters")
					return nil
				}
				return c.Session.Subscribe(ctx, &sdk.SubscribeParams{URI: uri})
			})
		return cmp.Or(err, unsupported)
	}
	remove, err := s.table.Add(ctx, uri, changed, subscribe, func() { s.unsubscribe(uri) })
	if err != nil {
		return nil, err
	}
	return func() { s.background(remove) }, nil
}

// unsubscribe ends a subscription at a server that runs.
func (s *subscriptions) unsubscribe(uri string) {
	c := s.connector.Open()
	if c == nil {
		return
	}
	ctx, cancel := context.WithTimeout(c.Context(), unsubscribeTimeout)
	defer cancel()
	err := c.Session.Unsubscribe(ctx, &sdk.UnsubscribeParams{URI: uri})
	if err != nil && c.Context().Err() == nil {
		s.warn("its subscription could not be ended for "+tool.Truncate(uri), err)
	}
}

// renew subscribes on a new connection to what is watched.
func (s *subscriptions) renew(c *connection) {
	for _, uri := range s.table.URIs() {
		if !supportsSubscribe(c.Session) {
			return
		}
		ctx, cancel := context.WithTimeout(c.Context(), s.cfg.CallTimeout)
		err := c.Session.Subscribe(ctx, &sdk.SubscribeParams{URI: uri})
		cancel()
		if err != nil {
			s.warn("it no longer tells of changes of "+tool.Truncate(uri), err)
			continue
		}
		s.table.Notify(uri)
	}
}

// supportsSubscribe reports whether a server tells of changed resources.
func supportsSubscribe(session *sdk.ClientSession) bool {
	caps := session.InitializeResult().Capabilities
	return caps != nil && caps.Resources != nil && caps.Resources.Subscribe
}
