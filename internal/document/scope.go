package document

import (
	"context"
	"strings"

	"callgate/tool"
)

// Scoped returns a store of the collections of one scope, for a user that must
// reach no others. In the store below, their names begin with the scope's name
// and a slash.
func Scoped(s Store, scope string) Store { return &scoped{s, Join(scope) + "/"} }

type scoped struct {
	store  Store
	prefix string
}

func (s *scoped) Get(ctx context.Context, collection, key string) (Document, error) {
	found, err := s.store.Get(ctx, s.prefix+collection, key)
	found.Collection = strings.TrimPrefix(found.Collection, s.prefix)
	return found, err
}

func (s *scoped) List(ctx context.Context, collection, prefix, after string, limit int) ([]Document, error) {
	list, err := s.store.List(ctx, s.prefix+collection, prefix, after, limit)
	for i := range list {
		list[i].Collection = strings.TrimPrefix(list[i].Collection, s.prefix)
	}
	return list, err
}

func (s *scoped) Write(ctx context.Context, changes ...Change) (version int64, err error) {
	below := make([]Change, len(changes))
	for i, c := range changes {
		if c.Collection == "" { // with the prefix it would pass for a name
			return 0, tool.Errorf("document.Write", tool.Invalid, "a change names no collection").WithHint(nameHint)
		}
		below[i] = c
		below[i].Collection = s.prefix + c.Collection
	}
	return s.store.Write(ctx, below...)
}
