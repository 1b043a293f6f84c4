package httpapi

import (
	"net/http"
	"os"

	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/protocol"
	"callgate/tool"
)

func (a *api) open(w http.ResponseWriter, r *http.Request) error {
	var o protocol.OpenSession
	if err := read(r, &o); err != nil {
		return err
	}
	s, err := a.kernel.OpenSession(r.Context(), sessionConfig(r, o))
	if err != nil {
		return err
	}
	return answer(w, sessionDTO(s))
}

// session is the session that a request is made in. Only the process that
// opened it may: what is asked in it counts as asked by that process, and
// another could answer its own question.
func (a *api) session(r *http.Request) (*kernel.Session, error) {
	s, err := a.kernel.Session(r.PathValue("session"))
	if err != nil {
		return nil, err
	}
	return s, checkOwner(s, r)
}

func checkOwner(s *kernel.Session, r *http.Request) error {
	pid := peerPID(r)
	if pid == 0 {
		pid = os.Getpid()
	}
	if pid == approval.Unknown || pid == s.Process() {
		return nil
	}
	return tool.Errorf("httpapi.session", tool.Denied, "the session %s belongs to process %d", s.ID, s.Process()).WithHint("open one of your own; a conversation is taken up by resuming it")
}

func (a *api) close(w http.ResponseWriter, r *http.Request) error {
	s, err := a.session(r)
	if err != nil {
		return err
	}
	if talk, err := a.kernel.Conversation(s.ID); err == nil {
		talk.Close()
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
	visible, err := s.Tools(r.Context())
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
	v, err := s.Tool(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	return answer(w, a.describe(v))
}

func (a *api) describe(v kernel.Visible) protocol.Tool {
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
	return answer(w, s.Ask(r.Context(), kernel.Ask{Name: c.Name, Args: c.Args, Parent: c.Parent, NoWait: c.NoWait}))
}

func (a *api) collect(w http.ResponseWriter, r *http.Request) error {
	result, err := a.kernel.Collect(r.Context(), r.PathValue("call"))
	if err != nil {
		return err
	}
	return answer(w, result)
}
