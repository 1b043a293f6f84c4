package lasting

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"callgate/internal/document"
	"callgate/tool"
)

const (
	collection = "lasting_grants"
	// maxGrants bounds what one person can keep in view, and what a lookup holds in
	// memory.
	maxGrants  = 10_000
	flushAfter = 2 * time.Second
)

// Store keeps lasting grants. Make one with Open, and Close it before the
// documents below it.
type Store struct {
	docs  document.Store
	nodes Nodes

	reading sync.Mutex // held while what is at every node is compared; taken before writing and mu
	head    int64      // the version of the head that was read last; guarded by reading

	mu    sync.RWMutex // guards index
	index index

	writing sync.Mutex // one writer of documents at a time; taken before mu

	timing sync.Mutex // guards timer and closed
	timer  *time.Timer
	closed bool
}

// Open reads the grants. One that cannot be read is left out, and is in the
// problems: it must not stop the kernel, and covers nothing.
func Open(ctx context.Context, docs document.Store, nodes Nodes) (s *Store, problems []error, err error) {
	s = &Store{docs: docs, nodes: nodes, index: newIndex()}
	all, err := document.ListAll(ctx, docs, collection, "")
	if err != nil {
		return nil, nil, err
	}
	for _, doc := range all {
		e, err := readEntry(doc)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		s.index.add(e)
	}
	// What cannot be read of every node now counts when it can.
	_ = s.Compare(ctx)
	return s, problems, nil
}

func readEntry(doc document.Document) (*entry, error) {
	var g Grant
	err := json.Unmarshal(doc.Data, &g)
	var e *entry
	if err == nil {
		e, err = newEntry(g)
	}
	if err != nil {
		return nil, tool.Errorf("lasting.Open", tool.Invalid, "the lasting grant %s cannot be used: %w", doc.Key, err)
	}
	e.version = doc.Version
	return e, nil
}

// NewID makes the ID of a grant.
func NewID() string { return "g" + strconv.FormatUint(rand.Uint64(), 36) }

// Add keeps a grant. It has an ID, or is given one.
func (s *Store) Add(ctx context.Context, g Grant) (Grant, error) {
	g.ID, g.Uses = cmp.Or(g.ID, NewID()), Uses{}
	if g.Made.IsZero() {
		g.Made = time.Now()
	}
	if g.Ended(time.Now()) {
		return g, tool.Errorf("lasting.Add", tool.Invalid, "the end date %s has passed", g.Until.Format(time.DateOnly)).
			WithHint("give a later one, or none")
	}
	e, err := newEntry(g)
	if err != nil {
		return g, err
	}
	if g.App != "" {
		return g, s.addShared(ctx, g)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.RLock()
	n := len(s.index.byID)
	s.mu.RUnlock()
	if n >= maxGrants {
		return g, tooMany(n)
	}
	data, err := json.Marshal(g)
	if err != nil {
		return g, &tool.Error{Op: "lasting.Add", Kind: tool.Internal, Message: "the grant cannot be written", Err: err}
	}
	if e.version, err = s.docs.Write(ctx, document.Change{Collection: collection, Key: g.ID, Data: data}); err != nil {
		return g, err
	}
	s.mu.Lock()
	s.index.add(e)
	s.mu.Unlock()
	return g, nil
}

func tooMany(n int) error {
	return tool.Errorf("lasting.Add", tool.Limited, "there are %d lasting grants already", n).
		WithHint("revoke some that are not used: callgate grants list")
}

// Found is a grant that covers a call, or a part of it.
type Found struct {
	ID, Text string
	Exact    bool // it means one call
	shared   bool // it counts at every node
}

// Find returns the grants that cover a call now; none when a human must be asked.
func (s *Store) Find(ctx context.Context, c *Call) []Found {
	at, now := c.where(), time.Now()
	at.app = s.sharedApp(ctx, c)
	s.mu.RLock()
	shelf := s.index.ready(at, now)
	s.mu.RUnlock()
	if shelf == nil {
		s.mu.Lock()
		if shelf = s.index.ready(at, now); shelf == nil {
			shelf = s.index.make(at, now)
		}
		s.mu.Unlock()
	}
	entries := shelf.find(c, s.index.seed)
	if len(entries) == 0 {
		return nil
	}
	found := make([]Found, len(entries))
	for i, e := range entries {
		found[i] = Found{e.ID, e.Text, e.Exact, e.App != ""}
	}
	return found
}

// Counts reports whether grants that covered a call still do: none was revoked
// since, at any node, or ended.
func (s *Store) Counts(ctx context.Context, found []Found) bool {
	if slices.ContainsFunc(found, func(f Found) bool { return f.shared }) && s.Compare(ctx) != nil {
		return false
	}
	now := time.Now()
	s.mu.RLock()
	defer s.mu.RUnlock()
	return !slices.ContainsFunc(found, func(f Found) bool {
		e := s.index.byID[f.ID]
		return e == nil || e.Ended(now)
	})
}

// Empty reports whether there can be no grant at all, so that a caller need not
// prepare a call for Find.
func (s *Store) Empty() bool {
	if s.nodes.Several {
		return false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.index.byID) == 0
}

// Used counts a call that a grant let through. It is written a little later.
func (s *Store) Used(id, call string) {
	s.mu.RLock()
	e := s.index.byID[id]
	s.mu.RUnlock()
	if e == nil || !e.use(call, time.Now()) {
		return
	}
	s.timing.Lock()
	defer s.timing.Unlock()
	if s.timer == nil && !s.closed {
		s.timer = time.AfterFunc(flushAfter, func() {
			s.timing.Lock()
			s.timer = nil
			s.timing.Unlock()
			// What cannot be written now is written with the next use, or at the end.
			_ = s.flush(context.Background())
		})
	}
}

// flush writes the uses that are not written yet.
func (s *Store) flush(ctx context.Context) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	var errs []error
	for _, e := range s.entries() {
		e.mu.Lock()
		dirty := e.dirty
		e.dirty = false
		e.mu.Unlock()
		if !dirty {
			continue
		}
		if e.App != "" {
			errs = append(errs, s.flushShared(ctx, e))
			continue
		}
		data, err := json.Marshal(e.snapshot())
		if err == nil {
			change := document.Change{Collection: collection, Key: e.ID, If: e.version, Data: data}
			var version int64
			if version, err = s.docs.Write(ctx, change); err == nil {
				e.version = version
				continue
			}
		}
		errs = append(errs, err)
		e.mu.Lock()
		e.dirty = true
		e.mu.Unlock()
	}
	return errors.Join(errs...)
}

