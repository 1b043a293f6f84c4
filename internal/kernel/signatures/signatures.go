// Package signatures keeps whose signatures count, the user's own keys to sign with, and what was
// accepted last of what is signed.
//
// # Law
//
// A person trusts a key, makes one and has it sign, as they would approve a call: at a terminal that
// is not of whoever asks. No app, no tool and no token of a role does. A secret key is sealed in the
// kernel's store and never leaves it: the kernel signs.
//
// What must be signed is checked over the bytes that were loaded, never over a file that is read
// again. It is refused where it is not signed by a trusted key, was changed since, is the signed
// content of another file, or is older than what was accepted before of that tool or in that file,
// whatever version it says that it is. That holds for a file of the same name in another folder too,
// unless just that stood there before: two versions may stand beside each other, and none comes back.
// A refusal of something that was accepted before says how it differs from that.
package signatures

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"callgate/internal/document"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/signing"
	"callgate/tool"
)

// MaxKeys is how many keys a user trusts at most, and how many of their own they have.
const MaxKeys = 100

// The collections.
const (
	trusted  = "signing/trusted"
	own      = "signing/own"
	accepted = "signing/accepted"
)

// Sealer seals what is kept.
type Sealer interface {
	Seal(name string, plain []byte) ([]byte, error)
	Unseal(name string, sealed []byte) ([]byte, error)
}

// Options is what Keys needs of the kernel.
type Options struct {
	Documents document.Store
	Sealer    Sealer
	Approvals *approval.Queue
	Askers    func(approval.Credential) []approval.Requester
	Journal   *journal.Journal
	User      string
}

// Keys are the keys of a user.
type Keys struct{ opt Options }

// New makes the keys of a kernel.
func New(o Options) *Keys { return &Keys{o} }

// Info is what is known of a key.
type Info struct {
	Name    string    `json:"name"`
	Key     string    `json:"key"` // the public one
	Trusted bool      `json:"trusted"`
	Own     bool      `json:"own"` // the kernel signs with it
	Since   time.Time `json:"since"`
}

// kept is a key as it is stored.
type kept struct {
	Key    string    `json:"key"`
	By     string    `json:"by,omitempty"`
	Since  time.Time `json:"since"`
	Sealed []byte    `json:"sealed,omitempty"` // the secret one
}

var keyName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// checkName reports a name that no key may have.
func checkName(name string) error {
	if !keyName.MatchString(name) {
		return tool.Errorf("signatures", tool.Invalid, "%q cannot be the name of a key", tool.Truncate(name)).
			WithHint("use letters, digits, dots, dashes and underscores, such as acme")
	}
	return nil
}

// List returns the keys, by name.
func (k *Keys) List(ctx context.Context) ([]Info, error) {
	all := map[string]*Info{}
	for _, collection := range []string{trusted, own} {
		docs, err := k.opt.Documents.List(ctx, collection, "", "", MaxKeys)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			var in kept
			if err := json.Unmarshal(d.Data, &in); err != nil {
				return nil, tool.Errorf("signatures.List", tool.Internal, "the key %s is damaged: %w", d.Key, err)
			}
			id := d.Key + " " + in.Key
			if all[id] == nil {
				all[id] = &Info{Name: d.Key, Key: in.Key, Since: in.Since}
			}
			all[id].Trusted = all[id].Trusted || collection == trusted
			all[id].Own = all[id].Own || collection == own
		}
	}
	list := []Info{}
	for _, i := range all {
		list = append(list, *i)
	}
	slices.SortFunc(list, func(a, b Info) int { return strings.Compare(a.Name+" "+a.Key, b.Name+" "+b.Key) })
	return list, nil
}

// mustBePerson reports who may not say what counts as signed. A token approves calls; what it could
// sign or trust would be loaded with no call to approve.
func (k *Keys) mustBePerson(who approval.Credential) error {
	if who.Token != "" {
		return tool.Errorf("signatures", tool.Denied, "a token neither trusts keys nor signs").
			WithHint("a human does it at a terminal, without CALLGATE_TOKEN")
	}
	return k.opt.Approvals.HasPersonAuthority(who, k.opt.Askers(who))
}

// Trust takes a person's word that what a key signs counts.
func (k *Keys) Trust(ctx context.Context, who approval.Credential, name, text string) (Info, error) {
	if err := k.mustBePerson(who); err != nil {
		return Info{}, err
	}
	key, err := signing.ParseKey(text)
	if err != nil {
		return Info{}, err
	}
	in := kept{Key: key.String(), By: cmp.Or(who.By, k.opt.User), Since: time.Now().UTC().Truncate(time.Second)}
	if err := k.add(ctx, trusted, name, in); err != nil {
		return Info{}, err
	}
	return Info{Name: name, Key: in.Key, Trusted: true, Since: in.Since}, k.record(who, "trusts", name, key)
}

