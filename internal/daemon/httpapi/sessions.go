package httpapi

import (
	"net/http"
	"os"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel/session"
	"callgate/internal/peer"
	"callgate/internal/protocol"
	"callgate/internal/token"
)

// sessionRoutes opens and closes sessions.
type sessionRoutes struct{ *api }

func (a *sessionRoutes) routes() map[string]route.Func {
	return map[string]route.Func{
		protocol.RouteOpenSession:  a.open,
		protocol.RouteCloseSession: a.close,
	}
}

func (a *sessionRoutes) open(w http.ResponseWriter, r *http.Request) error {
	var o protocol.OpenSession
	if err := route.Read(r, &o); err != nil {
		return err
	}
	spec, err := a.sessionSpec(r, o)
	if err != nil {
		return err
	}
	s, err := a.kernel.OpenSession(r.Context(), spec)
	if err != nil {
		return err
	}
	opened := a.sessionDTO(s)
	if o.Where && s.Limits().Profile == "" { // of more than the part of an app that a profile is
		where, err := a.kernel.Apps.Where(r.Context(), s.Loaded())
		if err != nil {
			return err
		}
		opened.Where = wire.Where(where)
	}
	return route.Answer(w, opened)
}

func (a *sessionRoutes) close(w http.ResponseWriter, r *http.Request) error {
	s, err := route.Session(a.kernel, r)
	if err != nil {
		return err
	}
	if c, err := a.kernel.Conversations.Get(s.ID()); err == nil {
		c.Close()
	} else {
		s.Close()
	}
	return route.Answer(w, struct{}{})
}

// sessionSpec is the session that a client asks to open.
func (a *api) sessionSpec(r *http.Request, o protocol.OpenSession) (session.Spec, error) {
	if l, ok := route.LoginOf(r); ok {
		if o.Workspace == "" {
			o.Workspace = l.Workspace
		}
		return session.Spec{
			Workspace: o.Workspace, AppFile: o.AppFile, Agent: o.Agent, Lane: o.Lane, Profile: l.Profile,
			Requester: approval.Requester{PID: approval.Hidden, Token: l.ID, User: l.InPrincipal()},
			Again:     !l.Role.Includes(token.Operator), // setup steps are calls, and a viewer has none made
		}, route.CheckPlace(r, o.Workspace, o.AppFile)
	}
	pid, key := route.PeerPID(r), ""
	if pid == 0 {
		pid = os.Getpid()
	}
	if o.Human && peer.AtTerminal(pid) && !a.kernel.IsAskers(pid) { // no client's own terminal is a person's
		key = r.Header.Get(protocol.KeyHeader)
	}
	requester, err := a.kernel.Requester(pid, key)
	requester.Started = route.PeerOf(r).Started
	setFamily(&requester, peer.FamilyOf(pid))
	return session.Spec{
		Workspace: o.Workspace, AppFile: o.AppFile, Agent: o.Agent, Lane: o.Lane, Requester: requester,
	}, err
}

// setFamily puts what belongs to an asker beside it. The kernel finds it in what
// the operating system says of the connection, never in what the client says.
func setFamily(r *approval.Requester, f peer.Family) { r.Root, r.Sessions = f.Root, f.Sessions }

func (a *api) sessionDTO(s *session.Session) protocol.Session {
	opened := protocol.Session{
		ID: s.ID(), Workspace: s.Workspace(), Human: s.CanAnswer(), PendingConsent: a.kernel.PendingConsent(s),
		AppFiles: s.Loaded().Files.Names(s.Workspace()),
	}
	if app := s.App(); app != nil {
		opened.App, opened.AppFile, opened.Warnings = app.ID, app.Path, s.Warnings()
	}
	return opened
}
