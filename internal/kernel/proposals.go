package kernel

import (
	"cmp"
	"context"
	"os"
	"time"

	"callgate/internal/app/inforce"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/policy"
	"callgate/internal/kernel/apps"
	"callgate/internal/kernel/proposals"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/trial"
	"callgate/internal/registry"
)

// triedSince is how far back a proposed change of rules is tried on recorded calls.
const triedSince = 30 * 24 * time.Hour

// openProposals makes what keeps proposals, and registers its tools.
func openProposals(k *Kernel, cfg Config) (err error) {
	k.Proposals, err = proposals.New(proposals.Options{
		Documents: k.database.Stores().Documents, Journal: k.Journal, Authority: k.Approvals, Apps: k.Apps,
		Consents: k.consents, Scrub: k.vault.ScrubString, Asker: k.taskAsker, Tell: k.Tasks.Tell,
		UserFile: cmp.Or(cfg.UserFile, inforce.UserFile(os.Getenv)), User: k.user,
		Askers: func(who approval.Credential, asker approval.Requester) []approval.Requester {
			all := k.askers(who)
			if !asker.Human && !session.HasEnded(asker) {
				all = append(all, asker)
			}
			return all
		},
		Try: func(
			ctx context.Context, inForce *apps.Loaded, rules *policy.Rules, off map[string]bool,
		) (trial.Report, error) {
			return tryRules(ctx, k, inForce, rules, off, time.Now().Add(-triedSince))
		},
		Writer: proposals.Writer{Gate: k.gate, Tools: k.Tools, Caller: k.builder.Bare, RuleFiles: apps.RuleFiles(k.Apps)},
	})
	if err != nil {
		return err
	}
	return k.Register("proposals", k.Proposals.Tools()...)
}

// tryRules shows what rules would make of the calls that a folder's sessions made.
func tryRules(
	ctx context.Context, k *Kernel, inForce *apps.Loaded, rules *policy.Rules, off map[string]bool, since time.Time,
) (trial.Report, error) {
	snap, err := k.Tools.Snapshot(ctx)
	if err != nil {
		return trial.Report{}, err
	}
	t := trial.Trial{
		Journal: k.Journal, Artifacts: k.Artifacts, Tools: snap.View(inForce.Scope), Global: snap.View(registry.Global),
		Grants: k.Grants.Store, Rules: rules, Off: off, Folder: inForce.Workspace,
		AppFile: inForce.AppFile(), Since: since,
	}
	return t.Run(ctx)
}
