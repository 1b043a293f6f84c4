package locktest

import (
	"context"
	"strings"
	"testing"
	"time"

	"callgate/internal/gate/lock"
	"callgate/tool"
)

// Locks are what is tested.
type Locks interface {
	// Acquire waits until every claim is held, and tells blocked who is in the way while it waits: at least once,
	// when the request has its place in the queue.
	Acquire(ctx context.Context, r lock.Request, blocked func(lock.Blocker)) (release func(), err error)
	// Settle returns when what was released, or given up, has its effect on requests made from then on.
	Settle(t testing.TB)
	// Who returns the calls that hold and those that wait, each in the order of their tickets: "a b | c".
	Who(t testing.TB) string
}

// patience is how long something is waited for that must happen.
const patience = 20 * time.Second

// Run tests locks; open makes some, which nobody uses. They may be the same each time.
func Run(t *testing.T, open func(t *testing.T) Locks) {
	for name, test := range map[string]func(t *testing.T, open func(t *testing.T) Locks){
		"modes follow the matrix":         modesFollowTheMatrix,
		"locks cover the tree":            locksCoverTheTree,
		"claims of one request join":      claimsJoin,
		"a folder read, a file written":   folderAndFile,
		"requests are served in turn":     servedInTurn,
		"a request does not wait":         doesNotWait,
		"a wait times out":                timesOut,
		"a wait is cancelled":             waitIsCancelled,
		"a cancelled call gets nothing":   cancelledBefore,
		"a second release does nothing":   secondRelease,
		"a request without claims":        noClaims,
		"names are bytes":                 namesAreBytes,
		"long paths do not pass unlocked": longPaths,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

// acquire takes locks that must be granted at once.
func acquire(t testing.TB, locks Locks, text string) func() {
	t.Helper()
	release, err := locks.Acquire(t.Context(), lock.Request{Claims: Claims(text), Wait: -1}, nobody)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		release()
		locks.Settle(t)
	}
}

func nobody(lock.Blocker) {}

// passes reports whether a request would be granted now, and leaves no trace.
func passes(t testing.TB, locks Locks, claims []tool.Claim) bool {
	t.Helper()
	release, err := locks.Acquire(t.Context(), lock.Request{Claims: claims, Wait: -1}, nobody)
	if err == nil {
		release()
		locks.Settle(t)
		return true
	}
	if tool.KindOf(err) != tool.Busy {
		t.Fatal(err)
	}
	return false
}

// passing returns the modes that would be granted on a resource.
func passing(t testing.TB, locks Locks, resource string) string {
	t.Helper()
	var pass []string
	for _, mode := range Modes {
		if passes(t, locks, Claims(mode+" "+resource)) {
			pass = append(pass, mode)
		}
	}
	return strings.Join(pass, " ")
}

// want checks who holds and who waits, now or as soon as it is so.
func want(t testing.TB, locks Locks, who string) {
	t.Helper()
	got := locks.Who(t)
	for end := time.Now().Add(patience); got != who && time.Now().Before(end); got = locks.Who(t) {
		<-time.After(time.Millisecond)
	}
	if got != who {
		t.Fatalf("holding | waiting: %q, want %q", got, who)
	}
}

// waiting is a request that was made, and holds or waits.
type waiting struct {
	cancel context.CancelFunc
	had    chan func() // its release, when it is granted
	failed chan error
	by     chan lock.Blocker // who was in its way, when that was first said
}

// join makes a request, and returns when it holds, or has its place.
func join(t testing.TB, locks Locks, r lock.Request) *waiting {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &waiting{cancel, make(chan func(), 1), make(chan error, 1), make(chan lock.Blocker, 1)}
	placed := make(chan struct{}, 2)
	go func() {
		release, err := locks.Acquire(ctx, r, func(by lock.Blocker) {
			select {
			case w.by <- by:
				placed <- struct{}{}
			default:
			}
		})
		if err != nil {
			w.failed <- err
		} else {
			w.had <- release
		}
		placed <- struct{}{}
	}()
	<-placed
	return w
}

// end ends a request, whether it holds or waits.
func (w *waiting) end(t testing.TB, locks Locks) {
	t.Helper()
	w.cancel()
	select {
	case release := <-w.had:
		release()
	case err := <-w.failed:
		if tool.KindOf(err) != tool.Cancelled {
			t.Fatal(err)
		}
	}
	locks.Settle(t)
}
