// Package usersecrets keeps the secrets that users have of their own.
//
// # Law
//
// A secret is one user's, in every app or in one. Whoever asks for it names all of that, and is given the value of
// exactly that or an error: nothing is looked for elsewhere, least of all among what the kernel itself has.
//
// Each is a document that is sealed under its user, its app and its name, so that none can take the place of another.
// Kernels that share a database have them in common: one that was set, changed or removed at another counts here a
// second later, and where that cannot be found out nothing is given. There they are sealed with a key that is placed at
// each node; with none, or another, the error says so. A kernel that is alone seals with the key of its own store. What
// is sealed otherwise than with the placed key, and can be opened, is sealed anew with it.
//
// Every value is known to what masks texts before it is given to anybody, and stays known.
package usersecrets

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/document"
	"callgate/internal/secret"
	"callgate/internal/user"
	"callgate/tool"
)

// The bounds of what is kept.
const (
	MaxValue  = 8 << 10 // bytes of one value
	maxOfUser = 100
	maxOfAll  = 1000
)

const (
	collection = document.SharedSecrets
	folder     = "of"      // begins the keys of secrets
	changes    = "changes" // the key of the document that every change changes
	checkTime  = time.Second
	waitTime   = 10 * time.Second // for the database, where nobody else says how long
)

// Name says which secret is meant. App is empty for every app.
type Name struct {
	User string
	App  string
	Name string
}

func (n Name) key() string { return document.Join(folder, n.User, n.App, n.Name) }

// Info is what may be known of a secret.
type Info struct {
	Name
	Set time.Time
}

// kept is a secret as it is stored.
type kept struct {
	Name   string    `json:"name"`
	User   string    `json:"user"`
	App    string    `json:"app,omitempty"`
	Set    time.Time `json:"set"`
	Sealed []byte    `json:"sealed"`
}

// one is a secret as it was read. Its value is empty where err says why.
type one struct {
	kept
	value string
	err   error
}

// Options is what the secrets of users need of the kernel.
type Options struct {
	Documents document.Store
	Vault     *secret.Vault
	KeyFile   string // where an operator places the key
	IsShared  bool   // other kernels use the same database
}

// Store is the secrets of users. Make it with New.
type Store struct {
	opt   Options
	seals sealer

	mu      sync.Mutex
	known   map[string]one    // by key
	anew    map[string]string // the placed key with which each was sealed anew here, by its own key
	version int64             // of the last change that was read
	hasRead bool
	until   time.Time // when it is compared again
}

// New returns the secrets of users in a store of documents.
func New(o Options) *Store {
	return &Store{opt: o, anew: map[string]string{}, seals: sealer{vault: o.Vault, file: o.KeyFile, isShared: o.IsShared}}
}

// Value returns the value of a user's own secret.
func (s *Store) Value(of, app, name string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), waitTime)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.read(ctx, false); err != nil {
		return "", err
	}
	n := Name{of, app, name}
	found, ok := s.known[n.key()]
	if !ok || found.err != nil { // it may have been set, or its key placed, a moment ago
		if err := s.read(ctx, true); err != nil {
			return "", err
		}
		found, ok = s.known[n.key()]
	}
	if !ok {
		return "", missing(n)
	}
	return found.value, found.err
}

func missing(n Name) error {
	what, flags, query := "", "--scope per_user", ""
	if n.App != "" {
		what, flags, query = " for the app "+n.App, "--scope per_app_per_user --app "+n.App, "?app="+n.App
	}
	return tool.Errorf("usersecrets", tool.Unavailable, "%s has no secret %s of their own%s", n.User,
		tool.Truncate(n.Name), what).
		WithHint("they set it with PUT /v1/users/me/secrets/%s%s; or who owns the kernel does: callgate secrets set %s %s "+
			"--user %s", tool.Truncate(n.Name), query, tool.Truncate(n.Name), flags, n.User)
}

// List returns the secrets of a user; of all, for an empty name.
func (s *Store) List(ctx context.Context, of string) ([]Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.read(ctx, true); err != nil {
		return nil, err
	}
	var list []Info
	for _, k := range s.known {
		if of == "" || k.User == of {
			list = append(list, Info{k.named(), k.Set})
		}
	}
	slices.SortFunc(list, func(a, b Info) int { return strings.Compare(a.key(), b.key()) })
	return list, nil
}

func (k kept) named() Name { return Name{k.User, k.App, k.Name} }

// Set stores a value. When Set returns, the value is durable and is masked everywhere at this kernel.
func (s *Store) Set(ctx context.Context, n Name, value []byte) error {
	const op = "usersecrets.Set"
	err := user.Check(n.User)
	if err == nil {
		err = secret.CheckValue(n.Name, value)
	}
	if err == nil && len(value) > MaxValue {
		err = tool.Errorf(op, tool.Invalid, "the value of %s has %d bytes, and %d are the most for a user's own", n.Name,
			len(value), MaxValue)
	}
	if err != nil {
		return err
	}
	s.opt.Vault.Know(n.Name, string(value))
	return s.change(ctx, n, func(was *one) (json.RawMessage, error) {
		if was == nil {
			if err := s.room(n.User); err != nil {
				return nil, err
			}
		}
		sealed, err := s.seals.seal(n.key(), value, s.placedIDs(n))
		if err != nil {
			return nil, err
		}
		return json.Marshal(kept{n.Name, n.User, n.App, time.Now().UTC().Truncate(time.Second), sealed})
	})
}

