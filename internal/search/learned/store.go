package learned

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/document"
	"callgate/tool"
)

const (
	collection = "search_learned"
	flushAfter = 2 * time.Second
	maxWrite   = 500         // documents of one write
	loadAfter  = time.Minute // from a read that failed to the next
	loadTime   = 5 * time.Second
)

// Store keeps what was learned. It reads at its first use. Close it before the
// documents below it. It is safe for concurrent use.
type Store struct {
	docs  document.Store
	scrub func(string) string
	log   *slog.Logger
	most  int // requests that are kept in all

	writing sync.Mutex // one writer of documents at a time; taken before mu

	mu      sync.Mutex
	loaded  bool
	tried   time.Time // when loading failed last
	problem error
	owners  map[string]*owner
	asked   map[string]*asked // by asker, of those who are not one session
	dirty   map[string]bool   // keys of askers that are not written
	timer   *time.Timer
	closed  bool
}

// owner is what the searches of one person taught.
type owner struct {
	tools    map[string]*entry // by dotted name
	count    int
	version  uint64
	examples map[string][]string // as last made; nil: to be made
}

// entry is the document of one tool.
type entry struct {
	pairs   []Pair
	version int64 // of the document; 0: there is none
	dirty   bool
}

// kept is the content of a document.
type kept struct {
	Owner string `json:"owner,omitempty"`
	Tool  string `json:"tool"`
	Pairs []Pair `json:"pairs"`
}

// New makes a store over documents. scrub takes secrets out of a text.
func New(docs document.Store, scrub func(string) string, log *slog.Logger) *Store {
	return &Store{
		docs: docs, scrub: scrub, log: log, most: MaxAll,
		owners: map[string]*owner{}, asked: map[string]*asked{}, dirty: map[string]bool{},
	}
}

// load reads the documents, once. s.mu is held.
func (s *Store) load() error {
	if s.loaded || s.problem != nil && time.Since(s.tried) < loadAfter {
		return s.problem
	}
	ctx, cancel := context.WithTimeout(context.Background(), loadTime)
	defer cancel()
	all, err := document.ListAll(ctx, s.docs, collection, "")
	if err == nil {
		err = s.loadAsked(ctx)
	}
	if err != nil {
		s.log.Warn("what was learned from searches cannot be read now", "error", err)
		s.problem, s.tried = err, time.Now()
		return err
	}
	count := 0
	for _, doc := range all {
		var k kept
		if err := json.Unmarshal(doc.Data, &k); err != nil || doc.Key != keyOf(k.Owner, k.Tool) {
			s.log.Warn("a learned request cannot be read, and is left out", "key", doc.Key, "error", err)
			continue
		}
		if count += len(k.Pairs); count > s.most { // no store wrote so many
			break
		}
		s.restore(k, doc.Version)
	}
	s.loaded, s.problem = true, nil
	s.later() // what was left out is removed
	return nil
}

// restore takes a document over. Its requests are checked again: a secret may have
// become known since. s.mu is held.
func (s *Store) restore(k kept, version int64) {
	e := &entry{version: version}
	for _, p := range k.Pairs {
		text, ok := s.clean(p.Request)
		if !ok || len(e.pairs) == MaxTool || text != p.Request {
			e.dirty = true
			continue
		}
		p.Tool = k.Tool
		e.pairs = append(e.pairs, p)
	}
	o := s.owner(k.Owner)
	o.tools[k.Tool] = e
	o.count += len(e.pairs)
	o.changed()
}

// clean returns a request as it is kept, and false if it is not kept.
func (s *Store) clean(request string) (string, bool) {
	text, ok := Clean(request)
	// Both are looked at: a secret may be whole in one of them only.
	if s.scrub(request) != request || s.scrub(text) != text {
		return "", false
	}
	return text, ok
}

func keyOf(owner, name string) string { return document.Join("of", owner, name) }

// owner returns an owner, new if need be. s.mu is held.
func (s *Store) owner(id string) *owner {
	o := s.owners[id]
	if o == nil {
		o = &owner{tools: map[string]*entry{}}
		s.owners[id] = o
	}
	return o
}

func (o *owner) changed() {
	o.version++
	o.examples = nil
}

// learn keeps that a request led to a tool. A request that cannot be kept is none.
func (s *Store) learn(ownerID, session, name, request string, now time.Time) {
	request, ok := s.clean(request)
	if !ok || name == "" || Fold(request) == strings.ToLower(name) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.load() != nil {
		return
	}
	o := s.owner(ownerID)
	e := o.tools[name]
	if e == nil {
		e = &entry{}
		o.tools[name] = e
	}
	fold := Fold(request)
	i := slices.IndexFunc(e.pairs, func(p Pair) bool { return Fold(p.Request) == fold })
	if i < 0 {
		i = len(e.pairs)
		e.pairs = append(e.pairs, Pair{Tool: name, Request: request, First: now})
		o.count++
	}
	p := &e.pairs[i]
	p.Seen++
	p.Last = now
	from := append(slices.Clone(p.From), Source{session, now})
	p.From = from[max(0, len(from)-maxFrom):]
	e.dirty = true
	if len(e.pairs) > MaxTool {
		e.pairs = slices.Delete(e.pairs, least(e.pairs), least(e.pairs)+1)
		o.count--
	}
	o.changed()
	s.trim()
	s.later()
}

