// Package watchers runs watchers: calls that are made again and again on behalf of an
// agent, which is told when what they give matters. internal/watch says what a watcher
// is and decides about its checks.
//
// # Law
//
//   - A watcher is one task, of the kind watch, that lasts as long as the watcher does.
//     It goes on after a restart as the same asker, and with what it knew.
//   - Each check is a call through the gate, judged by the rules of its time: what a human
//     would have to approve is refused, at the start and later. A watcher whose call is
//     not allowed any more, or whose app turned watchers off, fails, and says so.
//   - The first check is made when the watcher is started, by the call that starts it: a
//     call that cannot be made starts nothing.
//   - A notice is stored with the watcher before it is told, and told under an ID made
//     of the watcher's and a count. So it is told once, whenever a kernel ends. What
//     follows it are tasks of the kind watch.action, under IDs made of the notice's.
//     While one cannot be stored or told, its watcher checks nothing and does not end.
//   - A record of the journal is passed when it was checked, and not when it was read: what
//     a restart, a pause or a check that failed came between is in the next check.
//   - Other things that a watcher knows are stored now and then: a crash may forget checks
//     that told nothing.
//   - Where a source says that something changed, the next check comes sooner. The
//     timetable holds all the same, so that nothing that a source kept to itself stays
//     unseen for longer than an interval.
//   - A watcher is its conversation's. One that a client without a conversation started
//     is its owner's when that client has gone: see task.Asker. To others there is none.
//   - A conversation, or a client, has a limited number of watchers, and so has an app: what
//     clients leave behind that come and go counts until it has ended.
package watchers

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"callgate/internal/app"
	"callgate/internal/control"
	"callgate/internal/gate/schema"
	"callgate/internal/journal"
	"callgate/internal/kernel/deferred"
	"callgate/internal/kernel/servers"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/tasks"
	"callgate/internal/kernel/watchers/filewatch"
	"callgate/internal/task"
	"callgate/tool"
)

// The kinds of the tasks.
const (
	Kind       = "watch"
	KindAction = "watch.action"
)

// The bounds of what runs.
const (
	maxPerOwner = 100              // watchers of one conversation, or client
	maxPerApp   = 2000             // watchers of one user in one app, whoever started them
	maxChecks   = 32               // checks under way at once
	grid        = time.Second / 10 // checks are due at multiples of it, and so several together
	saveEvery   = 2 * time.Minute  // what a watcher knows, unless something was told
	soon        = 5 * time.Second  // in which one that was started runs
	keepBelow   = 10 * time.Second // whose interval is below this has its session kept
)

// Options is what Set needs of the kernel. All fields are required.
type Options struct {
	Runner   *tasks.Runner
	Calls    *deferred.Calls
	Sessions interface {
		Get(id string) (*session.Session, error)
	}
	Servers *servers.Set
	Journal *journal.Journal
	Log     *slog.Logger
	// Conversation reports whether a session is that of a conversation.
	Conversation func(id string) bool
}

// Set is the watchers of a kernel. Make one with New.
type Set struct {
	opt     Options
	pool    pool
	schemas schema.Cache
	files   filewatch.Hub

	rooms rooms

	mu      sync.Mutex
	live    map[string]*live
	came    chan struct{} // closed when one becomes live
	keepers map[string]*shared
}

// New makes the watchers of a kernel, and has its runner run them.
func New(o Options) *Set {
	s := &Set{opt: o, pool: newPool(), live: map[string]*live{}, came: make(chan struct{}), keepers: map[string]*shared{}}
	s.rooms.store = o.Runner.Store()
	o.Runner.Handle(Kind, s.run)
	o.Runner.Handle(KindAction, s.act)
	return s
}

// Tools makes the tools of watchers.
func (s *Set) Tools() []*tool.Tool { return control.WatcherTools(s, app.FeatureWatchers) }

// shared is the session that the watchers of one asker share.
type shared struct {
	*deferred.Keeper
	users    int
	frequent int // those of the users that check often
}

// keep returns the session of an asker, to be used until release is called. rest gives
// it back between two checks, if nobody needs it soon.
func (s *Set) keep(asker task.Asker, interval time.Duration) (kept *shared, rest, release func()) {
	asker.Call = ""
	text, err := json.Marshal(asker)
	if err != nil {
		s.opt.Log.Error("an asker cannot be written", "error", err)
	}
	key, often := string(text), interval < keepBelow
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept = s.keepers[key]; kept == nil {
		kept = &shared{Keeper: s.opt.Calls.Keep(asker)}
		s.keepers[key] = kept
	}
	kept.users++
	if often {
		kept.frequent++
	}
	rest = func() {
		s.mu.Lock()
		seldom := kept.frequent == 0
		s.mu.Unlock()
		if seldom {
			kept.Rest()
		}
	}
	return kept, rest, func() {
		s.mu.Lock()
		if often {
			kept.frequent--
		}
		kept.users--
		last := kept.users == 0
		if last {
			delete(s.keepers, key)
		}
		s.mu.Unlock()
		if last {
			kept.Close()
		}
	}
}

// idOf makes the ID of the watcher that a call starts: the same call made again after a
// crash finds the watcher that it started.
func idOf(call string) string {
	sum := sha256.Sum256([]byte("watcher " + call))
	return hex.EncodeToString(sum[:6])
}

// share is a number from 0 to 1 that is always the same for a watcher.
func share(id string) float64 {
	sum := sha256.Sum256([]byte(id))
	return float64(binary.BigEndian.Uint32(sum[:])) / (1 << 32)
}

// notFound is the error of a watcher that is not there, or is somebody else's.
func notFound(op, id string) error {
	return tool.Errorf(op, tool.NotFound, "there is no watcher %q", tool.Truncate(id)).
		WithHint("watch_list shows your watchers")
}
