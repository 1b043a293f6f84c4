package httpapi

import (
	"net/http"
	"os"

	"callgate/internal/daemon/wire"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel/session"
	"callgate/internal/peer"
	"callgate/internal/protocol"
	"callgate/tool"
)

// sessionRoutes opens and closes sessions.
type sessionRoutes struct{ *api }

func (a *sessionRoutes) routes() map[string]route {
	return map[string]route{
		protocol.RouteOpenSession:  a.open,
		protocol.RouteCloseSession: a.close,
	}
}

func (a *sessionRoutes) open(w http.ResponseWriter, r *http.Request) error {
	var o protocol.OpenSession
	if err := read(r, &o); err != nil {
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
	if o.Where {
		where, err := a.kernel.Apps.Where(r.Context(), s.Loaded())
		if err != nil {
			return err
		}
		opened.Where = wire.Where(where)
	}
	return answer(w, opened)
}

// session returns the session that a request is made in. Only the process that
// opened it may use it: approvals count as asked by that process, and another
// process could otherwise answer its own question.
func (a *api) session(r *http.Request) (*session.Session, error) {
	s, err := a.kernel.Sessions.Get(r.PathValue("session"))
	if err != nil {
		return nil, err
	}
	return s, checkOwner(s, r)
}

func checkOwner(s *session.Session, r *http.Request) error {
	id := peerOf(r)
	if id.pid == 0 {
		id.pid = os.Getpid()
	}
	owner := s.Caller().Requester()
	same := id.pid == owner.PID && (id.started == owner.Started || id.started == 0 || owner.Started == 0)
	if id.pid == approval.Unknown || same {
		return nil
	}
	return tool.Errorf("httpapi.session", tool.Denied, "the session %s belongs to process %d", s.ID(), s.PID()).
		WithHint("open one of your own; to go on with a conversation, resume it")
}

func (a *sessionRoutes) close(w http.ResponseWriter, r *http.Request) error {
	s, err := a.session(r)
	if err != nil {
		return err
	}
	if c, err := a.kernel.Conversations.Get(s.ID()); err == nil {
		c.Close()
	} else {
		s.Close()
	}
	return answer(w, struct{}{})
}

// sessionSpec is the session that a client asks to open.
func (a *api) sessionSpec(r *http.Request, o protocol.OpenSession) (session.Spec, error) {
	pid, key := peerPID(r), ""
	if pid == 0 {
		pid = os.Getpid()
	}
	if o.Human && peer.AtTerminal(pid) && !a.kernel.IsAskers(pid) { // no client's own terminal is a person's
		key = r.Header.Get(protocol.KeyHeader)
	}
	requester, err := a.kernel.Requester(pid, key)
	requester.Started = peerOf(r).started
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