func (s *Store) entries() []*entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]*entry, 0, len(s.index.byID))
	for _, e := range s.index.byID {
		all = append(all, e)
	}
	return all
}

// List returns all grants, the oldest first.
func (s *Store) List() []Grant {
	var all []Grant
	for _, e := range s.entries() {
		all = append(all, e.snapshot())
	}
	slices.SortFunc(all, func(a, b Grant) int { return cmp.Or(a.Made.Compare(b.Made), cmp.Compare(a.ID, b.ID)) })
	return all
}

// Get returns one grant, or a NotFound error.
func (s *Store) Get(id string) (Grant, error) {
	s.mu.RLock()
	e := s.index.byID[id]
	s.mu.RUnlock()
	if e == nil {
		return Grant{}, notFound("lasting.Get", id)
	}
	return e.snapshot(), nil
}

// Revoke removes grants, all of those named or none. From then on no call runs by
// them; one that runs already goes on.
func (s *Store) Revoke(ctx context.Context, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	s.writing.Lock()
	defer s.writing.Unlock()
	changes := func() ([]document.Change, error) { return s.revocation(ctx, ids) }
	if _, err := document.Update(ctx, s.docs, changes); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		s.index.remove(id)
	}
	return nil
}

// revocation is the write that removes grants.
func (s *Store) revocation(ctx context.Context, ids []string) (changes []document.Change, err error) {
	head := false
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		s.mu.RLock()
		e := s.index.byID[id]
		s.mu.RUnlock()
		if e != nil && e.App == "" {
			changes = append(changes, document.Change{Collection: collection, Key: id, If: e.version})
			continue
		}
		// One at every node may be of another node, and have been used there.
		there, err := s.docs.Get(ctx, document.SharedGrants, s.sharedKey(id))
		if tool.KindOf(err) == tool.NotFound {
			return nil, notFound("lasting.Revoke", id)
		}
		if err != nil {
			return nil, err
		}
		head = true
		changes = append(changes, document.Change{Collection: there.Collection, Key: there.Key, If: there.Version})
	}
	if head {
		changed, err := s.headChange(ctx)
		if err != nil {
			return nil, err
		}
		changes = append(changes, changed)
	}
	return changes, nil
}

func notFound(op, id string) error {
	return tool.Errorf(op, tool.NotFound, "there is no lasting grant %s", tool.Truncate(id)).
		WithHint("callgate grants list shows them")
}

// Close writes what is not written yet.
func (s *Store) Close() error {
	s.timing.Lock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.timing.Unlock()
	return s.flush(context.Background())
}
