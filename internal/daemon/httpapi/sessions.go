package httpapi

import (
	"net/http"

	"callgate"
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
	return answer(w, openedSession(s))
}

func (a *api) session(r *http.Request) (*callgate.Session, error) {
	return a.kernel.Session(r.PathValue("session"))
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

func (a *api) describe(v callgate.Visible) protocol.Tool {
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
	var c protocol.Call
	if err := read(r, &c); err != nil {
		return err
	}
	return answer(w, s.Ask(r.Context(), callgate.Ask{Name: c.Name, Args: c.Args, Parent: c.Parent, NoWait: c.NoWait}))
}

func (a *api) collect(w http.ResponseWriter, r *http.Request) error {
	result, err := a.kernel.Collect(r.Context(), r.PathValue("call"))
	if err != nil {
		return err
	}
	return answer(w, result)
}
