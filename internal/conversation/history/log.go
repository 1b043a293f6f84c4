package history

import (
	"context"
	"strings"
	"sync"
	"time"

	"callgate/internal/fence"
	"callgate/llm"
	"callgate/tool"
)

// Log is an open conversation: its store, and what its events add up to. One
// turn at a time writes to it; others may watch.
type Log struct {
	id    string
	store Store

	mu       sync.Mutex
	info     Info
	state    *State
	watchers map[chan struct{}]bool
}

// Create begins a conversation.
func Create(ctx context.Context, store Store, info Info) (*Log, error) {
	info.Created = time.Now()
	info.Updated = info.Created
	if err := store.Create(ctx, info); err != nil {
		return nil, err
	}
	return &Log{id: info.ID, store: store, info: info, state: &State{}}, nil
}

// Open continues a conversation where it was left.
func Open(ctx context.Context, store Store, id string) (*Log, error) {
	info, err := store.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	events, err := store.Read(ctx, id, 0)
	if err != nil {
		return nil, err
	}
	return &Log{id: id, store: store, info: info, state: Replay(events)}, nil
}

// Info returns the conversation's line in a list.
func (l *Log) Info() Info {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.info
}

// View calls look with the state. It is the log's own: it may be read until
// look returns, and no longer.
func (l *Log) View(look func(*State)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	look(l.state)
}

// Messages returns what a model is shown.
func (l *Log) Messages() []llm.Message {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.Messages[:len(l.state.Messages):len(l.state.Messages)]
}

// Append writes events and adds them to the state. A cancelled context does not
// prevent that: what happened, happened.
func (l *Log) Append(ctx context.Context, events ...Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.append(ctx, events)
}

// Update writes the events that make returns for the state, and returns them as they
// were written. Nothing is written in between.
func (l *Log) Update(ctx context.Context, make func(*State) []Event) ([]Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	events := make(l.state)
	if len(events) == 0 {
		return nil, nil
	}
	return events, l.append(ctx, events)
}

func (l *Log) append(ctx context.Context, events []Event) error {
	now := time.Now()
	next := l.info
	for i := range events {
		events[i].Seq = l.state.Seq + int64(i) + 1
		if events[i].At.IsZero() {
			events[i].At = now
		}
		next.count(events[i])
	}
	next.Updated = now
	if err := l.store.Append(context.WithoutCancel(ctx), next, l.state.Seq, events); err != nil {
		return err
	}
	l.info = next
	for _, e := range events {
		l.state.Apply(e)
	}
	for w := range l.watchers {
		select {
		case w <- struct{}{}:
		default: // it has a signal that it has not read yet
		}
	}
	return nil
}

// count brings the list's line up to date.
func (i *Info) count(e Event) {
	i.Events = e.Seq
	switch e.Type {
	case User:
		if e.Queued == 0 {
			i.Turns++
		}
		i.Last = ""
		if i.Title == "" {
			i.Title = tool.TruncateTo(strings.Join(strings.Fields(fence.AfterNote(e.Message.Text())), " "), 80)
		}
	case Woken:
		i.Turns++
		i.Last = ""
	case Assistant, Note:
		if e.Usage != nil {
			i.spend(*e.Usage, e.Type == Assistant)
		}
	case CallMade:
		i.ToolCalls++
	case TurnEnded:
		i.Last = e.End.Reason
	case Rewound:
		i.Last = Done
	case Compacted:
		if u := e.Compaction.Usage; u != nil {
			i.spend(*u, true)
		}
	}
}

// spend adds what was spent: by its own models, or by agents that worked for it.
func (i *Info) spend(u llm.Usage, own bool) {
	i.Usage = i.Usage.Add(u)
	if own {
		i.Own = i.Own.Add(u)
	}
}

// Follow returns the events after one, and then each as it comes, until ctx is
// done or seen returns false.
func (l *Log) Follow(ctx context.Context, after int64, seen func(Event) bool) error {
	news := make(chan struct{}, 1)
	l.mu.Lock()
	if l.watchers == nil {
		l.watchers = map[chan struct{}]bool{}
	}
	l.watchers[news] = true
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.watchers, news)
	}()
	for {
		events, err := l.store.Read(ctx, l.id, after)
		if err != nil {
			return err
		}
		for _, e := range events {
			if !seen(e) {
				return nil
			}
			after = e.Seq
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil
		}
	}
}
