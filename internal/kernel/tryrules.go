package kernel

import (
	"context"
	"time"

	"callgate/internal/kernel/apps"
	"callgate/internal/kernel/trial"
	"callgate/internal/registry"
)

// TryRules shows what the rules of an app file would make of the calls that a
// folder's sessions made since a time. Nothing is changed.
func (k *Kernel) TryRules(ctx context.Context, folder, file string, since time.Time) (trial.Report, error) {
	inForce, tried, err := k.Apps.Try(ctx, folder, file)
	if err != nil {
		return trial.Report{}, err
	}
	snap, err := k.Tools.Snapshot(ctx)
	if err != nil {
		return trial.Report{}, err
	}
	t := trial.Trial{
		Journal: k.Journal, Artifacts: k.Artifacts, Tools: snap.View(inForce.Scope), Global: snap.View(registry.Global),
		Grants: k.Grants.Store, Rules: tried.Rules, Off: apps.Off(tried), Folder: inForce.Workspace,
		AppFile: inForce.AppFile(), Since: since,
	}
	return t.Run(ctx)
}
