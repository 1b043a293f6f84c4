package httpapi

import (
	"net/http"
	"os"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel/permissions"
	"callgate/internal/peer"
	"callgate/internal/protocol"
)

func (a *conversationRoutes) permissions(w http.ResponseWriter, r *http.Request) error {
	c, err := a.kernel.Conversations.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	return route.Answer(w, wire.Permissions(a.kernel.Permissions.Of(c.ID())))
}

// setPermissions changes what a conversation may do without asking.
func (a *conversationRoutes) setPermissions(w http.ResponseWriter, r *http.Request) error {
	c, err := a.conversation(r)
	if err != nil {
		return err
	}
	var in protocol.SetPermissions
	if err := route.Read(r, &in); err != nil {
		return err
	}
	who, err := route.Owner(a.kernel, r, in.By)
	if err != nil {
		return err
	}
	asker := a.withPerson(r, c.Session().Caller().Requester())
	change := permissions.Change{Mode: string(in.Mode), Allow: in.Allow, Unattended: in.Unattended}
	if in.Form != "" {
		if change.Form, err = formHuman(r, in.Form); err != nil {
			return err
		}
	}
	state, err := a.kernel.Permissions.Set(r.Context(), who, c.Session(), asker, change)
	if err != nil {
		return err
	}
	return route.Answer(w, wire.Permissions(state))
}

// withPerson is an asker whose process a person started at a terminal, though its
// session was opened for a program, as with standard input from a pipe: the same
// process could have opened one that answers for itself.
func (a *api) withPerson(r *http.Request, asker approval.Requester) approval.Requester {
	pid := route.PeerPID(r)
	if pid == 0 {
		pid = os.Getpid()
	}
	if pid == asker.PID && peer.AtTerminal(pid) && !a.kernel.IsAskers(pid) {
		asker.Human = true
	}
	return asker
}
