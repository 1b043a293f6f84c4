package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"callgate/internal/protocol"
	"callgate/tool"
)

// Servers lists the MCP servers of the session's app.
func (s *Session) Servers(ctx context.Context) ([]protocol.Server, error) {
	var list []protocol.Server
	return list, s.client.get(ctx, s.path("/servers"), nil, &list)
}

func (s *Session) server(name, rest string) string {
	return s.path("/servers/" + url.PathEscape(name) + rest)
}

// Refresh lists the tools of a server anew. It starts the server if necessary.
func (s *Session) Refresh(ctx context.Context, server string) (protocol.ServerStatus, error) {
	var st protocol.ServerStatus
	return st, s.client.do(ctx, http.MethodPost, s.server(server, "/refresh"), nil, nil, &st)
}

// Restart stops a server and starts it again.
func (s *Session) Restart(ctx context.Context, server string) (protocol.ServerStatus, error) {
	var st protocol.ServerStatus
	return st, s.client.do(ctx, http.MethodPost, s.server(server, "/restart"), nil, nil, &st)
}

// Trust sends a human's decision on a server. It needs the human's key.
func (s *Session) Trust(ctx context.Context, server string, t protocol.Trust) error {
	return s.client.do(ctx, http.MethodPost, s.server(server, "/trust"), nil, t, nil)
}

// Logs returns the last lines that a server wrote.
func (s *Session) Logs(ctx context.Context, server string, n string) ([]protocol.ServerLogLine, error) {
	var lines []protocol.ServerLogLine
	return lines, s.client.get(ctx, s.server(server, "/logs"), url.Values{"n": {n}}, &lines)
}

// ServerItems lists the resources, templates or prompts of a server.
func (s *Session) ServerItems(ctx context.Context, server, kind string) ([]json.RawMessage, error) {
	var list []json.RawMessage
	return list, s.client.do(ctx, http.MethodGet, s.server(server, "/items/"+kind), nil, nil, &list)
}

// ServerItem reads a resource or a prompt.
func (s *Session) ServerItem(ctx context.Context, server, kind string, o protocol.ServerItem) (json.RawMessage, error) {
	var found json.RawMessage
	return found, s.client.do(ctx, http.MethodPost, s.server(server, "/items/"+kind), nil, o, &found)
}

// Login has a human log in to a remote server. open shows the page, and ask asks the human about those that take part,
// where the kernel wants to know: without a yes, the kernel's error is the end.
func (s *Session) Login(
	ctx context.Context, server, by string, open func(protocol.Login), ask func(question string) (bool, error),
) error {
	var begin protocol.BeginLogin
	for {
		last, err := s.login(ctx, server, begin, open)
		if err != nil || last.Error == nil {
			return err
		}
		if last.Ask == "" || begin.Accept == last.Accept {
			return last.Error
		}
		yes, err := ask(last.Ask)
		switch {
		case err != nil:
			return err
		case !yes:
			return tool.Errorf("client.Login", tool.Denied, "the login to %s was not made: you did not accept where it goes",
				tool.Truncate(server))
		}
		begin = protocol.BeginLogin{Accept: last.Accept, By: by}
	}
}

// login begins a login, and returns the last line of the answer.
func (s *Session) login(
	ctx context.Context, server string, begin protocol.BeginLogin, open func(protocol.Login),
) (last protocol.Login, err error) {
	resp, err := s.client.send(ctx, http.MethodPost, s.server(server, "/login"), nil, begin)
	if err != nil {
		return last, err
	}
	defer resp.Body.Close()
	for lines := json.NewDecoder(resp.Body); ; {
		var l protocol.Login
		switch err := lines.Decode(&l); {
		case err != nil:
			return l, &tool.Error{
				Op: "client.Login", Kind: tool.Unavailable, Message: "the kernel's answer broke off", Err: err,
			}
		case l.Error != nil, l.Done:
			return l, nil
		default:
			open(l)
		}
	}
}
