package adoption

import (
	"cmp"
	"context"
	"os"

	"callgate/internal/kernel/node"
	"callgate/internal/kernel/shares"
	"callgate/tool"
)

// Queue is of what waits for a human.
type Queue interface {
	Resume(ctx context.Context, ids ...string) error
}

// Parts are the parts of a kernel that go on with what has moved, as they do after a restart.
type Parts struct {
	Approvals Queue
	Questions Queue
	Answered  interface {
		Resume(ctx context.Context) error
	}
	// Proposals end what was under way: the writing of a file that a human accepted, and telling of an answer.
	Proposals interface {
		Start(ctx context.Context) error
	}
	Tasks         interface{ Look() }
	Conversations interface{ Wake(id string) }
}

// PartsOf are the parts of a kernel.
func PartsOf(
	approvals, questions Queue, answered interface {
		Resume(ctx context.Context) error
	}, proposals interface {
		Start(ctx context.Context) error
	}, tasks interface{ Look() },
	conversations interface{ Wake(id string) },
) Parts {
	return Parts{approvals, questions, answered, proposals, tasks, conversations}
}

// goOn goes on with what has moved.
func (a *Adopter) goOn(ctx context.Context, moved Moved) {
	p := a.opt.Parts
	resumed := []error{
		p.Answered.Resume(ctx), p.Approvals.Resume(ctx, moved.Approvals...),
		p.Questions.Resume(ctx, moved.Documents["questions.open"]...),
	}
	if len(moved.Documents["proposals"]) > 0 { // their files have moved before
		resumed = append(resumed, p.Proposals.Start(ctx))
	}
	for _, err := range resumed {
		if err != nil {
			a.opt.Log.Error("not everything that another node left goes on now; it does at the next start", "error", err)
		}
	}
	p.Tasks.Look()
	for _, id := range moved.Conversations {
		p.Conversations.Wake(id)
	}
}

// OpenShares opens the folders that a node shares with others: those that are declared, or that its environment names.
func OpenShares(n *node.Node, declared string) error {
	list, err := shares.Parse(cmp.Or(declared, os.Getenv(shares.Variable)))
	switch {
	case err == nil && !n.IsShared() && declared != "":
		return tool.Errorf("kernel.Open", tool.Invalid, "this kernel shares its database with no other, and so no folder").
			WithHint("name the PostgreSQL database that the nodes share with --database, or leave --shared away")
	case err != nil || !n.IsShared():
		return err
	}
	n.Folders, err = shares.Open(list, n.Workspaces(), WorkedIn(n.Stores().Tasks))
	return err
}

// Start tells which folders a node shares with others, and reads what those left of whom it has adopted. What it
// returns has it go on with what nodes leave from now on, unless its kernel ends with its command.
func Start(ctx context.Context, shortLived bool, o Options) (adopt func(), err error) {
	if !o.Node.IsShared() {
		return func() {}, nil
	}
	if err := o.Node.Share(ctx, o.Node.Folders.List()); err != nil {
		return nil, err
	}
	o.Shares = o.Node.Folders
	a, err := New(ctx, o)
	return func() {
		if shortLived {
			return
		}
		o.Go(func(ctx context.Context) { o.Shares.Keep(ctx, a.every) })
		o.Go(a.Run)
	}, err
}
