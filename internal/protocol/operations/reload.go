package operations

import (
	"fmt"

	"callgate/internal/amount"
	"callgate/internal/visible"
)

// RouteReload has the open sessions work by their app files as they are now: the body is a Reload, the answer a
// Reloaded.
const RouteReload = "POST /v1/reload"

// Reload asks for the app files to be read again.
type Reload struct {
	DryRun bool `json:"dry_run,omitempty"` // tell what would change, and change nothing
	// Workspace is a folder whose app files are checked although no session is open in it.
	Workspace string `json:"workspace,omitempty"`
	AppFile   string `json:"app_file,omitempty"`
	By        string `json:"by,omitempty"` // who asks, for the record
}

// Reloaded is what was found in the files, and whether it counts now.
type Reloaded struct {
	Applied  bool           `json:"applied"`
	Sessions int            `json:"sessions"` // that are open, and work by the files
	Files    []string       `json:"files"`
	Changes  []ReloadChange `json:"changes"`
	Waits    []string       `json:"waits,omitempty"` // what nobody has accepted: nothing counts before somebody does
}

// ReloadChange is one thing that the files say otherwise than before.
type ReloadChange struct {
	Part  string `json:"part"` // rules, tools, servers, agents, modules, skills, profiles or runtime
	Text  string `json:"text"`
	Wider bool   `json:"wider,omitempty"` // more runs, or runs unasked
}

// Note is what the journal says of a reload that somebody asked for.
func (r Reloaded) Note(by string) string {
	note := fmt.Sprintf("app files read again by %s for %s: %s", by, amount.Of(r.Sessions, "session"),
		amount.Of(len(r.Changes), "change"))
	for _, c := range r.Changes {
		note += "; " + c.Part + ": " + visible.Text(c.Text)
		if c.Wider {
			note += " (wider)"
		}
	}
	return note
}
