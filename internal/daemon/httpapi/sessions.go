package httpapi

import (
	"net/http"
	"os"

	"callgate/internal/gate/approval"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/toolview"
	"callgate/internal/protocol"
	"callgate/tool"
)

func (a *api) open(w http.ResponseWriter, r *http.Request) error {
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
	return answer(w, a.sessionDTO(s))
}

// session returns the session that a request is made in. Only the process that
// opened it may use it: what is asked in it counts as asked by that process, and
// another process could answer its own question.
func (a *api) session(r *http.Request) (*session.Session, error) {
	s, err := a.kernel.Sessions.Get(r.PathValue("session"))
	if err != nil {
		return nil, err
	}
	return s, checkOwner(s, r)
}

func checkOwner(s *session.Session, r *http.Request) error {
	pid := peerPID(r)
	if pid == 0 {
		pid = os.Getpid()
	}
	if pid == approval.Unknown || pid == s.PID() {
		return nil
	}
	return tool.Errorf("httpapi.session", tool.Denied, "the session %s belongs to process %d", s.ID(), s.PID()).
		WithHint("open one of your own; to go on with a conversation, resume it")
}

func (a *api) close(w http.ResponseWriter, r *http.Request) error {
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

func (a *api) tools(w http.ResponseWriter, r *http.Request) error {
	s, err := a.session(r)
	if err != nil {
		return err
	}
	visible, err := s.View().List(r.Context())
	if err != nil {
		return err
	}
	list := make([]protocol.Tool, len(visible))
	for i, v := range visible {
		list[i] = a.describe(v)
		list[i].Input, list[i].Output = nil, nil
	}
	return answer(w, list)
}

func (a *api) tool(w http.ResponseWriter, r *http.Request) error {
	s, err := a.session(r)
	if err != nil {
		return err
	}
	v, err := s.View().Tool(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	return answer(w, a.describe(v))
}

func (a *api) describe(v toolview.Tool) protocol.Tool {
	t := protocol.Tool{
		Spec: v.Spec, ID: v.ID, Wire: tool.WireName(v.ID.Dotted()),
		Risk: v.Runtime.Risk, SideEffect: v.Runtime.SideEffect, Idempotent: v.Runtime.Idempotent,
		Policy: string(v.Decision.Verdict), Reason: v.Decision.Reason,
	}
	t.Name = v.ID.Dotted()
	if s, err := a.schemas.Get(v.Spec.Input); err == nil {
		t.Signature = s.Signature()
	}
	return t
}

func (a *api) call(w http.ResponseWriter, r *http.Request) error {
	s, err := a.session(r)
	if err != nil {
		return err
	}
	var c protocol.CallRequest
	if err := read(r, &c); err != nil {
		return err
	}
	return answer(w, s.Call(r.Context(), session.CallRequest{Name: c.Name, Args: c.Args, Parent: c.Parent, NoWait: c.NoWait}))
}

func (a *api) collect(w http.ResponseWriter, r *http.Request) error {
	result, err := a.kernel.Collect(r.Context(), r.PathValue("call"))
	if err != nil {
		return err
	}
	return answer(w, result)
}
