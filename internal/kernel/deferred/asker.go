package deferred

import (
	"slices"

	"callgate/internal/gate/approval"
	"callgate/internal/kernel/session"
	"callgate/internal/task"
	"callgate/tool"
)

// AskerOf is on whose behalf what a call of a session begins is done.
func AskerOf(s *session.Session, call tool.Call) task.Asker {
	r, limits := s.Caller().Requester(), s.Limits()
	return task.Asker{
		Principal: s.Principal(), Workspace: s.Workspace(), AppFile: s.Loaded().AppFile(),
		PID: r.PID, Human: r.Human, Started: r.Started, Root: r.Root, Sessions: slices.Clone(r.Sessions), Token: r.Token,
		Call: call.ID, Profile: limits.Profile, Only: limits.Only, Off: limits.Off,
	}
}

// RequesterOf is the process that asked, and what belongs to it.
func RequesterOf(a task.Asker) approval.Requester {
	return approval.Requester{
		PID: a.PID, Human: a.Human, Started: a.Started, Root: a.Root, Sessions: slices.Clone(a.Sessions), Token: a.Token,
	}
}
