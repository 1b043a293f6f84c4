package artifact

import (
	"context"
	"time"
)

// Usage is how many artifacts there are, and how large.
type Usage struct {
	Count int   `json:"count"`
	Bytes int64 `json:"bytes"`
}

func (u *Usage) add(size int64) {
	u.Count++
	u.Bytes += size
}

// Usage counts what is stored.
func (s *Store) Usage(ctx context.Context) (Usage, error) {
	var all Usage
	err := s.walk(ctx, func(b Blob) error {
		all.add(b.Size)
		return nil
	})
	return all, err
}

// DeleteUnused removes the artifacts that were stored before olderThan and are
// not live, and returns how much that was. The live ones must be asked for
// after olderThan: an artifact that is named later was stored later too, and is
// too young to go.
func (s *Store) DeleteUnused(
	ctx context.Context, live func(ref string) bool, olderThan time.Time,
) (removed Usage, err error) {
	err = s.walk(ctx, func(b Blob) error {
		if !b.Stored.Before(olderThan) || live(b.Ref) {
			return nil
		}
		gone, err := s.blobs.Delete(ctx, b.Ref, olderThan)
		if gone {
			removed.add(b.Size)
		}
		return err
	})
	return removed, err
}

// walk visits every artifact.
func (s *Store) walk(ctx context.Context, visit func(Blob) error) error {
	const page = 1000
	for after := ""; ; {
		list, err := s.blobs.List(ctx, after, page)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, b := range list {
			if err := visit(b); err != nil {
				return err
			}
		}
		after = list[len(list)-1].Ref
	}
}
