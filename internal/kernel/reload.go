package kernel

import (
	"cmp"
	"context"
	"fmt"

	"callgate/internal/journal"
	"callgate/internal/kernel/apps"
	"callgate/internal/protocol/operations"
	"callgate/internal/visible"
	"callgate/tool"
)

// Reload has the open sessions work by their app files as they are now, or says why not: see session.Reload. What it
// did, and that it refused, is on record.
func Reload(ctx context.Context, k *Kernel, in operations.Reload) (operations.Reloaded, error) {
	var also *apps.Loaded
	if in.Workspace != "" {
		place, err := k.Apps.Place(in.Workspace, in.AppFile)
		if err != nil {
			return operations.Reloaded{}, err
		}
		also = place
	}
	found, err := k.builder.Reload(ctx, in.DryRun, also)
	out := operations.Reloaded{
		Applied: err == nil && !in.DryRun, Sessions: found.Sessions, Files: append([]string{}, found.Files...),
		Changes: []operations.ReloadChange{}, Waits: found.Waits,
	}
	for _, c := range found.Changes {
		out.Changes = append(out.Changes, operations.ReloadChange(c))
	}
	if in.DryRun {
		return out, err
	}
	by := visible.Text(cmp.Or(in.By, k.user))
	if err != nil {
		note := tool.TruncateTo(fmt.Sprintf("reload asked for by %s changed nothing: %s", by, sentence(err)), 4000)
		_ = k.Journal.Append(journal.Record{Kind: journal.Noted, Note: k.vault.ScrubString(note)})
		return out, err
	}
	note := out.Note(by)
	note = k.vault.ScrubString(tool.TruncateTo(note, 8000))
	return out, k.Journal.Append(journal.Record{Kind: journal.Noted, Note: note})
}
