package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/kernel/session"
	"callgate/internal/protocol"
	"callgate/internal/source/mcp"
	"callgate/tool"
)

// serverRoutes manages the MCP servers of a session's app.
type serverRoutes struct{ *api }

func (a *serverRoutes) routes() map[string]route.Func {
	return map[string]route.Func{
		protocol.RouteServers:     a.servers,
		protocol.RouteRefresh:     a.refresh,
		protocol.RouteRestart:     a.restart,
		protocol.RouteTrust:       a.trust,
		protocol.RouteLogin:       a.login,
		protocol.RouteLogs:        a.logs,
		protocol.RouteServerItems: a.listItems,
		protocol.RouteServerItem:  a.readItem,
	}
}

func (a *serverRoutes) servers(w http.ResponseWriter, r *http.Request) error {
	s, err := route.Session(a.kernel, r)
	if err != nil {
		return err
	}
	found, err := a.kernel.Servers.In(s.Loaded().Scope).All(r.Context())
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(found, wire.Server))
}

// server is the MCP server that a request names.
func (a *serverRoutes) server(r *http.Request) (*mcp.Server, error) {
	s, err := route.Session(a.kernel, r)
	if err != nil {
		return nil, err
	}
	return a.kernel.Servers.In(s.Loaded().Scope).Get(r.PathValue("server"))
}

func (a *serverRoutes) refresh(w http.ResponseWriter, r *http.Request) error {
	s, err := route.Session(a.kernel, r)
	if err != nil {
		return err
	}
	status, err := a.kernel.Servers.In(s.Loaded().Scope).Refresh(r.Context(), r.PathValue("server"))
	if err != nil {
		return err
	}
	return route.Answer(w, wire.ServerStatus(status))
}

func (a *serverRoutes) restart(w http.ResponseWriter, r *http.Request) error {
	server, err := a.server(r)
	if err != nil {
		return err
	}
	if err := server.Restart(r.Context()); err != nil {
		return err
	}
	return route.Answer(w, wire.ServerStatus(server.Status()))
}

func (a *serverRoutes) trust(w http.ResponseWriter, r *http.Request) error {
	s, err := route.Session(a.kernel, r)
	if err != nil {
		return err
	}
	var t protocol.Trust
	if err := route.Read(r, &t); err != nil {
		return err
	}
	who, err := route.Approver(a.kernel, r, t.By)
	if err != nil {
		return err
	}
	name := r.PathValue("server")
	t.By = who.By
	if name == protocol.AppConsent && t.Revoke { // no server has that name
		err = a.kernel.RevokeApp(who, s, t.By)
	} else if name == protocol.AppConsent {
		err = a.kernel.AcceptApp(who, s, t.Launch, t.By)
	} else if word, bad := wire.Word(t); bad != nil {
		err = bad
	} else {
		err = a.kernel.AcceptServer(who, s, name, word)
	}
	if err != nil {
		return err
	}
	return route.Answer(w, struct{}{})
}

// login has a human log in to a remote server. It sends the address of the page
// first, and the end of the login in the same answer. A person's yes to those that take part needs the same as
// consent to a server.
func (a *serverRoutes) login(w http.ResponseWriter, r *http.Request) error {
	server, err := a.server(r)
	if err != nil {
		return err
	}
	var begin protocol.BeginLogin
	if r.ContentLength != 0 {
		if err := route.Read(r, &begin); err != nil {
			return err
		}
	}
	if begin.Accept != "" {
		who, err := route.Approver(a.kernel, r, begin.By)
		if err == nil {
			err = a.kernel.AcceptLogin(who, r.PathValue("server"), begin.Accept)
		}
		if err != nil {
			return err
		}
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	send := func(l protocol.Login) error {
		if err := json.NewEncoder(w).Encode(l); err != nil {
			return err
		}
		return http.NewResponseController(w).Flush()
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(a.Context, cancel)()
	last := protocol.Login{Done: true}
	err = server.Authorize(ctx, begin.Accept, func(page string, with mcp.LoginParties) error {
		shown := protocol.LoginParties(with)
		return send(protocol.Login{URL: page, With: &shown})
	})
	if err != nil {
		last.Done = false
		if !errors.As(err, &last.Error) {
			last.Error = &tool.Error{Op: "httpapi", Kind: tool.Failed, Message: err.Error()}
		}
		var question *mcp.LoginQuestion
		if errors.As(err, &question) {
			last.Ask, last.Accept = question.Text, question.Parties.Key()
		}
	}
	_ = send(last) // the client may have left
	return nil
}

func (a *serverRoutes) logs(w http.ResponseWriter, r *http.Request) error {
	server, err := a.server(r)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(r.URL.Query().Get("n"))
	if err != nil || n <= 0 {
		n = 200
	}
	return route.Answer(w, wire.List(server.Logs(n), wire.ServerLogLine))
}

// listItems lists the resources, templates or prompts of a server.
func (a *serverRoutes) listItems(w http.ResponseWriter, r *http.Request) error {
	server, err := a.server(r)
	if err != nil {
		return err
	}
	list := map[string]func(context.Context) ([]json.RawMessage, error){
		protocol.Resources: server.ListResources,
		protocol.Templates: server.ListResourceTemplates,
		protocol.Prompts:   server.ListPrompts,
	}[r.PathValue("kind")]
	if list == nil {
		return unknownKind(r)
	}
	found, err := list(r.Context())
	if err != nil {
		return err
	}
	return route.Answer(w, append([]json.RawMessage{}, found...))
}

// readItem reads a resource or a prompt, with a call like any other.
func (a *serverRoutes) readItem(w http.ResponseWriter, r *http.Request) error {
	s, err := route.Session(a.kernel, r)
	if err != nil {
		return err
	}
	server, err := a.server(r)
	if err != nil {
		return err
	}
	var item protocol.ServerItem
	if err := route.Read(r, &item); err != nil {
		return err
	}
	kind := r.PathValue("kind")
	args := map[string]any{"uri": item.Name}
	switch kind {
	case protocol.Resources:
	case protocol.Prompts:
		args = map[string]any{"name": item.Name}
		if len(item.Args) > 0 {
			args["arguments"] = item.Args
		}
	default:
		return unknownKind(r)
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return err
	}
	result := s.Call(r.Context(), session.CallRequest{Name: server.Namespace() + "." + kind, Args: raw, Whole: true})
	if err := result.Err(); err != nil {
		return err
	}
	return route.Answer(w, result.Data)
}

func unknownKind(r *http.Request) error {
	return tool.Errorf("httpapi", tool.Invalid, "servers do not offer %q", tool.Truncate(r.PathValue("kind"))).
		WithHint("ask for resources, templates or prompts")
}
