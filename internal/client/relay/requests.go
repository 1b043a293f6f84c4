package relay

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"callgate/internal/memtrim"
	"callgate/internal/protocol/callid"
)

// The methods that the bridge knows.
const (
	cancelled   = "notifications/cancelled"
	initialize  = "initialize"
	initialized = "notifications/initialized"
	toolsCall   = "tools/call"
	toolsList   = "tools/list"
	setLevel    = "logging/setLevel"
	subscribe   = "resources/subscribe"
	unsubscribe = "resources/unsubscribe"
)

// maxKept bounds what is kept of requests without an answer, so that they can be sent
// again.
const maxKept = 64 << 20

// request is a request of the client that has no answer yet, or one of the bridge's
// own.
type request struct {
	n      uint64 // its id at the kernel, which no other request of this bridge has
	id     string // as the client wrote it
	method string
	line   *line  // nil: it was too large to be kept
	edits  []edit // in their order
	size   int

	over      *link  // that it was sent over; nil: it waits to be sent
	tries     int    // how many connections it was sent over that broke
	callIDs   string // of the kernel that it was last sent to
	cancelled bool
	own       bool        // the client waits for no answer
	done      func()      // its memory may be returned
	answer    func(*line) // takes the answer of an own one; may be nil
}

// mayHaveBegun reports whether the request may have had an effect at a kernel that went
// away.
func (r *request) mayHaveBegun() bool { return r.method == toolsCall && r.tries > 0 }

// table has the requests without an answer.
type table struct {
	key   callid.Key
	last  uint64
	open  map[uint64]*request
	byKey map[string]*request // of the client, by its id
	kept  int
	large memtrim.Large
}

func newTable(key callid.Key) *table {
	return &table{key: key, open: map[uint64]*request{}, byKey: map[string]*request{}}
}

// add adds a request, under an id of our own. Our id is unique over all connections,
// while a client may use its ids again, and may use ids that a kernel cannot keep.
func (t *table) add(l *line, own bool) *request {
	m := l.found[0]
	t.last++
	r := &request{n: t.last, id: m.id, method: m.method, line: l, size: l.size, own: own}
	r.edits = []edit{{m.idAt, strconv.FormatUint(r.n, 10)}}
	if r.method == toolsCall {
		r.edits = append(r.edits, number(m, t.key.Number(r.n))...)
		slices.SortFunc(r.edits, func(a, b edit) int { return a.begin - b.begin })
	}
	t.open[r.n] = r
	if !own {
		t.byKey[keyOf(r.id)] = r
	}
	t.kept += r.size
	r.done = t.large.Begin(r.size)
	return r
}

// number writes the number of a call into its _meta.
func number(m message, signed string) []edit {
	field := `"` + callid.Meta + `":"` + signed + `"` // neither has anything to quote
	comma := func(o bool) string {
		if o {
			return ""
		}
		return ","
	}
	switch {
	case m.meta.Found:
		return []edit{{span{m.meta.End, m.meta.End}, comma(m.meta.Empty) + field}}
	case m.params.Found:
		return []edit{{span{m.params.End, m.params.End}, comma(m.params.Empty) + `"_meta":{` + field + "}"}}
	}
	return nil
}

// sent notes that a request was sent. What cannot be kept is forgotten.
func (t *table) sent(r *request, over *link) {
	r.over, r.callIDs = over, over.kernel.CallIDs
	over.progress.set()
	if t.kept > maxKept && r.line != nil && r.size > joinBelow {
		t.forget(r)
	}
}

func (t *table) forget(r *request) {
	if r.line != nil {
		r.line, r.edits = nil, nil
		t.kept -= r.size
		r.done()
	}
}

// remove removes a request that has its answer.
func (t *table) remove(r *request) {
	if t.open[r.n] != r {
		return
	}
	delete(t.open, r.n)
	if key := keyOf(r.id); t.byKey[key] == r {
		delete(t.byKey, key)
	}
	t.forget(r)
}

// waiting are the requests whose answers the client waits for, the oldest first.
func (t *table) waiting() []*request {
	list := slices.DeleteFunc(slices.Collect(maps.Values(t.open)), func(r *request) bool { return r.own || r.cancelled })
	slices.SortFunc(list, func(a, b *request) int { return cmp.Compare(a.n, b.n) })
	return list
}
