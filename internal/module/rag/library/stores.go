package library

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/module/rag/chunkstore"
	"callgate/tool"
)

// openStore is a file that is open.
type openStore struct {
	*chunkstore.Store
	users int // calls that use it now
}

// maxOpen bounds the files that stay open though no call uses them.
const maxOpen = 8

// For opens the library of a call, until it is released. Errors name op. A call that only reads
// makes no file: it finds no base where there is none.
func (s *Service) For(
	ctx context.Context, op string, call tool.Call, g tool.Grant, settings *Settings, writes bool,
) (l *Library, release func(), err error) {
	if writes && settings.ReadOnly {
		return nil, nil, tool.Errorf(op, tool.Denied, "this app only reads its knowledge bases").
			WithHint("the app file says so: %s", settings.Key("constraints.read_only"))
	}
	p := call.Principal
	id := sha256.Sum256([]byte(strings.Join([]string{p.User, p.App, g.Workspace}, "\x00")))
	store, err := s.open(ctx, op, filepath.Join(s.host.State, hex.EncodeToString(id[:12])+".db"), writes)
	if err != nil {
		return nil, nil, err
	}
	l = &Library{Store: store.Store, service: s, op: op, call: call, grant: g, settings: settings}
	return l, func() { s.release(store) }, nil
}

func (s *Service) open(ctx context.Context, op, file string, writes bool) (*openStore, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, tool.Errorf(op, tool.Unavailable, "the kernel is closing")
	}
	if i := slices.IndexFunc(s.stores, func(o *openStore) bool { return o.Path() == file }); i >= 0 {
		store := s.stores[i]
		s.stores = append(slices.Delete(s.stores, i, i+1), store)
		store.users++
		return store, nil
	}
	if _, err := os.Stat(file); !writes && errors.Is(err, os.ErrNotExist) {
		none, err := chunkstore.Empty(ctx)
		return &openStore{Store: none, users: 1}, err
	}
	store, err := chunkstore.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	s.stores = append(s.stores, &openStore{Store: store, users: 1})
	return s.stores[len(s.stores)-1], nil
}

// release ends the use of a file. The files that were used longest ago are closed where too many are open.
func (s *Service) release(store *openStore) {
	s.mu.Lock()
	store.users--
	var idle []*openStore
	if store.Path() == "" {
		idle = append(idle, store)
	}
	for many := len(s.stores) - maxOpen; many > 0; many-- {
		i := slices.IndexFunc(s.stores, func(o *openStore) bool { return o.users == 0 })
		if i < 0 {
			break
		}
		idle = append(idle, s.stores[i])
		s.stores = slices.Delete(s.stores, i, i+1)
	}
	s.mu.Unlock()
	for _, o := range idle {
		_ = o.Close()
	}
}

// Close closes the files.
func (s *Service) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, store := range s.stores {
		errs = append(errs, store.Close())
	}
	s.closed, s.stores, s.held = true, nil, nil
	return errors.Join(errs...)
}
