// Package secrets lists and changes the kernel's secrets, and those of its users.
//
// The law: who does it has a human's authority, or is the user whose they are; each change is on record by its name;
// and nothing returns a value.
package secrets

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel/signatures"
	"callgate/internal/kernel/usersecrets"
	"callgate/internal/secret"
	"callgate/internal/secret/scope"
	"callgate/tool"
)

// Secrets lists and changes secrets. Make it with New.
type Secrets struct {
	Keys *signatures.Keys // to sign with, and those whose signatures count

	vault     *secret.Vault
	users     *usersecrets.Store
	approvals *approval.Queue
	journal   *journal.Journal
	user      string
}

// Scoped names a secret, and whose it is. User is empty for the kernel's own.
type Scoped struct {
	scope.Ref
	User string
}

// Info is what may be known of a secret.
type Info struct {
	secret.Info
	Scoped `json:"-"`
}

// Options is what Secrets needs of the kernel.
type Options struct {
	Keys      *signatures.Keys
	Vault     *secret.Vault
	Users     *usersecrets.Store
	Approvals *approval.Queue
	Journal   *journal.Journal
	User      string // the kernel's own
}

// New returns the secrets, and has the vault give users theirs.
func New(o Options) *Secrets {
	o.Vault.ServeUsers(o.Users)
	return &Secrets{
		Keys: o.Keys, vault: o.Vault, users: o.Users, approvals: o.Approvals, journal: o.Journal, user: o.User,
	}
}

// learnEvery is how often a node looks for secrets that were set at others: what it has not read it cannot mask.
const learnEvery = 2 * time.Second

// Learn reads the secrets of users, so that they are masked before anybody asks for one. At a node among others it is
// called in the background too, with again: it does so again and again, until its context ends.
func (s *Secrets) Learn(ctx context.Context, log *slog.Logger, again bool) {
	tick := time.NewTicker(learnEvery)
	defer tick.Stop()
	for {
		anew, err := s.users.Refresh(ctx)
		if err != nil && ctx.Err() == nil {
			log.Warn("the secrets of users cannot be read now", "error", err)
		}
		if anew > 0 {
			log.Info("secrets of users were sealed anew with the first key that is placed here", "secrets", anew)
		}
		if !again {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// List describes the secrets that the kernel knows by name: where each is, whose, and when it was set.
func (s *Secrets) List(ctx context.Context, who approval.Credential) ([]Info, error) {
	if err := s.approvals.HasHumanAuthority(who); err != nil {
		return nil, err
	}
	stored, err := s.vault.List()
	if err != nil {
		return nil, err
	}
	list := make([]Info, len(stored))
	for i, one := range stored {
		list[i].Info = one
	}
	own, err := s.ListOf(ctx, "")
	return append(list, own...), err
}

// ListOf describes the secrets that a user has of their own; for an empty name, those of all users.
func (s *Secrets) ListOf(ctx context.Context, user string) ([]Info, error) {
	found, err := s.users.List(ctx, user)
	var list []Info
	for _, one := range found {
		ref, err := scope.New("", one.App, one.User, one.Name.Name)
		if err != nil {
			continue // a document that was changed
		}
		list = append(list, Info{
			secret.Info{Name: ref.Name, Source: secret.FromStore, Set: one.Set}, Scoped{ref, one.User},
		})
	}
	return list, err
}

// Scrub takes secrets out of what is about to be shown.
func (s *Secrets) Scrub(data []byte) []byte { return s.vault.Scrub(data) }

// Set stores a value of the kernel's.
func (s *Secrets) Set(who approval.Credential, name string, value []byte) error {
	return s.SetScoped(context.Background(), who, Scoped{Ref: scope.Parse(name)}, value)
}

// SetScoped stores a value. Calls made from now on get it, and everything that is
// written is without it. A running MCP server has the old value until it is
// started again.
func (s *Secrets) SetScoped(ctx context.Context, who approval.Credential, name Scoped, value []byte) error {
	if err := s.mayChange(who, name); err != nil {
		return err
	}
	var err error
	if name.User == "" {
		err = s.vault.Set(name.Stored(), value)
	} else {
		err = s.users.Set(ctx, usersecrets.Name{User: name.User, App: name.App, Name: name.Name}, value)
	}
	if err != nil {
		return err
	}
	return s.record(who, "set", name)
}

// Delete deletes a value of the kernel's.
func (s *Secrets) Delete(who approval.Credential, name string) error {
	return s.DeleteScoped(context.Background(), who, Scoped{Ref: scope.Parse(name)})
}

// DeleteScoped deletes a value.
func (s *Secrets) DeleteScoped(ctx context.Context, who approval.Credential, name Scoped) error {
	if err := s.mayChange(who, name); err != nil {
		return err
	}
	var err error
	if name.User == "" {
		err = s.vault.Delete(name.Stored())
	} else {
		err = s.users.Delete(ctx, usersecrets.Name{User: name.User, App: name.App, Name: name.Name})
	}
	if err != nil {
		return err
	}
	return s.record(who, "deleted", name)
}

// mayChange returns why a secret may not be changed now.
func (s *Secrets) mayChange(who approval.Credential, name Scoped) error {
	if err := s.approvals.HasHumanAuthority(who); err != nil {
		return err
	}
	if name.Stored() == secret.PlacedVariable && name.User == "" {
		return tool.Errorf("secrets", tool.Invalid, "%s is no secret of tools", name.Name).
			WithHint("it is a variable of the kernel's environment, or a file: see the guide about secrets")
	}
	return s.journal.Held() // it could not be put on record
}

// record puts a change on record, by the secret's name.
func (s *Secrets) record(who approval.Credential, did string, name Scoped) error {
	by := cmp.Or(who.By, s.user, "a human")
	note := fmt.Sprintf("%s %s the secret %s", s.vault.ScrubString(by), did, name.Stored())
	if name.User != "" {
		note = fmt.Sprintf("%s %s the secret %s of the user %s", s.vault.ScrubString(by), did, name.Name, name.User)
		if name.App != "" {
			note += ", for the app " + name.App
		}
	}
	return s.journal.Append(journal.Record{Kind: journal.Noted, Note: note})
}
