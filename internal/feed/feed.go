// Package feed carries values from producers that must not wait to one reader.
// Nothing is lost: what the reader has not taken yet is kept, without a bound,
// so a feed is for values that are few beside the memory of the process.
package feed

import (
	"context"
	"iter"
	"sync"
)

// Feed holds the values that its reader has not taken yet. Make one with New.
type Feed[T any] struct {
	mu     sync.Mutex
	values []T
	closed bool
	news   chan struct{} // has room for one: there is something to take
}

// New makes an empty feed.
func New[T any]() *Feed[T] { return &Feed[T]{news: make(chan struct{}, 1)} }

// Push adds a value. It does not wait.
func (f *Feed[T]) Push(v T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.values = append(f.values, v)
		f.signal()
	}
}

// Close ends the feed after the values that are in it.
func (f *Feed[T]) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.signal()
}

func (f *Feed[T]) signal() {
	select {
	case f.news <- struct{}{}:
	default: // the reader is told already
	}
}

// take returns what there is now, and whether nothing comes any more.
func (f *Feed[T]) take() (values []T, closed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	values, f.values = f.values, nil
	return values, f.closed
}

// All yields the values as they come, until the feed is closed or ctx is done.
func (f *Feed[T]) All(ctx context.Context) iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			values, closed := f.take()
			for _, v := range values {
				if !yield(v) {
					return
				}
			}
			if closed && len(values) == 0 {
				return
			}
			if closed {
				continue
			}
			select {
			case <-f.news:
			case <-ctx.Done():
				return
			}
		}
	}
}
