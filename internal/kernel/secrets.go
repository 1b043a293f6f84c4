package kernel

import (
	"context"

	"callgate/internal/kernel/secrets"
	"callgate/internal/kernel/signatures"
	"callgate/internal/kernel/usersecrets"
)

// openSecrets opens what lists and changes secrets, those of users too.
func openSecrets(ctx context.Context, k *Kernel) {
	docs := k.database.Stores().Documents
	k.Secrets = secrets.New(secrets.Options{
		Vault: k.vault, Approvals: k.Approvals, Journal: k.Journal, User: k.user,
		Users: usersecrets.New(usersecrets.Options{
			Documents: docs, Vault: k.vault, KeyFile: k.state.UsersKey(), IsShared: k.database.IsShared(),
		}),
		Keys: signatures.New(signatures.Options{
			Documents: docs, Sealer: k.vault, Approvals: k.Approvals, Askers: k.askers, Journal: k.Journal, User: k.user,
		}),
	})
	k.Secrets.Learn(ctx, k.log, false)
	if k.database.IsShared() {
		k.background.Go(func(ctx context.Context) { k.Secrets.Learn(ctx, k.log, true) })
	}
}
