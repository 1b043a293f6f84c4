package human

import (
	"net/http"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/kernel"
	"callgate/internal/kernel/skills"
	"callgate/internal/protocol"
)

// skillRoutes lists skills, and takes a human's word on them.
type skillRoutes struct{ kernel *kernel.Kernel }

func (a *skillRoutes) routes() map[string]route.Func {
	return map[string]route.Func{protocol.RouteSkills: a.list, protocol.RouteSkillTrust: a.trust}
}

func (a *skillRoutes) list(w http.ResponseWriter, r *http.Request) error {
	s, err := route.Session(a.kernel, r)
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(a.kernel.Skills.List(s), wire.Skill))
}

func (a *skillRoutes) trust(w http.ResponseWriter, r *http.Request) error {
	s, err := route.Session(a.kernel, r)
	if err != nil {
		return err
	}
	var t protocol.SkillTrust
	if err := route.Read(r, &t); err != nil {
		return err
	}
	who, err := route.Approver(a.kernel, r, t.By)
	if err != nil {
		return err
	}
	name := skills.Name{Command: r.PathValue("skill"), Source: skills.Source(t.Source)}
	if t.Revoke {
		err = a.kernel.Skills.Revoke(who, s, name, who.By)
	} else {
		err = a.kernel.Skills.Accept(who, s, name, t.Digest, who.By)
	}
	if err != nil {
		return err
	}
	return route.Answer(w, struct{}{})
}
