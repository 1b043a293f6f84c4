package approval

import (
	"context"
	"iter"

	"callgate/internal/feed"
)

// Watch yields the requests that are pending, and then each one as it is
// submitted and as it is settled, until ctx is done. A request that is submitted
// as the watch begins may come twice.
func (q *Queue) Watch(ctx context.Context) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		changes := feed.New[Request]()
		q.addWatcher(changes)
		defer q.removeWatcher(changes)
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

func (q *Queue) addWatcher(f *feed.Feed[Request]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.watchers[f] = true
	if q.closed {
		f.Close()
	}
}

func (q *Queue) removeWatcher(f *feed.Feed[Request]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.watchers, f)
}

// notifyWatchers passes a changed request on. The caller holds the mutex.
func (q *Queue) notifyWatchers(r Request) {
	for f := range q.watchers {
		f.Push(r)
	}
}
