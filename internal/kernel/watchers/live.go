package watchers

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"callgate/internal/condition"
	"callgate/internal/kernel/tasks"
	"callgate/internal/task"
	"callgate/internal/watch"
	"callgate/tool"
)

// live is a watcher that runs here.
type live struct {
	run  *tasks.Run
	poke chan struct{} // something changed that the loop must look at
	wake chan struct{} // a source says that something changed

	mu    sync.Mutex
	w     *watch.Watcher
	push  string // what also causes a check; "": nothing does
	saved time.Time
	seen  []seen // of a watcher of the journal: records that were not checked yet
	more  int    // how many there were besides
	read  uint64 // the last record that was read: those up to Cursor were also checked
}

// decode reads the watcher of a task.
func decode(t task.Task) (*watch.Watcher, error) {
	var spec watch.Spec
	if err := json.Unmarshal(t.Input, &spec); err != nil {
		return nil, tool.Errorf("watchers", tool.Internal, "the watcher %s cannot be read: %w", t.ID, err)
	}
	var state watch.State
	if len(t.Data) > 0 {
		if err := json.Unmarshal(t.Data, &state); err != nil {
			return nil, tool.Errorf("watchers", tool.Internal, "the state of the watcher %s cannot be read: %w", t.ID, err)
		}
	}
	// Its expressions were checked against the tool's result when it was started.
	return watch.Restore(t.ID, spec, state, condition.Type{})
}

// open makes a watcher live.
func (s *Set) open(r *tasks.Run) (*live, error) {
	w, err := decode(r.Task)
	if err != nil {
		return nil, err
	}
	// Those that are started together are not stored together.
	saved := time.Now().Add(-time.Duration(share(r.ID) * float64(saveEvery)))
	l := &live{run: r, w: w, poke: make(chan struct{}, 1), wake: make(chan struct{}, 1), saved: saved}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[r.ID] = l
	close(s.came)
	s.came = make(chan struct{})
	return l, nil
}

func (s *Set) close(l *live) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live[l.run.ID] == l {
		delete(s.live, l.run.ID)
	}
}

func (s *Set) find(id string) *live {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[id]
}

// awaitLive returns a watcher that runs here, or is about to: one that was just started,
// or that an earlier kernel left.
func (s *Set) awaitLive(ctx context.Context, id string) *live {
	late := time.NewTimer(soon)
	defer late.Stop()
	for {
		s.mu.Lock()
		l, came := s.live[id], s.came
		s.mu.Unlock()
		if l != nil {
			return l
		}
		select {
		case <-came:
		case <-late.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// signal passes something on unless that is about to be seen anyway.
func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// with does something with the watcher.
func (l *live) with(do func(w *watch.Watcher)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do(l.w)
}

// save stores what the watcher knows. It survives a kernel that closes.
func (l *live) save(ctx context.Context) error {
	l.mu.Lock()
	data, err := json.Marshal(l.w.State)
	line := fmt.Sprintf("%d checks, %d told", l.w.Checks, l.w.Notices)
	if l.w.Last.Error != "" {
		line += "; the last one failed: " + tool.TruncateTo(l.w.Last.Error, 100)
	}
	l.saved = time.Now()
	l.mu.Unlock()
	if err != nil {
		return err
	}
	l.run.Progress(line)
	return l.run.Save(context.WithoutCancel(ctx), json.RawMessage(data))
}

// saveNow stores what the watcher knows, if it is time to.
func (l *live) saveNow(ctx context.Context) error {
	l.mu.Lock()
	due := time.Since(l.saved) >= saveEvery
	l.mu.Unlock()
	if !due {
		return nil
	}
	return l.save(ctx)
}

// overview is the watcher in a list.
func (l *live) overview() watch.Overview {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.w.Overview(l.run.Times.Created)
	o.Push = l.push
	return o
}

func (l *live) detail(n int) watch.Detail {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.w.Detail(l.run.Times.Created, n)
	d.Push = l.push
	return d
}
