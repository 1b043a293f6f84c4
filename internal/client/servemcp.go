package client

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"callgate/internal/protocol"
	"callgate/tool"
)

// ServeMCP serves MCP clients that come over HTTP, on a listener, until ctx ends.
// It lets everything through to the kernel, which says who may come in.
func ServeMCP(ctx context.Context, l net.Listener, g protocol.MCPHTTPClient, dial func(context.Context) (net.Conn, error)) error {
	who, err := json.Marshal(g)
	if err != nil {
		return &tool.Error{Op: "client.Front", Kind: tool.Internal, Message: "the settings cannot be written as JSON", Err: err}
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: "callgate"})
			r.Out.URL.Path, r.Out.URL.RawPath = protocol.MCPHTTPPath, ""
			r.Out.Host = r.In.Host
			r.Out.Header.Set(protocol.MCPClientHeader, string(who)) // whatever stood there
		},
		Transport: &http.Transport{
			DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
			DisableCompression: true, MaxIdleConnsPerHost: 64,
		},
		FlushInterval: -1, // streams
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "the kernel cannot be reached: "+err.Error(), http.StatusBadGateway)
		},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		// The kernel may begin to answer before the end of what is passed on to it
		// was seen here. Without this the request would then be closed as it is
		// read, the connection to the kernel with it, and the answer cut.
		_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/1 knows it, and nothing else is served
		proxy.ServeHTTP(w, r)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return &tool.Error{Op: "client.Front", Kind: tool.Unavailable, Message: "serving over HTTP ended", Err: err}
	}
	return nil
}
