package client

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"callgate/internal/protocol"
	"callgate/tool"
)

// Stop asks a kernel that was started for its clients to end.
func (c *Client) Stop(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/v1/stop", nil, nil, nil)
}

// Stream is a stream of MCP messages to a kernel, one a line.
type Stream struct {
	net.Conn
	in *bufio.Reader
}

// Read returns what the kernel says.
func (s *Stream) Read(p []byte) (int, error) { return s.in.Read(p) }

// CloseWrite says that no more will come.
func (s *Stream) CloseWrite() error {
	if half, ok := s.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return s.Close()
}

// Bridge makes a connection to a kernel a stream for an MCP client.
func Bridge(ctx context.Context, conn net.Conn, g protocol.MCPClient) (*Stream, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	query := url.Values{"workspace": {g.Workspace}, "app": {g.AppFile}, "mode": {g.Mode}}
	_, err := fmt.Fprintf(conn, "POST /v1/mcp?%s HTTP/1.1\r\nHost: callgate\r\nConnection: Upgrade\r\nUpgrade: %s\r\nContent-Length: 0\r\n\r\n", query.Encode(), protocol.Upgrade)
	if err != nil {
		return nil, unreachable(ctx, err)
	}
	in := bufio.NewReaderSize(conn, 64<<10)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return nil, unreachable(ctx, err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		defer resp.Body.Close()
		return nil, failure(resp)
	}
	if !stop() {
		return nil, &tool.Error{Op: "client.Bridge", Kind: tool.Cancelled, Message: "cancelled", Err: context.Cause(ctx)}
	}
	return &Stream{conn, in}, nil
}
