// Package feed hands the records of a journal to whoever follows it.
//
// # Law
//
// A record is read and written as JSON once, however many follow. A follower gets every record after the one that it
// names, in order and once: what is older than what is kept here it reads from the journal. Many followers are not
// woken by every record: the more there are, the longer each waits for the next ones to come together, up to
// a quarter of a second. So they take little from the calls that the records are of.
package feed

import (
	"context"
	"encoding/json"
	"iter"
	"sync"
	"time"

	"callgate/internal/daemon/wire"
	"callgate/internal/journal"
	"callgate/internal/protocol"
	"callgate/tool"
)

// Journal is what is followed.
type Journal interface {
	Read(ctx context.Context, q journal.Query) ([]journal.Record, error)
	Follow(ctx context.Context, after uint64) iter.Seq2[journal.Record, error]
}

// Entry is a record as it is sent: the JSON of a protocol.Event.
type Entry struct {
	Seq       uint64
	Data      []byte
	Kind      journal.Kind
	Call      string
	Principal *tool.Principal // whose it is; nil: the kernel's
}

const (
	kept     = 4096 // records, for who follows closely
	page     = 500
	perOne   = 125 * time.Microsecond // by which each follower has the others wait
	maxPause = 250 * time.Millisecond
)

// Feed follows one journal for all. Make it with New.
type Feed struct {
	journal Journal

	mu        sync.Mutex
	followers int
	running   bool
	stop      context.CancelFunc
	start     uint64  // what is kept begins after this record
	ring      []Entry // in order
	changed   chan struct{}
}

// New makes the feed of a journal.
func New(j Journal) *Feed { return &Feed{journal: j, changed: make(chan struct{})} }

// Follow calls send with the records after one, as they are written, until ctx ends, send returns false, or the journal
// ends or cannot be read.
func (f *Feed) Follow(ctx context.Context, after uint64, send func([]Entry) bool) {
	f.enter(ctx, after)
	defer f.leave()
	for ctx.Err() == nil {
		entries, start, changed := f.since(after)
		isKept := after >= start
		if !isKept {
			if entries = f.read(ctx, after, start); len(entries) == 0 {
				after = start // none of it can be read
				continue
			}
		}
		if len(entries) == 0 {
			select {
			case <-changed:
				if !f.isRunning() {
					return
				}
			case <-ctx.Done():
			}
			continue
		}
		if !send(entries) {
			return
		}
		after = entries[len(entries)-1].Seq
		if isKept {
			f.pause(ctx)
		}
	}
}

// enter counts a follower, and has the journal followed if it is the first.
func (f *Feed) enter(ctx context.Context, after uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.followers++; f.running {
		return
	}
	f.start, f.ring, f.running = after, nil, true
	last, err := f.journal.Read(ctx, journal.Query{Newest: true, Limit: 1, Stored: true})
	if err == nil && len(last) > 0 { // else everything is kept from where the first one begins
		f.start = last[0].Seq
	}
	ctx, f.stop = context.WithCancel(context.Background())
	go f.run(ctx, f.start)
}

// leave ends the following with the last follower.
func (f *Feed) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.followers--; f.followers == 0 && f.running {
		f.stop()
		f.running, f.ring = false, nil
	}
}

func (f *Feed) isRunning() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.running
}

// run keeps the records as they are written.
func (f *Feed) run(ctx context.Context, after uint64) {
	for rec, err := range f.journal.Follow(ctx, after) {
		if err != nil && rec.Seq == 0 {
			break
		}
		if err != nil {
			continue // a damaged record: verify reports it, and the next ones are read
		}
		if e, ok := encode(rec); ok {
			f.keep(ctx, e)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() == nil { // the journal has ended, and not the following
		f.running = false
		close(f.changed)
		f.changed = make(chan struct{})
	}
}

func (f *Feed) keep(ctx context.Context, e Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	if f.ring = append(f.ring, e); len(f.ring) >= 2*kept { // followers read what they were given: it is not written over
		f.start = f.ring[kept-1].Seq
		f.ring = append(make([]Entry, 0, 2*kept), f.ring[kept:]...)
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// since returns what is kept after a record, which is no older than start. changed is closed with the next one.
func (f *Feed) since(after uint64) (entries []Entry, start uint64, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if after < f.start {
		return nil, f.start, f.changed
	}
	at := len(f.ring)
	for at > 0 && f.ring[at-1].Seq > after {
		at--
	}
	return f.ring[at:len(f.ring):len(f.ring)], f.start, f.changed
}

// read reads a page of what is not kept. What cannot be read of it is passed over.
func (f *Feed) read(ctx context.Context, after, start uint64) (entries []Entry) {
	for rec, err := range f.journal.Follow(ctx, after) {
		if err != nil && rec.Seq == 0 {
			break
		}
		if e, ok := encode(rec); ok && err == nil {
			entries = append(entries, e)
		}
		if len(entries) >= page || rec.Seq >= start {
			break
		}
	}
	return entries
}

func encode(rec journal.Record) (Entry, bool) {
	record := wire.Record(rec)
	data, err := json.Marshal(protocol.Event{Record: &record})
	return Entry{rec.Seq, data, rec.Kind, rec.Call, rec.Principal}, err == nil
}

// pause has records come together, for the longer the more follow.
func (f *Feed) pause(ctx context.Context) {
	f.mu.Lock()
	pause := min(maxPause, time.Duration(f.followers-1)*perOne)
	f.mu.Unlock()
	if pause <= 0 {
		return
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
