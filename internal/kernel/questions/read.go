package questions

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"sync"

	"callgate/internal/document"
	"callgate/internal/feed"
	"callgate/tool"
)

// Get returns a question, or a NotFound error.
func (q *Queue) Get(ctx context.Context, id string) (Request, error) {
	for _, collection := range []string{open, done, open} { // it moves from one to the other
		d, err := q.opt.Documents.Get(ctx, collection, cmp.Or(id, "-"))
		if err == nil {
			return decode(d)
		}
		if tool.KindOf(err) != tool.NotFound {
			return Request{}, err
		}
	}
	return Request{}, tool.Errorf("questions.Get", tool.NotFound, "there is no question %q", tool.Truncate(id)).
		WithHint("callgate questions list shows what waits")
}

func decode(d document.Document) (Request, error) {
	r := Request{version: d.Version}
	if err := json.Unmarshal(d.Data, &r); err != nil {
		return r, &tool.Error{Op: "questions", Kind: tool.Internal, Message: "a question on disk cannot be read", Err: err}
	}
	return r, nil
}

// List returns the questions in a state, oldest first. An empty state means all states.
func (q *Queue) List(ctx context.Context, state State) ([]Request, error) {
	collections := []string{done, open}
	switch state {
	case "":
	case Pending:
		collections = []string{open}
	default:
		collections = []string{done}
	}
	var all []Request
	for _, c := range collections {
		some, err := q.list(ctx, c)
		if err != nil {
			return nil, err
		}
		for _, r := range some {
			if state == "" || r.State == state {
				all = append(all, r)
			}
		}
	}
	slices.SortFunc(all, func(a, b Request) int {
		return cmp.Or(a.AskedAt.Compare(b.AskedAt), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

func (q *Queue) list(ctx context.Context, collection string) ([]Request, error) {
	var all []Request
	for after := ""; ; {
		some, err := q.opt.Documents.List(ctx, collection, "", after, document.MaxList)
		if err != nil {
			return nil, err
		}
		for _, d := range some {
			r, err := decode(d)
			if err != nil {
				return nil, err
			}
			all = append(all, r)
			after = d.Key
		}
		if len(some) < document.MaxList {
			return all, nil
		}
	}
}

// Watch yields the pending questions, and then each question when it is asked and when it
// is settled, until ctx is done. One that is asked while the watch begins may come twice.
func (q *Queue) Watch(ctx context.Context) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		changes := feed.New[Request]()
		q.feeds.add(changes)
		defer q.feeds.remove(changes)
		pending, err := q.List(ctx, Pending)
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

// feeds are those of the open watches. The queue pushes while it holds its own mutex, so
// every watch sees the changes in the same order.
type feeds struct {
	mu     sync.Mutex
	open   map[*feed.Feed[Request]]bool
	closed bool
}

func (l *feeds) add(f *feed.Feed[Request]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[*feed.Feed[Request]]bool{}
	}
	l.open[f] = true
	if l.closed {
		f.Close()
	}
}

func (l *feeds) remove(f *feed.Feed[Request]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, f)
}

func (l *feeds) push(r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for f := range l.open {
		f.Push(r)
	}
}

func (l *feeds) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for f := range l.open {
		f.Close()
	}
}
