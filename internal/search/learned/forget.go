package learned

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Filter says what is forgotten. What is set must all fit; the zero value fits nothing.
type Filter struct {
	All   bool   // everything
	Tool  string // requests that led to this tool: namespace.name, or an ID
	Words string // requests that have these words, in any case
}

// fits reports whether a pair is to be forgotten.
func (f Filter) fits(p Pair) bool {
	if f.All {
		return true
	}
	if f.Tool == "" && f.Words == "" || f.Tool != "" && p.Tool != Dotted(f.Tool) {
		return false
	}
	text := strings.ToLower(p.Request)
	return !slices.ContainsFunc(strings.Fields(strings.ToLower(f.Words)), func(word string) bool {
		return !strings.Contains(text, word)
	})
}

// Dotted is the dotted name of a tool that is named by its ID, or by its dotted name.
func Dotted(name string) string {
	name, _, _ = strings.Cut(strings.TrimSpace(name), "@")
	return strings.Replace(name, ":", ".", 1)
}

// Forget removes what fits of what an owner taught, and returns it. It is gone for good
// when it returns without an error.
func (s *Store) Forget(ctx context.Context, ownerID string, f Filter) ([]Pair, error) {
	return s.remove(ctx, func(owner string, p Pair) (Pair, bool) { return p, owner != ownerID || !f.fits(p) },
		func(key string, a *asked) bool { return f.All && a.Owner == ownerID })
}

// ForgetSession removes what was learned in a session and in no other.
func (s *Store) ForgetSession(ctx context.Context, id string) error {
	_, err := s.remove(ctx, func(_ string, p Pair) (Pair, bool) {
		return p.without(func(from Source) bool { return from.Session == id })
	}, nil)
	return err
}

// Prune removes what was learned before a time and was not seen since.
func (s *Store) Prune(ctx context.Context, before time.Time) error {
	_, err := s.remove(ctx, func(_ string, p Pair) (Pair, bool) {
		return p.without(func(from Source) bool { return from.At.Before(before) })
	}, nil)
	return err
}

// remove keeps of each pair what keep returns, if it reports true, and drops the searches
// that drop names. It returns the pairs that went.
func (s *Store) remove(
	ctx context.Context, keep func(owner string, p Pair) (Pair, bool), drop func(key string, a *asked) bool,
) (gone []Pair, err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	s.tried = time.Time{}
	if err := s.load(); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	for _, id := range sortedKeys(s.owners) {
		o := s.owners[id]
		for _, name := range sortedKeys(o.tools) {
			went := o.tools[name].filter(func(p Pair) (Pair, bool) { return keep(id, p) })
			if o.count -= len(went); len(went) > 0 {
				o.changed()
			}
			gone = append(gone, went...)
		}
	}
	for key, a := range s.asked {
		if drop != nil && drop(key, a) {
			delete(s.asked, key)
			s.dirty[key] = true
		}
	}
	s.mu.Unlock()
	return gone, s.write(ctx)
}

// filter keeps of each pair what keep returns, if it reports true, and returns the others.
func (e *entry) filter(keep func(Pair) (Pair, bool)) (gone []Pair) {
	var left []Pair
	for _, p := range e.pairs {
		next, ok := keep(p)
		if !ok {
			gone = append(gone, p)
			continue
		}
		if len(next.From) != len(p.From) {
			e.dirty = true
		}
		left = append(left, next)
	}
	if len(gone) > 0 {
		e.pairs, e.dirty = left, true
	} else if e.dirty {
		e.pairs = left
	}
	return gone
}
