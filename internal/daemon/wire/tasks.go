package wire

import (
	"callgate/internal/protocol"
	"callgate/internal/task"
)

// Task converts a task. The process of its asker stays behind.
func Task(t task.Task) protocol.Task {
	return protocol.Task{
		ID: t.ID, Kind: t.Kind, Label: t.Label, Parent: t.Parent, Asker: taskAsker(t.Asker), Input: t.Input, Data: t.Data,
		State: protocol.TaskState(t.State), RunAt: t.RunAt, Attempt: t.Attempt, MaxAttempts: t.MaxAttempts,
		Lease: protocol.TaskLease(t.Lease), CancelledBy: t.CancelledBy, Progress: t.Progress,
		Outcome: pointer(t.Outcome, taskOutcome), Times: protocol.TaskTimes(t.Times),
	}
}

func taskAsker(a task.Asker) protocol.TaskAsker {
	return protocol.TaskAsker{
		Principal: a.Principal, Workspace: a.Workspace, AppFile: a.AppFile, Call: a.Call,
		Profile: a.Profile, Only: a.Only, Off: a.Off,
	}
}

func taskOutcome(o task.Outcome) protocol.TaskOutcome {
	return protocol.TaskOutcome{
		State: protocol.TaskState(o.State), Head: o.Head, Own: o.Own, Summary: o.Summary, Data: o.Data,
		ArtifactRef: o.ArtifactRef, Error: o.Error,
	}
}

// TaskEntry converts a line of a task's log.
func TaskEntry(e task.Entry) protocol.TaskEntry { return protocol.TaskEntry(e) }
