package access

import (
	"context"

	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/protocol"
	"callgate/tool"
)

// kind is one kind of thing that somebody owns: how its owner is found by its ID and in a list, and what of it is
// metadata.
type kind[T any] struct {
	what  string // for people
	param string // of the path, that has the ID
	// owner returns whose the thing with an ID is, as principals have it.
	owner func(ctx context.Context, k *kernel.Kernel, id string) (string, error)
	// owners returns whose the things of a list are.
	owners func(ctx context.Context, k *kernel.Kernel, list []T) ([]string, error)
	// facts keeps of a thing what is no content.
	facts func(T) T
}

// said returns the owners of a list of which each thing says whose it is.
func said[T any](owner func(T) string) func(context.Context, *kernel.Kernel, []T) ([]string, error) {
	return func(_ context.Context, _ *kernel.Kernel, list []T) ([]string, error) {
		all := make([]string, len(list))
		for i, one := range list {
			all[i] = owner(one)
		}
		return all, nil
	}
}

var conversations = kind[protocol.ConversationInfo]{
	what: "conversation", param: "id",
	owner: func(ctx context.Context, k *kernel.Kernel, id string) (string, error) {
		info, err := k.Conversations.Store.Get(ctx, id)
		return info.User, err
	},
	owners: said(func(c protocol.ConversationInfo) string { return c.User }),
	facts: func(c protocol.ConversationInfo) protocol.ConversationInfo {
		c.Title = "" // the user's first words
		return c
	},
}

var approvals = kind[protocol.Approval]{
	what: "approval", param: "id",
	owner: func(ctx context.Context, k *kernel.Kernel, id string) (string, error) {
		r, err := k.Approvals.Get(ctx, id)
		return r.Call.Principal.User, err
	},
	owners: said(func(a protocol.Approval) string { return a.Call.Principal.User }),
	facts: func(a protocol.Approval) protocol.Approval {
		out := protocol.Approval{
			ID: a.ID, State: a.State, Call: callFacts(a.Call), Workspace: a.Workspace, AppFile: a.AppFile, Risk: a.Risk,
			AskedAt: a.AskedAt, Deadline: a.Deadline, Asker: a.Asker, ToolApp: a.ToolApp,
		}
		if a.Answer != nil {
			out.Answer = &protocol.ApprovalAnswer{Approve: a.Answer.Approve, By: a.Answer.By, At: a.Answer.At,
				Unasked: a.Answer.Unasked}
		}
		return out
	},
}

func callFacts(c tool.Call) tool.Call {
	return tool.Call{ID: c.ID, Parent: c.Parent, Principal: c.Principal, Name: c.Tool.Dotted(), Tool: c.Tool}
}

var questions = kind[protocol.Question]{
	what: "question", param: "id",
	owner: func(ctx context.Context, k *kernel.Kernel, id string) (string, error) {
		q, err := k.Questions.Get(ctx, id)
		return q.Principal.User, err
	},
	owners: said(func(q protocol.Question) string { return q.Principal.User }),
	facts: func(q protocol.Question) protocol.Question {
		return protocol.Question{
			ID: q.ID, State: q.State, Call: q.Call, Principal: q.Principal, Workspace: q.Workspace, AppFile: q.AppFile,
			Asker: q.Asker, AskedAt: q.AskedAt, Deadline: q.Deadline, By: q.By, At: q.At,
		}
	},
}

var tasks = kind[protocol.Task]{
	what: "task", param: "id",
	owner:  taskOwner,
	owners: said(func(t protocol.Task) string { return t.Asker.Principal.User }),
	facts: func(t protocol.Task) protocol.Task {
		out := t
		out.Label, out.Input, out.Data, out.Progress, out.Outcome = "", nil, nil, "", nil
		if t.Outcome != nil {
			out.Outcome = &protocol.TaskOutcome{State: t.Outcome.State}
		}
		return out
	},
}

func taskOwner(ctx context.Context, k *kernel.Kernel, id string) (string, error) {
	t, err := k.Tasks.Store().Get(ctx, id)
	return t.Asker.Principal.User, err
}

var deliveries = kind[protocol.Delivery]{
	what: "delivery", param: "id",
	owner: taskOwner, // a delivery is a task
	owners: func(ctx context.Context, k *kernel.Kernel, list []protocol.Delivery) ([]string, error) {
		all := make([]string, len(list))
		for i, d := range list {
			var err error
			if all[i], err = taskOwner(ctx, k, d.ID); err != nil && tool.KindOf(err) != tool.NotFound {
				return nil, err
			}
		}
		return all, nil
	},
	facts: func(d protocol.Delivery) protocol.Delivery {
		d.Title, d.Text, d.Error = "", "", ""
		return d
	},
}