// Create makes a key to sign with. Nothing that it signs counts before somebody trusts it.
func (k *Keys) Create(ctx context.Context, who approval.Credential, name string) (Info, error) {
	if err := k.mustBePerson(who); err != nil {
		return Info{}, err
	}
	if err := checkName(name); err != nil {
		return Info{}, err
	}
	secret, err := signing.NewSecret()
	if err != nil {
		return Info{}, err
	}
	bare, err := secret.Bare()
	if err != nil {
		return Info{}, err
	}
	sealed, err := k.opt.Sealer.Seal(sealName(name), bare)
	if err != nil {
		return Info{}, err
	}
	in := kept{Key: secret.Key().String(), Sealed: sealed, Since: time.Now().UTC().Truncate(time.Second)}
	if err := k.add(ctx, own, name, in); err != nil {
		return Info{}, err
	}
	return Info{Name: name, Key: in.Key, Own: true, Since: in.Since}, k.record(who, "made", name, secret.Key())
}

func sealName(name string) string { return "signing key " + name }

// add keeps a new key. A name that is taken is a Conflict.
func (k *Keys) add(ctx context.Context, collection, name string, in kept) error {
	const op = "signatures.Add"
	if err := checkName(name); err != nil {
		return err
	}
	there, err := k.opt.Documents.List(ctx, collection, "", "", MaxKeys)
	if err != nil {
		return err
	}
	if len(there) >= MaxKeys {
		return tool.Errorf(op, tool.Invalid, "there are already %d keys", MaxKeys).
			WithHint("remove one: callgate keys remove NAME")
	}
	data, err := json.Marshal(in)
	if err != nil {
		return err
	}
	_, err = k.opt.Documents.Write(ctx, document.Change{Collection: collection, Key: name, Data: data})
	if tool.KindOf(err) == tool.Conflict {
		return tool.Errorf(op, tool.Conflict, "there is already a key named %s", name).
			WithHint("give this one another name, or remove that one: callgate keys remove %s", name)
	}
	return err
}

// Remove ends the trust in a key, and removes the user's own key of that name.
func (k *Keys) Remove(ctx context.Context, who approval.Credential, name string) error {
	if err := k.opt.Approvals.HasHumanAuthority(who); err != nil {
		return err
	}
	var changes []document.Change
	for _, collection := range []string{trusted, own} {
		if d, err := k.opt.Documents.Get(ctx, collection, name); err == nil {
			changes = append(changes, document.Change{Collection: collection, Key: name, If: d.Version})
		} else if tool.KindOf(err) != tool.NotFound && tool.KindOf(err) != tool.Invalid {
			return err
		}
	}
	if len(changes) == 0 {
		return tool.Errorf("signatures.Remove", tool.NotFound, "there is no key named %q", tool.Truncate(name)).
			WithHint("see which there are: callgate keys list")
	}
	if _, err := k.opt.Documents.Write(ctx, changes...); err != nil {
		return err
	}
	by := cmp.Or(who.By, k.opt.User, "a human")
	return k.opt.Journal.Append(journal.Record{Kind: journal.Noted, Note: by + " removed the signing key " + name})
}

// Sign signs bytes with one of the user's own keys; name "": the only one.
func (k *Keys) Sign(
	ctx context.Context, who approval.Credential, name string, data []byte, c signing.Comment,
) ([]byte, error) {
	const op = "signatures.Sign"
	if err := k.mustBePerson(who); err != nil {
		return nil, err
	}
	docs, err := k.opt.Documents.List(ctx, own, "", "", MaxKeys)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(docs, func(d document.Document) bool { return d.Key == name })
	switch {
	case name == "" && len(docs) == 1:
		i = 0
	case len(docs) == 0:
		return nil, tool.Errorf(op, tool.NotFound, "there is no key to sign with").
			WithHint("make one: callgate keys new NAME")
	case i < 0:
		return nil, tool.Errorf(op, tool.NotFound, "there is no key %q to sign with", tool.Truncate(name)).
			WithHint("see which there are with callgate keys list, and name one with --key")
	}
	var in kept
	if err := json.Unmarshal(docs[i].Data, &in); err != nil {
		return nil, tool.Errorf(op, tool.Internal, "the key %s is damaged: %w", docs[i].Key, err)
	}
	bare, err := k.opt.Sealer.Unseal(sealName(docs[i].Key), in.Sealed)
	if err != nil {
		return nil, err
	}
	secret, err := signing.ParseSecret(bare, "")
	if err != nil {
		return nil, err
	}
	if c.Time.IsZero() {
		c.Time = time.Now()
	}
	return secret.Sign(data, c)
}

// record puts a change on record.
func (k *Keys) record(who approval.Credential, did, name string, key signing.Key) error {
	by := cmp.Or(who.By, k.opt.User, "a human")
	return k.opt.Journal.Append(journal.Record{
		Kind: journal.Noted, Note: fmt.Sprintf("%s %s the signing key %s (%s)", by, did, name, key.ID()),
	})
}

// Trusted returns the keys whose signatures count.
func (k *Keys) Trusted(ctx context.Context) ([]signing.Key, error) {
	all, err := k.List(ctx)
	if err != nil {
		return nil, err
	}
	var keys []signing.Key
	for _, i := range all {
		if key, err := signing.ParseKey(i.Key); err == nil && i.Trusted {
			keys = append(keys, key)
		}
	}
	return keys, nil
}
