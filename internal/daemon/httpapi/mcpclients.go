package httpapi

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"

	"callgate/internal/daemon/mcpserver"
	"callgate/internal/daemon/peer"
	"callgate/internal/kernel/session"
	"callgate/internal/protocol"
	"callgate/tool"
)

// stop ends a kernel that was started for its clients.
func (a *api) stop(w http.ResponseWriter, _ *http.Request) error {
	if !a.Background {
		return tool.Errorf("httpapi", tool.Denied, "this kernel was started by hand").WithHint("end it where it was started")
	}
	if err := answer(w, struct{}{}); err != nil {
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
	web map[string]http.Handler // for clients over HTTP, by how they are let in
}

func (a *mcpRoutes) routes() map[string]route {
	return map[string]route{protocol.RouteMCP: a.mcpStream}
}

// isKernelChild reports whether a request comes from a process that the kernel
// started: it has no human at it, whatever it says.
func isKernelChild(r *http.Request) bool {
	pid := peerPID(r)
	return pid != 0 && peer.Lineage{}.Descends(pid, os.Getpid())
}

// mcpStream turns the connection into a stream of MCP messages, one a line.
func (a *mcpRoutes) mcpStream(w http.ResponseWriter, r *http.Request) error {
	if r.Header.Get("Upgrade") != protocol.Upgrade {
		return tool.Errorf("httpapi", tool.Invalid, "this is a stream: it takes Upgrade: %s", protocol.Upgrade)
	}
	q := r.URL.Query()
	requester, err := a.kernel.Requester(peerPID(r), "")
	if err != nil {
		return err
	}
	o := mcpserver.Options{
		Mode: q.Get("mode"), ApprovalWait: a.ApprovalWait, NoElicitation: isKernelChild(r),
		Session: session.Spec{Workspace: q.Get("workspace"), AppFile: q.Get("app"), Requester: requester},
	}
	a.MCPClients.Add(1)
	defer a.MCPClients.Add(-1)
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return &tool.Error{Op: "httpapi", Kind: tool.Internal, Message: "the connection cannot become a stream", Err: err}
	}
	const yes = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + protocol.Upgrade + "\r\n\r\n"
	if _, err := io.WriteString(conn, yes); err != nil {
		_ = conn.Close()
		return nil // a client that has gone is no failure of ours
	}
	_ = a.server.Serve(a.Context, stream{conn, buffered.Reader}, o) // what goes wrong is told to the client
	return nil
}

// mcpHTTP serves an MCP client that came over HTTP to a process of the user's,
// which says how such clients are let in.
func (a *mcpRoutes) mcpHTTP(w http.ResponseWriter, r *http.Request) {
	how := r.Header.Get(protocol.MCPClientHeader)
	var g protocol.MCPHTTPClient
	if err := json.Unmarshal([]byte(how), &g); err != nil {
		fail(w, tool.Errorf("httpapi", tool.Invalid, "this is for callgate mcp --http"))
		return
	}
	r.Header.Del(protocol.MCPClientHeader)
	requester, err := a.kernel.Requester(peerPID(r), "")
	if err != nil {
		fail(w, err)
		return
	}
	how = strconv.Itoa(peerPID(r)) + " " + how // another process is another asker
	a.mu.Lock()
	h := a.web[how]
	if h == nil {
		h = a.server.Handler(a.Context, mcpserver.HTTPOptions{
			Options: mcpserver.Options{
				Mode: g.Mode, ApprovalWait: a.ApprovalWait, NoElicitation: !g.Forms || isKernelChild(r),
				Session: session.Spec{Workspace: g.Workspace, AppFile: g.AppFile, Requester: requester},
			},
			Token: g.Token, NoAuth: g.NoAuth, Hosts: g.Hosts, Origins: g.Origins,
		})
		a.web[how] = h
	}
	a.mu.Unlock()
	h.ServeHTTP(w, r)
}

// stream is a connection of which a part was read already.
type stream struct {
	net.Conn
	in *bufio.Reader
}

func (s stream) Read(p []byte) (int, error) { return s.in.Read(p) }
