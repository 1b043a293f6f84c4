package httpapi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"syscall"

	"callgate/internal/agent/surface"
	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/mcpserver"
	"callgate/internal/kernel/modules"
	"callgate/internal/kernel/session"
	"callgate/internal/nowait"
	"callgate/internal/peer"
	"callgate/internal/protocol"
	"callgate/internal/protocol/callid"
	"callgate/tool"
)

// release has a kernel end that was started for its clients, after the last of them.
func (a *api) release(w http.ResponseWriter, _ *http.Request) error {
	return route.Answer(w, a.Release != nil && a.Release())
}

// stop stops a kernel in the background.
func (a *api) stop(w http.ResponseWriter, _ *http.Request) error {
	if !a.Background {
		return tool.Errorf("httpapi", tool.Denied, "this kernel was started by hand").WithHint("end it where it was started")
	}
	if err := route.Answer(w, struct{}{}); err != nil {
		return err
	}
	a.Stop()
	return nil
}

// mcpRoutes serves MCP clients, on streams of their bridges and over HTTP.
type mcpRoutes struct {
	*api
	server *mcpserver.Server

	mu  sync.Mutex
	web map[string]http.Handler // handlers of clients over HTTP, by process and settings
}

func (a *mcpRoutes) routes() map[string]route.Func {
	return map[string]route.Func{protocol.RouteMCP: a.mcpStream, protocol.RouteMCPProfile: a.mcpStream}
}

// isKernelChild reports whether a request comes from a process that the kernel
// started. No human uses such a process, whatever its request says.
func isKernelChild(r *http.Request) bool {
	pid := route.PeerPID(r)
	return pid != 0 && peer.Lineage{}.Descends(pid, os.Getpid())
}

// mcpStream turns the connection into a stream of MCP messages, one per line.
func (a *mcpRoutes) mcpStream(w http.ResponseWriter, r *http.Request) error {
	if r.Header.Get("Upgrade") != protocol.Upgrade {
		return tool.Errorf("httpapi", tool.Invalid, "this is a stream: it takes Upgrade: %s", protocol.Upgrade)
	}
	q := r.URL.Query()
	requester, err := a.kernel.Requester(route.PeerPID(r), "")
	if err != nil {
		return err
	}
	requester.Started = route.PeerOf(r).Started
	setFamily(&requester, peer.FamilyBehind(requester.PID)) // the bridge only copies: its client asks
	builtin, err := surface.ParseBuiltin(q.Get("builtin"), modules.Names())
	if err != nil {
		return err
	}
	o := mcpserver.Options{
		Mode: q.Get("mode"), Builtin: builtin, ApprovalWait: a.ApprovalWait, NoElicitation: isKernelChild(r),
		Session: session.Spec{
			Workspace: q.Get("workspace"), AppFile: q.Get("app"), Profile: q.Get("profile"), Requester: requester,
		},
	}
	if o.Bridge, err = bridgeOf(q); err != nil {
		return err
	}
	a.MCPClients.Add(1)
	defer a.MCPClients.Add(-1)
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return &tool.Error{Op: "httpapi", Kind: tool.Internal, Message: "the connection cannot become a stream", Err: err}
	}
	const yes = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + protocol.Upgrade + "\r\n" +
		callid.Header + ": " + callid.Scheme + "\r\n\r\n"
	if _, err := io.WriteString(conn, yes); err != nil {
		_ = conn.Close()
		return nil // the client may have left
	}
	_ = a.server.Serve(a.Context, newStream(conn, buffered.Reader), o) // errors were sent to the client
	return nil
}

// bridgeOf reads how a bridge numbers the calls of its client.
func bridgeOf(q url.Values) (b mcpserver.Bridge, err error) {
	b.Key = callid.Key(q.Get("bridge"))
	if b.Key == "" {
		return b, nil
	}
	if b.Resent, err = strconv.ParseUint(q.Get("resent"), 10, 64); err != nil {
		return b, tool.Errorf("httpapi", tool.Invalid, "resent is not a number")
	}
	return b, nil
}

// mcpHTTP serves an MCP client over HTTP. A process of the user forwards its
// requests, and sends the settings for such clients in a header.
func (a *mcpRoutes) mcpHTTP(w http.ResponseWriter, r *http.Request) {
	settings := r.Header.Get(protocol.MCPClientHeader)
	var c protocol.MCPHTTPClient
	if err := json.Unmarshal([]byte(settings), &c); err != nil {
		route.Fail(w, tool.Errorf("httpapi", tool.Invalid, "this is for callgate mcp --http"))
		return
	}
	r.Header.Del(protocol.MCPClientHeader)
	r.SetPathValue("profile", r.Header.Get(protocol.MCPProfileHeader))
	r.Header.Del(protocol.MCPProfileHeader)
	from := route.PeerOf(r)
	key := fmt.Sprint(from.PID, " ", from.Started, " ", settings) // each process asks for itself
	a.mu.Lock()
	h, err := a.web[key], error(nil)
	if h == nil {
		if h, err = a.newMCPHandler(r, c); err == nil {
			a.web[key] = h
		}
	}
	a.mu.Unlock()
	if err != nil {
		route.Fail(w, err)
		return
	}
	h.ServeHTTP(w, r)
}

// newMCPHandler serves the clients of a process.
func (a *mcpRoutes) newMCPHandler(r *http.Request, c protocol.MCPHTTPClient) (http.Handler, error) {
	from := route.PeerOf(r)
	requester, err := a.kernel.Requester(from.PID, "")
	if err != nil {
		return nil, err
	}
	requester.Started = from.Started
	setFamily(&requester, peer.FamilyOf(requester.PID)) // who its clients are is not known
	builtin, err := surface.ParseBuiltin(c.Builtin, modules.Names())
	if err != nil {
		return nil, err
	}
	return a.server.Handler(a.Context, mcpserver.HTTPOptions{
		Options: mcpserver.Options{
			Mode: c.Mode, Builtin: builtin, ApprovalWait: a.ApprovalWait, NoElicitation: !c.Forms || isKernelChild(r),
			Session: session.Spec{
				Workspace: c.Workspace, AppFile: c.AppFile, Profile: c.Profile, Requester: requester,
			},
		},
		Token: c.Token, NoAuth: c.NoAuth, Hosts: c.Hosts, Origins: c.Origins,
	}), nil
}

// stream is a connection whose first bytes were read before.
type stream struct {
	net.Conn
	in io.Reader
}

func newStream(conn net.Conn, buffered *bufio.Reader) stream {
	first, _ := buffered.Peek(buffered.Buffered()) // as many as there are
	return stream{conn, io.MultiReader(bytes.NewReader(first), nowait.Reader(conn))}
}

// SyscallConn is that of the connection, where it has one.
func (s stream) SyscallConn() (syscall.RawConn, error) {
	if c, ok := s.Conn.(syscall.Conn); ok {
		return c.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

func (s stream) Read(p []byte) (int, error) { return s.in.Read(p) }
