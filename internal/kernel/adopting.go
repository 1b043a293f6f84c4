package kernel

import (
	"cmp"
	"context"
	"os"

	"callgate/internal/kernel/adoption"
	"callgate/internal/kernel/apps"
	"callgate/internal/kernel/shares"
	"callgate/tool"
)

// openShares opens the folders that this node shares with others.
func openShares(k *Kernel, cfg Config) error {
	declared, err := shares.Parse(cmp.Or(cfg.Shared, os.Getenv(shares.Variable)))
	switch shared := k.database.IsShared(); {
	case err == nil && !shared && cfg.Shared != "":
		return tool.Errorf("kernel.Open", tool.Invalid, "this kernel shares its database with no other, and so no folder").
			WithHint("name the PostgreSQL database that the nodes share with --database, or leave --shared away")
	case err != nil || !shared:
		return err
	}
	k.database.Folders, err = shares.Open(declared, k.database.Workspaces(), adoption.WorkedIn(k.database.Stores().Tasks))
	return err
}

// share tells which folders this node shares with others, and reads what those left of whom it has adopted. What it
// returns has it go on with what nodes leave from now on.
func share(ctx context.Context, k *Kernel) (adopt func(), err error) {
	if !k.database.IsShared() {
		return func() {}, nil
	}
	if err := k.database.Share(ctx, k.database.Folders.List()); err != nil {
		return nil, err
	}
	adopter, err := adoption.New(ctx, adoption.Options{
		Node: k.database, Shares: k.database.Folders, IsAbsent: apps.IsAbsent(k.Apps), TakeOver: k.gate.TakeOver,
		ReadFormers: k.gate.ReadFormers, GoOn: goOnWith(k), Journal: k.Journal, Log: k.log,
	})
	return func() {
		if k.recovery.ShortLived {
			return
		}
		k.background.Go(func(ctx context.Context) { k.database.Folders.Keep(ctx, k.database.Lasts()/5) })
		k.background.Go(adopter.Run)
	}, err
}

// goOnWith goes on with what another node left, as goOn does with what an earlier process did.
func goOnWith(k *Kernel) func(ctx context.Context, moved adoption.Moved) {
	return func(ctx context.Context, moved adoption.Moved) {
		for _, err := range []error{
			k.Answered.Resume(ctx), k.Approvals.Resume(ctx, moved.Approvals...),
			k.Questions.Resume(ctx, moved.Documents["questions.open"]...),
		} {
			if err != nil {
				k.log.Error("not everything that another node left goes on now; it does at the next start", "error", err)
			}
		}
		k.Tasks.Look()
		for _, id := range moved.Conversations {
			k.Conversations.Wake(id)
		}
	}
}
