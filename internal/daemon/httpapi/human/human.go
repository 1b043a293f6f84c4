// Package human serves what a human decides: approvals, questions of agents, proposals,
// lasting grants, tokens, secrets, signing keys, skills and undo.
//
// The law: it translates. Whether a request has a human's authority is judged by the room
// of the kernel that it goes to.
package human

import (
	"maps"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/kernel"
)

// Routes are the routes of what a human decides.
func Routes(k *kernel.Kernel) map[string]route.Func {
	all := map[string]route.Func{}
	for _, routes := range []map[string]route.Func{
		(&approvalRoutes{k}).routes(), (&grantRoutes{k}).routes(), (&tokenRoutes{k}).routes(),
		(&secretRoutes{k}).routes(), (&undoRoutes{k}).routes(), (&skillRoutes{k}).routes(),
		(&questionRoutes{k}).routes(), (&proposalRoutes{k}).routes(), (&keyRoutes{k}).routes(),
	} {
		maps.Copy(all, routes)
	}
	return all
}
