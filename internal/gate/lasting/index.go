package lasting

import (
	"encoding/json"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"callgate/internal/gate/match"
	"callgate/tool"
)

// entry is a grant in the index.
type entry struct {
	Grant   // without its uses
	pattern *match.Pattern
	args    any    // of an exact call, as they are hashed
	command bool   // the pattern is about a command line
	begins  prefix // of what the pattern fits; may be empty
	version int64  // of its document; guarded by the store's write lock. Of one at every node it is not used

	mu    sync.Mutex
	uses  Uses
	added Uses // those that are not written yet, of one at every node
	dirty bool // its uses are not written yet
}

func newEntry(g Grant) (*entry, error) {
	const op = "lasting.Grant"
	e := &entry{Grant: g, uses: g.Uses}
	e.Uses = Uses{}
	switch {
	case g.ID == "" || g.Tool == "" || len(g.Match) == 0:
		return nil, tool.Errorf(op, tool.Invalid, "a lasting grant names one tool, and one call or one pattern")
	case g.App != "" && (g.Folder != "" || g.AppFile != ""):
		return nil, tool.Errorf(op, tool.Invalid, "a grant for an app at every node names no folder and no app file")
	case g.Folder == "" && g.AppFile != "":
		return nil, tool.Errorf(op, tool.Invalid, "%s comes with an app, and cannot be granted everywhere", g.Tool).
			WithHint("grant it in the app's folder")
	}
	var form map[string]any
	err := json.Unmarshal(g.Match, &form)
	if err == nil {
		e.pattern, err = match.Compile(form)
	}
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Invalid, Err: err, Message: "the pattern cannot be used"}
	}
	e.args, e.begins = form["="], prefixOf(form)
	_, e.command = form["command"]
	return e, nil
}

// snapshot is the grant with its uses.
func (e *entry) snapshot() Grant {
	e.mu.Lock()
	defer e.mu.Unlock()
	g := e.Grant
	g.Uses = e.uses
	g.Uses.Calls = slices.Clone(e.uses.Calls)
	return g
}

// use counts a call. It reports whether nothing was waiting to be written before.
func (e *entry) use(call string, now time.Time) (first bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	one := Uses{Count: 1, Last: now, Calls: []string{call}}
	e.uses.add(one)
	if e.App != "" {
		e.added.add(one)
	}
	first, e.dirty = !e.dirty, true
	return first
}

// add adds later uses.
func (u *Uses) add(more Uses) {
	u.Count += more.Count
	if more.Last.After(u.Last) {
		u.Last = more.Last
	}
	u.Calls = append(slices.Clip(u.Calls), more.Calls...)
	if extra := len(u.Calls) - maxCalls; extra > 0 {
		u.Calls = slices.Clone(u.Calls[extra:])
	}
}

// where is what the calls that one shelf is for have in common.
type where struct {
	tool, folder, appFile string
	app                   string // that is one at all nodes; empty: the call's app is not
}

// shelf has the grants that may cover the calls of one tool in one folder: those
// of the folder and those for everywhere, together, because several of them may
// cover the parts of one command line.
type shelf struct {
	exact    map[uint64][]*entry // by the hash of the arguments
	commands match.Set
	numbered []*entry // those of commands, by their numbers there
	rest     []*entry
	ends     time.Time // when the first of them ends; zero: none does
}

// maxShelves bounds the folders whose shelves are kept ready.
const maxShelves = 1000

// index finds grants. It is guarded by the store's lock.
type index struct {
	seed    maphash.Seed
	byID    map[string]*entry
	byTool  map[string][]*entry
	shelves map[where]*shelf // made when they are first asked for, and anew after a change
}

func newIndex() index {
	return index{
		seed: maphash.MakeSeed(), byID: map[string]*entry{}, byTool: map[string][]*entry{}, shelves: map[where]*shelf{},
	}
}

func (x *index) add(e *entry) {
	x.byID[e.ID] = e
	x.byTool[e.Tool] = append(x.byTool[e.Tool], e)
	clear(x.shelves)
}

func (x *index) remove(id string) {
	e := x.byID[id]
	if e == nil {
		return
	}
	delete(x.byID, id)
	x.byTool[e.Tool] = slices.DeleteFunc(x.byTool[e.Tool], func(other *entry) bool { return other == e })
	if len(x.byTool[e.Tool]) == 0 {
		delete(x.byTool, e.Tool)
	}
	clear(x.shelves)
}

// ready returns the shelf for a call, or nil when it has to be made.
func (x *index) ready(at where, now time.Time) *shelf {
	s := x.shelves[at]
	if s == nil || !s.ends.IsZero() && !now.Before(s.ends) {
		return nil
	}
	return s
}

// make makes the shelf for a call.
func (x *index) make(at where, now time.Time) *shelf {
	s := &shelf{exact: map[uint64][]*entry{}}
	for _, e := range x.byTool[at.tool] {
		if e.Ended(now) || !e.isFor(at) {
			continue
		}
		s.add(e, x.seed)
		if !e.Until.IsZero() && (s.ends.IsZero() || e.Until.Before(s.ends)) {
			s.ends = e.Until
		}
	}
	if len(x.shelves) >= maxShelves {
		clear(x.shelves)
	}
	x.shelves[at] = s
	return s
}

// isFor reports whether the grant counts in a place: see the package's law.
func (e *entry) isFor(at where) bool {
	switch {
	case e.App != "":
		return at.appFile == "" && at.app == e.App
	case e.Folder == "":
		return at.appFile == ""
	}
	return e.Folder == at.folder && e.AppFile == at.appFile
}

func (s *shelf) add(e *entry, seed maphash.Seed) {
	switch {
	case e.Exact:
		h := hash(seed, e.args)
		s.exact[h] = append(s.exact[h], e)
	case e.command:
		s.commands.Add(e.pattern)
		s.numbered = append(s.numbered, e)
	default:
		s.rest = append(s.rest, e)
	}
}

// find returns the grants that cover a call together.
func (s *shelf) find(c *Call, seed maphash.Seed) []*entry {
	if len(s.exact) > 0 {
		for _, e := range s.exact[hash(seed, c.Args)] {
			if e.pattern.Fits(c.Call) {
				return []*entry{e}
			}
		}
	}
	var begins valueCache
	for _, e := range s.rest {
		if begins.mayFit(c, e.begins) && e.pattern.Fits(c.Call) {
			return []*entry{e}
		}
	}
	if len(s.numbered) == 0 {
		return nil
	}
	numbers, ok := s.commands.Fits(c.Call)
	if !ok {
		return nil
	}
	found := make([]*entry, len(numbers))
	for i, n := range numbers {
		found[i] = s.numbered[n]
	}
	return found
}