// least is the index of the pair that is worth least.
func least(pairs []Pair) int {
	at := 0
	for i, p := range pairs {
		if p.worth().Before(pairs[at].worth()) {
			at = i
		}
	}
	return at
}

// trim removes what is too much: of the owner who has most, what is worth least. s.mu is held.
func (s *Store) trim() {
	for {
		all, most := 0, (*owner)(nil)
		for _, id := range sortedKeys(s.owners) {
			o := s.owners[id]
			all += o.count
			if most == nil || o.count > most.count {
				most = o
			}
		}
		if all <= s.most {
			return
		}
		var from *entry
		for _, name := range sortedKeys(most.tools) {
			e := most.tools[name]
			if len(e.pairs) == 0 {
				continue
			}
			if from == nil || e.pairs[least(e.pairs)].worth().Before(from.pairs[least(from.pairs)].worth()) {
				from = e
			}
		}
		i := least(from.pairs)
		from.pairs, from.dirty = slices.Delete(from.pairs, i, i+1), true
		most.count--
		most.changed()
	}
}

func sortedKeys[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// examples returns an owner's requests by tool, the worthiest first, and a number that
// changes whenever they do.
func (s *Store) examples(ownerID string) (map[string][]string, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.load() != nil {
		return nil, 0
	}
	o := s.owners[ownerID]
	if o == nil {
		return nil, 0
	}
	if o.examples == nil {
		o.examples = map[string][]string{}
		for name, e := range o.tools {
			for _, p := range sorted(e.pairs) {
				o.examples[name] = append(o.examples[name], p.Request)
			}
		}
	}
	return o.examples, o.version
}

func sorted(pairs []Pair) []Pair {
	list := slices.Clone(pairs)
	slices.SortFunc(list, func(a, b Pair) int {
		return cmp.Or(b.worth().Compare(a.worth()), cmp.Compare(a.Request, b.Request))
	})
	return list
}

// List returns what an owner taught, by tool, the worthiest first.
func (s *Store) List(ownerID string) ([]Pair, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried = time.Time{} // who asks wants to know how it is now
	if err := s.load(); err != nil {
		return nil, err
	}
	o := s.owners[ownerID]
	if o == nil {
		return nil, nil
	}
	var all []Pair
	for _, name := range sortedKeys(o.tools) {
		all = append(all, sorted(o.tools[name].pairs)...)
	}
	return all, nil
}

// later writes in a while what is not written. s.mu is held.
func (s *Store) later() {
	if s.timer != nil || s.closed {
		return
	}
	s.timer = time.AfterFunc(flushAfter, func() {
		s.mu.Lock()
		s.timer = nil
		s.mu.Unlock()
		// What cannot be written now is written with what is learned next, or at the end.
		_ = s.flush(context.Background())
	})
}

// flush writes what is not written yet.
func (s *Store) flush(ctx context.Context) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.write(ctx)
}

// write writes the documents that changed. s.writing is held.
func (s *Store) write(ctx context.Context) error {
	s.mu.Lock()
	var changes []document.Change
	var entries []*entry
	for id, o := range s.owners {
		for name, e := range o.tools {
			if !e.dirty {
				continue
			}
			e.dirty = false
			c := document.Change{Collection: collection, Key: keyOf(id, name), If: e.version}
			if len(e.pairs) > 0 {
				c.Data, _ = json.Marshal(kept{id, name, e.pairs}) // of texts, numbers and times
			} else if e.version == 0 {
				delete(o.tools, name)
				continue
			}
			changes, entries = append(changes, c), append(entries, e)
		}
	}
	s.mu.Unlock()
	errs := []error{s.writeAsked(ctx)}
	for len(changes) > 0 {
		n := min(len(changes), maxWrite)
		version, err := s.put(ctx, changes[:n])
		s.mu.Lock()
		for i, e := range entries[:n] {
			switch {
			case err != nil:
				e.dirty = true
			case changes[i].Data == nil:
				e.version = 0
			default:
				e.version = version
			}
		}
		s.mu.Unlock()
		errs = append(errs, err)
		changes, entries = changes[n:], entries[n:]
	}
	return errors.Join(errs...)
}

// put makes changes. Where another kernel wrote a document meanwhile, the later write
// counts.
func (s *Store) put(ctx context.Context, changes []document.Change) (version int64, err error) {
	if len(changes) == 0 {
		return 0, nil
	}
	if version, err = s.docs.Write(ctx, changes...); tool.KindOf(err) != tool.Conflict {
		return version, err
	}
	return document.Update(ctx, s.docs, func() ([]document.Change, error) {
		var list []document.Change
		for _, c := range changes {
			now, err := s.docs.Get(ctx, c.Collection, c.Key)
			if err != nil && tool.KindOf(err) != tool.NotFound {
				return nil, err
			}
			if err == nil || c.Data != nil { // else it is gone already
				c.If = now.Version
				list = append(list, c)
			}
		}
		return list, nil
	})
}

// Close writes what is not written yet.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	return s.flush(context.Background())
}
