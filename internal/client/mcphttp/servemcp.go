// Package mcphttp serves MCP clients over HTTP in front of a kernel.
//
// The law: it forwards what clients send, and checks nothing: the kernel does. A client
// whose kernel goes away is answered all the same, and a call that was sent is in doubt.
package mcphttp

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

// Serve serves MCP clients over HTTP, on a listener, until ctx ends. It forwards
// all requests to the kernel, which checks them. While one waits, the kernel is watched.
func Serve(
	ctx context.Context, l net.Listener, c protocol.MCPHTTPClient, dial func(context.Context) (net.Conn, error),
	watched Watched,
) error {
	settings, err := json.Marshal(c)
	if err != nil {
		return &tool.Error{
			Op: "mcphttp.Serve", Kind: tool.Internal, Message: "the settings cannot be written as JSON", Err: err,
		}
	}
	proxy := httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: "callgate"})
			profile := r.In.PathValue("profile")
			r.Out.URL.Path, r.Out.URL.RawPath = protocol.MCPHTTPPath, ""
			if profile != "" || c.Profile != "" {
				r.Out.URL.Path = protocol.MCPHTTPProfilePath
			}
			r.Out.Host = r.In.Host
			r.Out.Header.Set(protocol.MCPClientHeader, string(settings)) // replaces one of the client
			r.Out.Header.Set(protocol.MCPProfileHeader, profile)
		},
		Transport:     transport(dial),
		FlushInterval: -1, // streams
	}
	mux, told := http.NewServeMux(), &once{say: watched.Say}
	serve := func(w http.ResponseWriter, r *http.Request) {
		// The kernel may begin to answer before the whole request was forwarded.
		// Without full duplex the request's body would then be closed, and with it the
		// connection to the kernel, and the answer would be cut.
		_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/1 supports it, and nothing else is served
		f, one := newForwarded(), proxy
		if r.Body != nil {
			r.Body = requestReader{r.Body, f}
		}
		one.ErrorHandler, one.ModifyResponse = f.failed, f.watch
		one.Transport = sender{one.Transport, f}
		defer watchForwarded(r.Context(), watched.Kernel, told)()
		one.ServeHTTP(w, r)
		if r.Body != nil {
			readRest(r.Body)
		}
	}
	mux.HandleFunc("/mcp", serve)
	mux.HandleFunc("/mcp/p/{profile}", serve)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return &tool.Error{Op: "mcphttp.Serve", Kind: tool.Unavailable, Message: "serving over HTTP ended", Err: err}
	}
	return nil
}
