package kernel

import (
	"context"
	"time"

	"callgate/internal/kernel/apps"
	"callgate/internal/kernel/trial"
)

// TryRules shows what the rules of an app file would make of the calls that a
// folder's sessions made since a time. Nothing is changed.
func (k *Kernel) TryRules(ctx context.Context, folder, file string, since time.Time) (trial.Report, error) {
	inForce, tried, err := k.Apps.Try(ctx, folder, file)
	if err != nil {
		return trial.Report{}, err
	}
	return tryRules(ctx, k, inForce, tried.Rules, apps.Off(tried), since)
}
