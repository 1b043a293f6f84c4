package task

import "callgate/tool"

// Asker is on whose behalf a task runs, as the session that began it was. It is
// the task's owner.
type Asker struct {
	Principal tool.Principal `json:"principal,omitzero"`
	Workspace string         `json:"workspace,omitempty"`
	AppFile   string         `json:"app_file,omitempty"`
	PID       int            `json:"pid,omitempty"`
	Human     bool           `json:"human,omitempty"`    // a person sat at the session
	Root      int            `json:"root,omitempty"`     // the process whose descendants are the asker's
	Sessions  []int          `json:"sessions,omitempty"` // of the operating system, that are the asker's
	Started   uint64         `json:"started,omitempty"`  // when PID began: see approval.Requester
	Token     string         `json:"token,omitempty"`    // the token with which an MCP client came in
	Call      string         `json:"call,omitempty"`     // the call that began the task

	// Profile, Only and Off are the limits of the session: a part of its app, the
	// tools of it that it had, and the modules that it was not given.
	Profile string              `json:"profile,omitempty"`
	Only    map[string][]string `json:"only,omitzero"` // actions by module, none for all of a module's; nil: no limit
	Off     []string            `json:"off,omitempty"`
}

// OwnedBy reports whether a caller, described as the asker of a task that it would
// begin itself, owns the tasks of this asker: it is the same session. When the asker's
// session is gone, so that nobody could be, it is whoever the asker was: the same user,
// app, agent and lane, in the same workspace under the same app file, with the same
// profile and the same token. What an agent is called counts for little, because an MCP
// client chooses its name. To all others such a task is NotFound, never denied.
func (a Asker) OwnedBy(caller Asker, askerGone bool) bool {
	own, p := a.Principal, caller.Principal
	if own.User != p.User {
		return false
	}
	if own.Session != "" && own.Session == p.Session {
		return true
	}
	own.Session, own.Daemon, p.Session, p.Daemon = "", false, "", false
	return askerGone && own == p && a.Workspace == caller.Workspace && a.AppFile == caller.AppFile &&
		a.Profile == caller.Profile && a.Token == caller.Token
}
