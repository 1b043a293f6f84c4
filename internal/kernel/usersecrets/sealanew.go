package usersecrets

import (
	"context"
	"encoding/json"

	"callgate/internal/document"
	"callgate/internal/secret"
	"callgate/tool"
)

// sealAnew seals with the placed key what can be opened and was sealed otherwise, each at most once with each key:
// while an operator changes the keys, two nodes may have them in different orders. The caller holds the lock.
func (s *Store) sealAnew(ctx context.Context) (int, error) {
	placed := s.seals.placed
	if placed == nil || len(s.otherwise(placed.ID())) == 0 {
		return 0, s.seals.err
	}
	var done []string
	_, err := document.Update(ctx, s.opt.Documents, func() ([]document.Change, error) {
		if err := s.read(ctx, true); err != nil {
			return nil, err
		}
		placed = s.seals.placed // it may be another by now
		var all []document.Change
		done = nil
		for _, key := range s.otherwise(placed.ID()) {
			c, err := s.sealedWith(ctx, placed, key)
			if tool.KindOf(err) == tool.NotFound {
				continue // it was removed since the reading
			}
			if err != nil {
				return nil, err
			}
			all, done = append(all, c), append(done, key)
		}
		if len(all) > 0 {
			all = append(all, document.Change{Collection: collection, Key: changes, If: s.version, Data: []byte("{}")})
		}
		return all, nil
	})
	if err != nil || len(done) == 0 {
		return 0, err
	}
	for _, key := range done {
		s.anew[key] = placed.ID()
	}
	return len(done), s.read(ctx, true)
}

// otherwise are the keys of the secrets that were sealed otherwise than with a placed key, and were not sealed with it
// here before.
func (s *Store) otherwise(id string) (keys []string) {
	for key, k := range s.known {
		if k.err == nil && secret.PlacedID(k.Sealed) != id && s.anew[key] != id {
			keys = append(keys, key)
		}
	}
	return keys
}

// sealedWith is the change that seals a secret with a placed key.
func (s *Store) sealedWith(ctx context.Context, placed *secret.PlacedKey, key string) (document.Change, error) {
	found, err := s.opt.Documents.Get(ctx, collection, key)
	if err != nil {
		return document.Change{}, err
	}
	k := s.known[key]
	k.Sealed = placed.Seal(key, []byte(k.value))
	data, err := json.Marshal(k.kept)
	return document.Change{Collection: collection, Key: key, If: found.Version, Data: data}, err
}
