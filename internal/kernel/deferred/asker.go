package deferred

import (
	"slices"

	"callgate/internal/gate/approval"
	"callgate/internal/kernel/session"
	"callgate/internal/task"
	"callgate/internal/user"
	"callgate/tool"
)

// AskerOf is on whose behalf what a call of a session begins is done.
func AskerOf(s *session.Session, call tool.Call) task.Asker {
	limits := s.Limits()
	a := askedBy(s.Caller().Requester())
	a.Principal, a.Workspace, a.AppFile, a.Call = s.Principal(), s.Workspace(), s.Loaded().AppFile(), call.ID
	a.Profile, a.Only, a.Off = limits.Profile, limits.Only, limits.Off
	return a
}

// ApprovedFor is on whose behalf a call is made that a human was asked about.
func ApprovedFor(r approval.Request) task.Asker {
	a := askedBy(r.Asker)
	a.Principal, a.Workspace, a.AppFile, a.Call = r.Call.Principal, r.Workspace, r.AppFile, r.Call.ID
	return a
}

func askedBy(r approval.Requester) task.Asker {
	return task.Asker{
		PID: r.PID, Human: r.Human, Started: r.Started, Root: r.Root, Sessions: slices.Clone(r.Sessions), Token: r.Token,
	}
}

// RequesterOf is the process that asked, and what belongs to it.
func RequesterOf(a task.Asker) approval.Requester {
	return approval.Requester{
		PID: a.PID, Human: a.Human, Started: a.Started, Root: a.Root, Sessions: slices.Clone(a.Sessions), Token: a.Token,
		User: user.Of(a.Principal.User),
	}
}
