// Package catalogs keeps the remote catalogs of LLM-backed tools that apps name.
//
// # Law
//
// A catalog of a project's file is asked for once a human accepted where it is and whose key signs
// it; one of the user's own file needs no word. A tool that it lists is a tool of its app: one of a
// project's catalog is there once a human accepted its definition, by its digest, with the models
// that it asks. A definition that is new, or changed since, is left out until then, in open sessions
// too: signed is not accepted. Where an app requires signed tools, the key must be one that the user
// trusts, for no file says whom to trust.
//
// Nothing counts that is older than what was accepted before from that address by that key, whatever
// becomes of the copy on disk.
//
// Apps that say the same of a catalog share it, and one goroutine asks for it: when it is first used,
// unless the copy on disk is new enough, and then after each refresh and up to a tenth of it more;
// after a failure sooner. So nobody asks twice at once, and who opens a session waits for the first
// answer, for a short while. A catalog that fails keeps what it listed, says so in a warning, and
// takes nothing from another. It is closed when no app names it any more, or a human took back their
// word.
package catalogs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/control"
	"callgate/internal/kernel/modules"
	"callgate/internal/kernel/signatures"
	"callgate/internal/signing"
	"callgate/internal/source/prompted/builtin"
	"callgate/tool"
	"callgate/toolcatalog"
	"callgate/toolcatalog/remote"
)

// Options is what a Set needs of the kernel.
type Options struct {
	Dir string // where catalogs are kept
	// Check keeps what was accepted last, and refuses what is older.
	Check func(ctx context.Context, c signatures.Content, keys []signing.Key) error
	// Go runs work in the background, unless the kernel closes.
	Go  func(func(context.Context)) bool
	Log *slog.Logger
}

// Config is a catalog as an app names it.
type Config struct {
	URL     string
	Key     signing.Key
	Refresh time.Duration
	Private []string // hosts that may be reached although they are not public
}

func (c Config) id() string {
	return fmt.Sprint(c.URL, "\n", c.Key, "\n", c.Refresh, "\n", strings.Join(c.Private, " "))
}

// Set is the catalogs of all apps of a kernel. Make one with New.
type Set struct {
	opt Options

	mu      sync.Mutex
	byID    map[string]*Catalog
	byScope map[string][]*Catalog
	warners map[string]toolcatalog.Warner // backends of an embedding program, by name
	changed func(scope string)
}

// New makes a set. Nothing is asked for.
func New(o Options) *Set {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Set{
		opt: o, byID: map[string]*Catalog{}, byScope: map[string][]*Catalog{}, warners: map[string]toolcatalog.Warner{},
	}
}

// Notify has changed called, from a goroutine of a catalog, after that lists something else.
func (s *Set) Notify(changed func(scope string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = changed
}

// Use makes the catalogs of an app known in its scope, and closes those that no app names any more.
// It returns them in the order in which they are named, and waits for none.
func (s *Set) Use(scope string, named []Config) ([]*Catalog, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, fresh := make([]*Catalog, len(named)), map[string]*Catalog{}
	for i, cfg := range named {
		id := cfg.id()
		if next[i] = cmp.Or(s.byID[id], fresh[id]); next[i] != nil {
			continue
		}
		c, err := s.open(cfg)
		if err != nil {
			return nil, err
		}
		next[i], fresh[id] = c, c
	}
	maps.Copy(s.byID, fresh)
	for _, c := range fresh {
		if !s.opt.Go(c.run) {
			close(c.ready) // the kernel closes
		}
	}
	for _, c := range next {
		c.scopes[scope] = true
	}
	old := s.byScope[scope]
	s.byScope[scope] = next
	if len(next) == 0 {
		delete(s.byScope, scope)
	}
	for _, c := range old {
		if slices.Contains(next, c) {
			continue
		}
		delete(c.scopes, scope)
		if len(c.scopes) == 0 {
			delete(s.byID, c.cfg.id())
			c.stop()
		}
	}
	return slices.Clone(next), nil
}

// Any reports whether a scope has catalogs.
func (s *Set) Any(scope string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byScope[scope]) > 0
}

// open makes a catalog, which does nothing yet.
func (s *Set) open(cfg Config) (*Catalog, error) {
	c := &Catalog{cfg: cfg, set: s, scopes: map[string]bool{}, ready: make(chan struct{})}
	c.listing.Store(&Listing{})
	c.named, c.stop = context.WithCancel(context.Background())
	key := sha256.Sum256([]byte(cfg.Key.String()))
	var err error
	c.remote, err = remote.New(remote.Options{
		URL: cfg.URL, Keys: []string{cfg.Key.String()}, Private: cfg.Private,
		Cache: filepath.Join(s.opt.Dir, hex.EncodeToString(key[:8])),
		Accept: func(ctx context.Context, sent remote.Sent) error {
			return s.opt.Check(ctx, signatures.Content{
				Place: "the catalog " + cfg.URL + " by " + cfg.Key.String(), ID: "the catalog", File: sent.File,
				Data: sent.Data, Signature: sent.Signature,
			}, []signing.Key{cfg.Key})
		},
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// scopesOf returns who uses a catalog, and whom to tell.
func (s *Set) scopesOf(c *Catalog) (scopes []string, changed func(string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(c.scopes)), s.changed
}

// AddWarner adds a backend of an embedding program that says when it lists something old.
func (s *Set) AddWarner(name string, w toolcatalog.Warner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warners[name] = w
}

// Problems says which catalogs, and which backends, do not list what they should, each in a line.
func (s *Set) Problems() (all []string) {
	s.mu.Lock()
	open, warners := maps.Clone(s.byID), maps.Clone(s.warners)
	s.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(open)) {
		all = append(all, open[id].Listing().Problems...)
	}
	for _, name := range slices.Sorted(maps.Keys(warners)) {
		if err := warners[name].Warning(); err != nil {
			all = append(all, err.Error())
		}
	}
	return slices.Compact(all)
}

// Reserved reports whether a namespace is the kernel's own, a module's or a server's: no tool from
// elsewhere stands in it.
func Reserved(namespace string) bool {
	return namespace == control.Namespace || builtin.Reserved(namespace) || strings.HasPrefix(namespace, "mcp_") ||
		slices.Contains(modules.Names(), namespace)
}

// Listed is a tool of a catalog.
type Listed struct {
	*tool.Tool
	Digest string // of what is written of it
}

// Listing is what a catalog lists. It does not change.
type Listing struct {
	Tools []Listed
	// Problems say what is wrong with it: that it is old, or that tools of it are left out.
	Problems []string
}
