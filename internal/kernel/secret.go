package kernel

import (
	"cmp"
	"fmt"

	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/secret"
)

// Secrets tells of the secrets that the kernel knows by name: where each is,
// and when it was set, never its value. Like what changes them, it needs the
// human's key.
func (k *Kernel) Secrets(who approval.Credential) ([]secret.Info, error) {
	if err := k.Approvals.HasHumanAuthority(who); err != nil {
		return nil, err
	}
	return k.secrets.List()
}

// SetSecret keeps a value in the store. Calls made from now on are given it,
// and everything that is written down is without it. A running MCP server has
// the old one until it is started again.
func (k *Kernel) SetSecret(who approval.Credential, name string, value []byte) error {
	if err := k.Approvals.HasHumanAuthority(who); err != nil {
		return err
	}
	if err := k.secrets.Set(name, value); err != nil {
		return err
	}
	return k.noteSecret(who, "set", name)
}

// DeleteSecret takes a value out of the store.
func (k *Kernel) DeleteSecret(who approval.Credential, name string) error {
	if err := k.Approvals.HasHumanAuthority(who); err != nil {
		return err
	}
	if err := k.secrets.Delete(name); err != nil {
		return err
	}
	return k.noteSecret(who, "deleted", name)
}

// noteSecret puts a change on record, by its name.
func (k *Kernel) noteSecret(who approval.Credential, did, name string) error {
	by := cmp.Or(who.By, k.user, "a human")
	return k.Journal.Append(journal.Record{Kind: journal.Noted, Note: fmt.Sprintf("%s %s the secret %s", k.secrets.ScrubString(by), did, name)})
}
