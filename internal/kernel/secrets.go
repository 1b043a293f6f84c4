package kernel

import (
	"cmp"
	"fmt"

	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel/signatures"
	"callgate/internal/secret"
)

// Secrets lists and changes the kernel's secrets. All of that needs the human's key, and nothing returns a value.
type Secrets struct {
	Keys *signatures.Keys // to sign with, and those whose signatures count

	vault     *secret.Vault
	approvals *approval.Queue
	journal   *journal.Journal
	user      string
}

func newSecrets(k *Kernel) *Secrets {
	return &Secrets{
		vault: k.vault, approvals: k.Approvals, journal: k.Journal, user: k.user,
		Keys: signatures.New(signatures.Options{
			Documents: k.database.Stores().Documents, Sealer: k.vault, Approvals: k.Approvals, Askers: k.askers,
			Journal: k.Journal, User: k.user,
		}),
	}
}

// List describes the secrets that the kernel knows by name: where each is, and when it was set.
func (s *Secrets) List(who approval.Credential) ([]secret.Info, error) {
	if err := s.approvals.HasHumanAuthority(who); err != nil {
		return nil, err
	}
	return s.vault.List()
}

// Scrub takes secrets out of what is about to be shown.
func (s *Secrets) Scrub(data []byte) []byte { return s.vault.Scrub(data) }

// Set stores a value. Calls made from now on get it, and everything that is
// written is without it. A running MCP server has the old value until it is
// started again.
func (s *Secrets) Set(who approval.Credential, name string, value []byte) error {
	if err := s.approvals.HasHumanAuthority(who); err != nil {
		return err
	}
	if err := s.journal.Held(); err != nil {
		return err // it could not be put on record
	}
	if err := s.vault.Set(name, value); err != nil {
		return err
	}
	return s.record(who, "set", name)
}

// Delete deletes a value.
func (s *Secrets) Delete(who approval.Credential, name string) error {
	if err := s.approvals.HasHumanAuthority(who); err != nil {
		return err
	}
	if err := s.journal.Held(); err != nil {
		return err
	}
	if err := s.vault.Delete(name); err != nil {
		return err
	}
	return s.record(who, "deleted", name)
}

// record puts a change on record, by the secret's name.
func (s *Secrets) record(who approval.Credential, did, name string) error {
	by := cmp.Or(who.By, s.user, "a human")
	note := fmt.Sprintf("%s %s the secret %s", s.vault.ScrubString(by), did, name)
	return s.journal.Append(journal.Record{Kind: journal.Noted, Note: note})
}
