package approval

import (
	"context"
	"iter"
	"sync"

	"callgate/internal/feed"
)

// Watch yields the pending requests, and then each request when it is submitted
// and when it is settled, until ctx is done. A request that is submitted while
// the watch begins may come twice.
func (q *Queue) Watch(ctx context.Context) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		changes := feed.New[Request]()
		q.watchers.add(changes)
		defer q.watchers.remove(changes)
		pending, err := q.store.List(ctx, Pending, 0)
		if err != nil {
			yield(Request{}, err)
			return
		}
		for _, r := range pending {
			if !yield(r, nil) {
				return
			}
		}
		for r := range changes.All(ctx) {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// watcherList holds the feeds of the open watches. The queue pushes while it
// holds its own mutex, so every watch sees the changes in the same order.
type watcherList struct {
	mu     sync.Mutex
	feeds  map[*feed.Feed[Request]]bool
	closed bool
}

func (l *watcherList) add(f *feed.Feed[Request]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.feeds == nil {
		l.feeds = map[*feed.Feed[Request]]bool{}
	}
	l.feeds[f] = true
	if l.closed {
		f.Close()
	}
}

func (l *watcherList) remove(f *feed.Feed[Request]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.feeds, f)
}

func (l *watcherList) push(r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for f := range l.feeds {
		f.Push(r)
	}
}

func (l *watcherList) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for f := range l.feeds {
		f.Close()
	}
}