// room returns why a user can have no more.
func (s *Store) room(of string) error {
	own := 0
	for _, k := range s.known {
		if k.User == of {
			own++
		}
	}
	switch {
	case own >= maxOfUser:
		return tool.Errorf("usersecrets.Set", tool.Invalid, "%s has %d secrets, and that is the most", of, own).
			WithHint("remove one that is not needed")
	case len(s.known) >= maxOfAll:
		return tool.Errorf("usersecrets.Set", tool.Invalid, "users have %d secrets, and that is the most", len(s.known))
	}
	return nil
}

// placedIDs are the names of the placed keys that the other secrets are sealed with.
func (s *Store) placedIDs(but Name) []string {
	var ids []string
	for key, k := range s.known {
		if id := secret.PlacedID(k.Sealed); id != "" && key != but.key() && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Delete removes a secret; NotFound if there is none. It needs no key.
func (s *Store) Delete(ctx context.Context, n Name) error {
	return s.change(ctx, n, func(was *one) (json.RawMessage, error) {
		if was == nil {
			return nil, tool.Errorf("usersecrets.Delete", tool.NotFound, "%s has no secret %s of their own here", n.User,
				tool.Truncate(n.Name))
		}
		return nil, nil
	})
}

// change writes a secret, or removes it where how returns nothing. Another kernel may have changed it meanwhile.
func (s *Store) change(ctx context.Context, n Name, how func(was *one) (json.RawMessage, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := document.Update(ctx, s.opt.Documents, func() ([]document.Change, error) {
		if err := s.read(ctx, true); err != nil {
			return nil, err
		}
		var was *one
		if found, ok := s.known[n.key()]; ok {
			was = &found
		}
		data, err := how(was)
		if err != nil {
			return nil, err
		}
		found, err := s.opt.Documents.Get(ctx, collection, n.key())
		if err != nil && tool.KindOf(err) != tool.NotFound {
			return nil, err
		}
		return []document.Change{
			{Collection: collection, Key: n.key(), If: found.Version, Data: data},
			{Collection: collection, Key: changes, If: s.version, Data: []byte("{}")},
		}, nil
	})
	if err != nil {
		return err
	}
	return s.read(ctx, true)
}

// Refresh reads what other kernels changed, so that it is masked here too before anybody asks for it, and seals with
// the placed key what was sealed with an earlier one, or by a kernel that was alone. It returns how many those were.
func (s *Store) Refresh(ctx context.Context) (anew int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.read(ctx, false); err != nil {
		return 0, err
	}
	return s.sealAnew(ctx)
}

// read reads the secrets if one was changed, unless that was found out a moment ago. The caller holds the lock.
func (s *Store) read(ctx context.Context, now bool) error {
	if s.hasRead && !now && time.Now().Before(s.until) {
		return nil
	}
	s.seals.look()
	began := time.Now()
	mark, err := s.opt.Documents.Get(ctx, collection, changes)
	if err != nil && tool.KindOf(err) != tool.NotFound {
		return err
	}
	if !s.hasRead || mark.Version != s.version {
		docs, err := document.ListAll(ctx, s.opt.Documents, collection, folder+"/")
		if err != nil {
			return err
		}
		s.known = make(map[string]one, len(docs))
		for _, d := range docs {
			s.known[d.Key] = opened(d)
		}
		s.version, s.hasRead = mark.Version, true
	}
	s.unseal()
	s.until = began.Add(checkTime)
	return nil
}

// errSealed is the value's error before it was unsealed.
var errSealed = tool.Errorf("usersecrets", tool.Internal, "the secret was not unsealed")

// opened reads a document.
func opened(d document.Document) one {
	k := one{err: errSealed}
	if err := json.Unmarshal(d.Data, &k.kept); err != nil || k.named().key() != d.Key {
		k.kept, k.err = kept{Name: d.Key}, tool.Errorf("usersecrets", tool.Invalid, "a user's secret was changed or cut")
	}
	return k
}

// unseal opens what is not open yet: the key may have been placed meanwhile.
func (s *Store) unseal() {
	values := map[string]string{}
	for key, k := range s.known {
		if k.err == nil || len(k.Sealed) == 0 {
			continue
		}
		plain, err := s.seals.unseal(key, k.Sealed)
		k.value, k.err = string(plain), err
		if s.known[key] = k; err == nil {
			values[k.value] = k.Name
		}
	}
	for _, text := range s.seals.keyTexts() {
		values[text] = "the key of users' secrets"
	}
	s.opt.Vault.KnowAll(values)
}
