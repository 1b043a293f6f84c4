package learned

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"callgate/internal/document"
)

const askedCollection = "search_asked"

// asked are the searches of one asker that may still teach, the oldest first.
type asked struct {
	Owner    string     `json:"owner,omitempty"`
	Searches []searched `json:"searches"`
}

// searched is one search and what it showed.
type searched struct {
	Request string    `json:"request"`
	At      time.Time `json:"at"`
	Tools   []string  `json:"tools"` // dotted names that it showed, and has not taught yet
	Taught  int       `json:"taught,omitempty"`
}

// Session is where somebody searches and calls. It is safe for concurrent use.
type Session struct {
	store *Store
	owner string
	id    string
	asker string // whose searches count, beyond this session; "": those of the session alone

	mu  sync.Mutex
	own asked
	off bool
}

// Session makes a session of an owner. The commands of one terminal are sessions of
// their own with one asker: what one of them found is what the next calls. A session
// of no store is nil, and learns nothing.
func (s *Store) Session(owner, id, asker string) *Session {
	if s == nil {
		return nil
	}
	return &Session{store: s, owner: owner, id: id, asker: asker}
}

// Off has the session neither teach nor use what was taught.
func (s *Session) Off(off bool) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off = off; off {
		s.own.Searches = nil
	}
}

// Examples returns the requests that the owner's searches taught, by dotted name, and a
// number that changes whenever they do. The map is not changed any more.
func (s *Session) Examples() (byTool map[string][]string, version uint64) {
	if s == nil || s.isOff() {
		return nil, 0
	}
	return s.store.examples(s.owner)
}

func (s *Session) isOff() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.off
}

// List returns what the owner's searches taught.
func (s *Session) List() ([]Pair, error) {
	if s == nil {
		return nil, nil
	}
	return s.store.List(s.owner)
}

// Forget removes what fits of what the owner's searches taught, and returns it.
func (s *Session) Forget(ctx context.Context, f Filter) ([]Pair, error) {
	if s == nil {
		return nil, nil
	}
	if f.All {
		s.mu.Lock()
		s.own.Searches = nil
		s.mu.Unlock()
	}
	return s.store.Forget(ctx, s.owner, f)
}

// Shown notes which tools a search showed, by dotted name, the best first.
func (s *Session) Shown(request string, tools []string) {
	if s == nil || s.isOff() || len(tools) == 0 {
		return
	}
	request, ok := s.store.clean(request)
	if !ok {
		return
	}
	one := searched{Request: request, At: time.Now(), Tools: slices.Clone(tools[:min(len(tools), maxShown)])}
	if s.asker != "" {
		s.store.shown(s.asker, s.owner, one)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own.add(one)
}

// Succeeded notes that a tool was called, and that the call went well: if a search showed
// it a short while ago, its request is kept. It does not wait for a disk, but for the
// first read.
func (s *Session) Succeeded(name string) {
	if s == nil || s.isOff() {
		return
	}
	now := time.Now()
	var request string
	if s.asker != "" {
		request = s.store.taught(s.asker, name, now)
	} else {
		s.mu.Lock()
		request = s.own.take(name, now)
		s.mu.Unlock()
	}
	if request != "" {
		s.store.learn(s.owner, s.id, name, request, now)
	}
}

// add notes a search.
func (a *asked) add(one searched) {
	a.expire(one.At)
	a.Searches = append(a.Searches, one)
	a.Searches = a.Searches[max(0, len(a.Searches)-maxPending):]
}

// expire drops what is too long ago.
func (a *asked) expire(now time.Time) {
	a.Searches = slices.DeleteFunc(a.Searches, func(s searched) bool {
		return now.Sub(s.At) > Soon || s.At.After(now.Add(time.Minute)) || s.Taught >= maxTaught
	})
}

// take returns the request of the last search that showed a tool, once; "" if none did.
func (a *asked) take(name string, now time.Time) string {
	a.expire(now)
	for i := len(a.Searches) - 1; i >= 0; i-- {
		s := &a.Searches[i]
		if at := slices.Index(s.Tools, name); at >= 0 {
			s.Tools = slices.Delete(s.Tools, at, at+1)
			s.Taught++
			return s.Request
		}
	}
	return ""
}

// shown notes a search of an asker who is more than one session.
func (s *Store) shown(asker, owner string, one searched) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.load() != nil {
		return
	}
	a := s.asked[asker]
	if a == nil || a.Owner != owner {
		a = &asked{Owner: owner}
		s.asked[asker] = a
	}
	a.add(one)
	s.dirty[asker] = true
	s.later()
}

// taught returns the request of an asker's last search that showed a tool, once.
func (s *Store) taught(asker, name string, now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.load() != nil || s.asked[asker] == nil {
		return ""
	}
	request := s.asked[asker].take(name, now)
	if request != "" {
		s.dirty[asker] = true
		s.later()
	}
	return request
}

// loadAsked reads the searches that may still teach. s.mu is held.
func (s *Store) loadAsked(ctx context.Context) error {
	all, err := document.ListAll(ctx, s.docs, askedCollection, "")
	for _, doc := range all {
		var a asked
		if json.Unmarshal(doc.Data, &a) != nil {
			a = asked{}
		}
		a.Searches = a.Searches[max(0, len(a.Searches)-maxPending):]
		a.Searches = slices.DeleteFunc(a.Searches, func(one searched) bool {
			text, ok := s.clean(one.Request)
			return !ok || text != one.Request
		})
		s.asked[doc.Key] = &a
	}
	s.expireAsked(time.Now())
	return err
}

// expireAsked drops the askers without a search that may still teach. s.mu is held.
func (s *Store) expireAsked(now time.Time) {
	for key, a := range s.asked {
		if a.expire(now); len(a.Searches) == 0 {
			delete(s.asked, key)
			s.dirty[key] = true
		}
	}
}

// writeAsked writes the searches that may still teach, and removes those that may not.
func (s *Store) writeAsked(ctx context.Context) error {
	s.mu.Lock()
	s.expireAsked(time.Now())
	var changes []document.Change
	for key := range s.dirty {
		c := document.Change{Collection: askedCollection, Key: key}
		if a := s.asked[key]; a != nil {
			c.Data, _ = json.Marshal(a) // of texts and times
		}
		changes = append(changes, c)
	}
	clear(s.dirty)
	s.mu.Unlock()
	_, err := s.put(ctx, changes)
	if err != nil {
		s.mu.Lock()
		for _, c := range changes {
			s.dirty[c.Key] = true
		}
		s.mu.Unlock()
	}
	return err
}

// Asker names the commands of one terminal in one folder with one app.
func Asker(terminal, workspace, app string) string {
	return document.Join("terminal", terminal, workspace, app)
}