var proposals = kind[protocol.Proposal]{
	what: "proposal", param: "id",
	owner: func(ctx context.Context, k *kernel.Kernel, id string) (string, error) {
		all, err := proposalOwners(ctx, k)
		if owner, ok := all[id]; ok || err != nil {
			return owner, err
		}
		return "", absent("proposal", id)
	},
	owners: func(ctx context.Context, k *kernel.Kernel, list []protocol.Proposal) ([]string, error) {
		by, err := proposalOwners(ctx, k)
		all := make([]string, len(list))
		for i, p := range list {
			all[i] = by[p.ID]
		}
		return all, err
	},
	facts: func(p protocol.Proposal) protocol.Proposal {
		return protocol.Proposal{
			ID: p.ID, Kind: p.Kind, Agent: p.Agent, Workspace: p.Workspace, AppFile: p.AppFile,
			Conversation: p.Conversation, Made: p.Made, State: p.State, By: p.By, At: p.At,
		}
	},
}

func proposalOwners(ctx context.Context, k *kernel.Kernel) (map[string]string, error) {
	list, err := k.Proposals.List(ctx, "")
	all := map[string]string{}
	for _, p := range list {
		all[p.ID] = p.Asker.Principal.User
	}
	return all, err
}

var calls = kind[struct{}]{what: "call", param: "call", owner: callOwner}

// callOwner returns who asked for a call, by its first record.
func callOwner(ctx context.Context, k *kernel.Kernel, id string) (string, error) {
	list, err := k.Journal.Read(ctx, journal.Query{Call: id, Limit: 1})
	if err != nil {
		return "", err
	}
	if len(list) == 0 || list[0].Principal == nil {
		return "", absent("call", id)
	}
	return list[0].Principal.User, nil
}

var doubts = kind[protocol.Doubt]{
	what: "doubt about the call", param: "call",
	owner:  callOwner,
	owners: said(func(d protocol.Doubt) string { return recordOwner(d.Record) }),
	facts: func(d protocol.Doubt) protocol.Doubt {
		out := protocol.Doubt{Record: recordFacts(d.Record), State: d.State, Changed: d.Changed}
		for _, a := range d.Attempts {
			out.Attempts = append(out.Attempts, protocol.DoubtAttempt{Call: a.Call, Begun: a.Begun, Ended: a.Ended})
		}
		return out
	},
}

var records = kind[protocol.Record]{what: "record", owners: said(recordOwner), facts: recordFacts}

func recordOwner(r protocol.Record) string {
	if r.Principal == nil {
		return system
	}
	return r.Principal.User
}

func recordFacts(r protocol.Record) protocol.Record {
	out := protocol.Record{
		Seq: r.Seq, Epoch: r.Epoch, Time: r.Time, Kind: r.Kind, Call: r.Call, Parent: r.Parent, Principal: r.Principal,
		Tool: r.Tool, ModelChoice: r.ModelChoice,
	}
	if r.Ask != nil {
		out.Ask = &protocol.RecordAsk{
			Verdict: r.Ask.Verdict, Error: r.Ask.Error, Approval: r.Ask.Approval, Workspace: r.Ask.Workspace,
			AppFile: r.Ask.AppFile,
		}
	}
	if r.Answer != nil {
		out.Answer = &protocol.RecordAnswer{Approval: r.Answer.Approval, Verdict: r.Answer.Verdict, By: r.Answer.By,
			Always: r.Answer.Always, Grant: r.Answer.Grant}
	}
	if r.End != nil {
		out.End = &protocol.RecordEnd{Status: r.End.Status, Error: r.End.Error, Took: r.End.Took}
		for _, a := range r.End.Attempts {
			a.Error = "" // a provider quotes what it was sent
			out.End.Attempts = append(out.End.Attempts, a)
		}
	}
	if r.Doubt != nil {
		out.Doubt = &protocol.RecordDoubt{Record: r.Doubt.Record, Begun: r.Doubt.Begun}
	}
	if r.Resolution != nil {
		out.Resolution = &protocol.RecordResolution{Happened: r.Resolution.Happened, By: r.Resolution.By}
	}
	return out
}
