package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/protocol"
	"callgate/internal/token"
	"callgate/tool"
)

// direct is a route that stands for one of a session.
type direct struct {
	role token.Role
	path func(*http.Request) string // below that of the session, escaped
	call bool                       // the tool's name is in the path
}

func directRoutes() map[string]direct {
	at := func(path string) func(*http.Request) string { return func(*http.Request) string { return path } }
	return map[string]direct{
		protocol.RouteDirectTools:   {token.Viewer, at("/tools"), false},
		protocol.RouteDirectSearch:  {token.Viewer, at("/search"), false},
		protocol.RouteDirectFind:    {token.Viewer, at("/find"), false},
		protocol.RouteDirectSurface: {token.Viewer, at("/surface"), false},
		protocol.RouteDirectServers: {token.Viewer, at("/servers"), false},
		protocol.RouteDirectTool: {token.Viewer, func(r *http.Request) string {
			return "/tools/" + url.PathEscape(r.PathValue("name"))
		}, false},
		protocol.RouteDirectCall: {token.Operator, at("/calls"), true},
	}
}

// serveDirect serves a request in the session that belongs to it.
func (s *Server) serveDirect(d direct) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.direct(w, r, d); err != nil {
			route.Fail(w, err)
		}
	})
}

func (s *Server) direct(w http.ResponseWriter, r *http.Request, d direct) error {
	workspace := r.URL.Query().Get("workspace")
	if workspace == "" {
		workspace = s.opt.Workspace
	}
	if workspace == "" {
		return tool.Errorf("web", tool.Invalid, "no folder is named").WithHint("add ?workspace=/path/of/the/folder")
	}
	id, done, err := s.sessions.in(r, workspace)
	if err != nil {
		return err
	}
	defer done()
	at, err := url.Parse("/v1/sessions/" + url.PathEscape(id) + d.path(r))
	if err != nil {
		return &tool.Error{Op: "web", Kind: tool.Invalid, Message: "the path cannot be read", Err: err}
	}
	at.RawQuery = r.URL.RawQuery
	inside := r.Clone(r.Context())
	inside.URL = at
	if d.call {
		body, err := callOf(r)
		if err != nil {
			return err
		}
		inside.Body, inside.ContentLength = readCloser{body}, body.Size()
	}
	s.opt.API.ServeHTTP(w, inside)
	return nil
}

// callOf is the call that a request with the tool's name in its path asks for.
func callOf(r *http.Request) (*bytes.Reader, error) {
	var c protocol.DirectCall
	if r.ContentLength != 0 {
		if err := route.Read(r, &c); err != nil {
			return nil, err
		}
	}
	name := r.PathValue("name")
	if c.Name != "" && c.Name != name {
		return nil, tool.Errorf("web", tool.Invalid, "the path names the tool %s, and the body another", tool.Truncate(name)).
			WithHint("leave name out of the body")
	}
	c.Name = name
	data, err := json.Marshal(protocol.CallRequest(c))
	if err != nil {
		return nil, &tool.Error{Op: "web", Kind: tool.Invalid, Message: "the call cannot be written as JSON", Err: err}
	}
	return bytes.NewReader(data), nil
}
