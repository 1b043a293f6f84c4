package daemon_test

import (
	"testing"

	"callgate/internal/protocol"
)

// A client whose kernel goes away opens its conversation at the next one with the mode
// that it had, and with nobody there who answers, if nobody is.
func TestPermissionsOutliveTheirKernel(t *testing.T) {
	t.Parallel()
	yes := true
	for _, set := range []protocol.SetPermissions{
		{Mode: protocol.ModePlan, Unattended: &yes}, {Unattended: &yes}, {Mode: protocol.ModePlan},
	} {
		state := t.TempDir()
		folder := agentFolder(t, "default_policy: auto")
		d := serveAccepted(t, state, folder)
		talk := open(t, dial(state, ""), folder, "", false)
		before, err := talk.SetPermissions(t.Context(), set)
		ok(t, err)
		ok(t, d.Stop())
		d = serveAccepted(t, state, folder)
		opened, err := talk.Reconnect(t.Context())
		ok(t, err)
		if after := opened.Permissions; after.Mode != before.Mode || after.Unattended != before.Unattended {
			t.Errorf("%+v, and at the next kernel %+v", before, after)
		}
		ok(t, d.Stop())
	}
}
