package kernel

import (
	"context"
	"errors"
	"time"

	"callgate/internal/artifact"
)

// Prune drops the journal's epochs and the tasks that ended before a time, the
// artifacts older than that which nothing names any more, what is kept of files for an
// undo of calls from before that, and what such calls taught the search.
func (k *Kernel) Prune(ctx context.Context, before time.Time) (records uint64, artifacts artifact.Usage, err error) {
	pruned, err := k.Journal.Prune(ctx, before)
	if err != nil {
		return 0, artifacts, err
	}
	for _, p := range pruned {
		records += p.LastSeq - p.FirstSeq + 1
	}
	if _, err := k.database.Stores().Queue.Prune(ctx, before); err != nil {
		return records, artifacts, err
	}
	if artifacts, err = deleteUnused(ctx, k, before); err != nil {
		return records, artifacts, err
	}
	return records, artifacts, forgetBefore(ctx, k, before)
}

// forgetBefore removes what is kept of files for an undo, and what searches taught, before a time.
func forgetBefore(ctx context.Context, k *Kernel, before time.Time) error {
	_, err := k.images.Prune(ctx, before)
	return errors.Join(err, k.indexes.Learned.Prune(ctx, before))
}

// deleteUnused removes the artifacts from before a time that the journal does not name.
func deleteUnused(ctx context.Context, k *Kernel, before time.Time) (removed artifact.Usage, err error) {
	live := map[string]bool{}
	for ref, err := range k.Journal.Refs(ctx) {
		if err != nil {
			return removed, err
		}
		live[ref] = true
	}
	return k.Artifacts.DeleteUnused(ctx, func(ref string) bool { return live[ref] }, before)
}
