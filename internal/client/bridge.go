package client

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"callgate/internal/nowait"
	"callgate/internal/protocol"
	"callgate/internal/protocol/callid"
	"callgate/tool"
)

// Stop asks a kernel in the background to stop.
func (c *Client) Stop(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/v1/stop", nil, nil, nil)
}

// Release tells a kernel that was started for its clients that this one needs it no
// more. It reports whether nobody else does: then the kernel ends.
func (c *Client) Release(ctx context.Context) (ends bool, err error) {
	err = c.do(ctx, http.MethodPost, "/v1/release", nil, nil, &ends)
	return ends, err
}

// Stream is a stream of MCP messages to and from a kernel, one per line.
type Stream struct {
	net.Conn
	in  io.Reader
	out io.Writer
	// CallIDs says which IDs the kernel gives calls for their numbers; "": it reads no numbers.
	CallIDs string
}

// Read reads messages of the kernel.
func (s *Stream) Read(p []byte) (int, error) { return s.in.Read(p) }

// Write writes a message to the kernel.
func (s *Stream) Write(p []byte) (int, error) { return s.out.Write(p) }

// CloseWrite ends the messages to the kernel.
func (s *Stream) CloseWrite() error {
	if half, ok := s.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return s.Close()
}

// Bridge turns a connection to a kernel into a stream for an MCP client.
func Bridge(ctx context.Context, conn net.Conn, c protocol.MCPClient) (*Stream, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	query := url.Values{"workspace": {c.Workspace}, "app": {c.AppFile}, "mode": {c.Mode}, "builtin": {c.Builtin}}
	if c.Key != "" {
		query.Set("bridge", string(c.Key))
		query.Set("resent", strconv.FormatUint(c.Resent, 10))
	}
	path := "/v1/mcp"
	if c.Profile != "" {
		path = protocol.MCPProfilePath
		query.Set("profile", c.Profile)
	}
	const request = "POST %s?%s HTTP/1.1\r\nHost: callgate\r\n" +
		"Connection: Upgrade\r\nUpgrade: %s\r\nContent-Length: 0\r\n\r\n"
	_, err := fmt.Fprintf(conn, request, path, query.Encode(), protocol.Upgrade)
	if err != nil {
		return nil, unreachable(ctx, err)
	}
	in := bufio.NewReaderSize(conn, 4<<10) // for the head
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
	first, _ := in.Peek(in.Buffered()) // messages that came with it
	return &Stream{
		Conn: conn, in: io.MultiReader(bytes.NewReader(first), nowait.Reader(conn)), out: nowait.Writer(conn),
		CallIDs: resp.Header.Get(callid.Header),
	}, nil
}
