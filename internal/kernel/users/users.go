// Package users knows the users of a kernel: those that came in with a token or a login.
//
// # Law
//
// Who was seen once stays known, because what they asked stays on record. What is kept of a user is what their token or
// login said last: names and teams, and the day they were seen last. Kernels that share a database have their users in
// common: one that was seen at another is known here a second later, and so are their teams.
package users

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"callgate/internal/document"
	"callgate/internal/quota"
	"callgate/internal/token"
	"callgate/tool"
)

// The collections: that of all kernels, and that of an earlier version, which each had for itself.
const (
	collection = document.SharedUsers
	former     = "users"
)

// User is what is known of one.
type User struct {
	token.Person
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`             // to the day
	Revoked time.Time `json:"revoked,omitzero"` // what a provider gave them until then does not count
}

// Directory is the users of a kernel. Make it with New.
type Directory struct {
	Limits *quota.Limiter // what they may use; nil: nothing is limited
	docs   document.Store

	mu    sync.Mutex
	known map[string]User
	until time.Time // when they are read again
}

// readTime is how long what was read counts: another kernel may have seen somebody meanwhile.
const readTime = time.Second

// New returns the users in a store of documents.
func New(docs document.Store) *Directory { return &Directory{docs: docs} }

// day is how old a last time may become before the next one is written.
const day = 24 * time.Hour

// Saw keeps that somebody was seen. The kernel's own user is nobody here.
func (d *Directory) Saw(ctx context.Context, p token.Person) error {
	if p.User == "" {
		return nil
	}
	now := time.Now().UTC().Truncate(day)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.read(ctx); err != nil {
		return err
	}
	was, known := d.known[p.User]
	if known && was.Last.Equal(now) && was.FullName == p.FullName && slices.Equal(was.Teams, p.Teams) {
		return nil
	}
	return d.change(ctx, p.User, func(u *User) {
		if u.Person, u.Last = p, now; u.First.IsZero() {
			u.First = now
		}
	})
}

// Revoke keeps that nothing counts any more that a provider gave a user until now.
func (d *Directory) Revoke(ctx context.Context, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.read(ctx); err != nil {
		return err
	}
	return d.change(ctx, name, func(u *User) { u.User, u.Revoked = name, time.Now().UTC().Round(0) })
}

// Revoked is until when what a provider gave a user does not count.
func (d *Directory) Revoked(ctx context.Context, name string) (time.Time, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.read(ctx)
	return d.known[name].Revoked, err
}

// change changes what is kept of a user. Another kernel may have changed it meanwhile. The caller holds the lock, and
// has read the users.
func (d *Directory) change(ctx context.Context, name string, how func(*User)) error {
	var is User
	_, err := document.Update(ctx, d.docs, func() ([]document.Change, error) {
		change := document.Change{Collection: collection, Key: name}
		is = d.known[name] // of an earlier version, perhaps
		found, err := d.docs.Get(ctx, collection, name)
		if err == nil {
			change.If = found.Version
			err = json.Unmarshal(found.Data, &is)
		} else if tool.KindOf(err) == tool.NotFound {
			err = nil
		}
		if err == nil {
			how(&is)
			change.Data, err = json.Marshal(is)
		}
		return []document.Change{change}, err
	})
	if err == nil {
		d.known[name] = is
	}
	return err
}

// List returns the users, by their names.
func (d *Directory) List(ctx context.Context) ([]User, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.read(ctx); err != nil {
		return nil, err
	}
	var list []User
	for _, u := range d.known {
		list = append(list, u)
	}
	slices.SortFunc(list, func(a, b User) int {
		if a.User < b.User {
			return -1
		}
		return 1
	})
	return list, nil
}

// Teams returns the teams of a user, by their name; none of one who is not known.
func (d *Directory) Teams(ctx context.Context, name string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.read(ctx)
	return d.known[name].Teams, err
}

// Any reports whether there are users beside the kernel's own.
func (d *Directory) Any(ctx context.Context) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.read(ctx)
	return len(d.known) > 0, err
}

// read reads the users, unless that was a moment ago. The caller holds the lock.
func (d *Directory) read(ctx context.Context) error {
	if time.Now().Before(d.until) {
		return nil
	}
	known := map[string]User{}
	for _, from := range []string{former, collection} {
		docs, err := document.ListAll(ctx, d.docs, from, "")
		if err != nil {
			return err
		}
		for _, doc := range docs {
			var u User
			if err := json.Unmarshal(doc.Data, &u); err != nil {
				return &tool.Error{
					Op: "users", Kind: tool.Internal, Message: "the user " + doc.Key + " cannot be read", Err: err,
				}
			}
			known[u.User] = u
		}
	}
	d.known, d.until = known, time.Now().Add(readTime)
	return nil
}
