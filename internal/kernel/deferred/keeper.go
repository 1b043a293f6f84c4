package deferred

import (
	"context"
	"sync"
	"time"

	"callgate/internal/gate"
	"callgate/internal/kernel/apps"
	"callgate/internal/kernel/session"
	"callgate/internal/task"
	"callgate/tool"
)

// Keeper keeps a session for an asker who calls often, such as a watcher: building one
// costs twenty times a call. Law: a call is judged by the rules of now all the same, or by
// those of a moment before, if it was due by then (calls that are due together look once). The
// session is built again when what it was made from has changed: a file of the app, what
// a human accepted, the folder; and after a while in any case. While it is kept, the
// asker's session counts as one that has not ended.
type Keeper struct {
	calls *Calls
	asker task.Asker

	mu     sync.Mutex
	closed bool
	held   *held     // nil: none is kept
	looked time.Time // when it was last begun to see whether that is still right
}

// held is a session that is kept, and what it was made from.
type held struct {
	session *session.Session
	sources *apps.Sources
	built   time.Time
	uses    int // the calls that use it, and one for the keeper
}

// keepFor is how long a session is kept at most.
const keepFor = 30 * time.Second

// Keep makes a keeper for an asker. It must be closed.
func (c *Calls) Keep(asker task.Asker) *Keeper { return &Keeper{calls: c, asker: asker} }

// Call makes a call that is not made again after a crash, and waits for its end.
// allowed is asked first, if it is not nil: whether the session, as it is now, may be
// used for this at all.
func (k *Keeper) Call(
	ctx context.Context, r gate.CallRequest, allowed func(*session.Session) error,
) *tool.Result {
	return k.CallDue(ctx, time.Now(), r, allowed)
}

// CallDue is Call for one that was due at a time, which is not long ago.
func (k *Keeper) CallDue(
	ctx context.Context, due time.Time, r gate.CallRequest, allowed func(*session.Session) error,
) *tool.Result {
	var result *tool.Result
	err := k.use(ctx, due, func(s *session.Session) error {
		if allowed != nil {
			if err := allowed(s); err != nil {
				return err
			}
		}
		result = s.Call(ctx, r)
		return nil
	})
	if err != nil {
		return failure(r, err)
	}
	return result
}

// Use does something with the session as it is now.
func (k *Keeper) Use(ctx context.Context, do func(*session.Session) error) error {
	return k.use(ctx, time.Now(), do)
}

func (k *Keeper) use(ctx context.Context, due time.Time, do func(*session.Session) error) error {
	h, err := k.enter(ctx, due)
	if err != nil {
		return err
	}
	defer k.leave(h)
	return do(h.session)
}

// enter returns the session that is kept, or a new one in its place, as it is right for
// what is due at a time.
func (k *Keeper) enter(ctx context.Context, due time.Time) (*held, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, tool.Errorf(op, tool.Unavailable, "the keeper of the session %s is closed", k.asker.Principal.Session)
	}
	if err := k.calls.checkToken(ctx, k.asker); err != nil {
		return nil, err
	}
	if h := k.held; h != nil && due.After(k.looked) { // else somebody looked since
		k.looked = time.Now()
		if k.looked.Sub(h.built) > keepFor || !h.sources.Unchanged() {
			k.held = nil
			k.drop(h)
		}
	}
	if k.held != nil {
		k.held.uses++
		return k.held, nil
	}
	before := time.Now()
	s, err := k.calls.open(ctx, k.asker)
	if err != nil {
		return nil, err
	}
	h := &held{session: s, built: before, uses: 1}
	k.looked = before
	var known bool
	if h.sources, known = apps.SourcesOf(s.Loaded(), before); known {
		k.held = h
		h.uses++
	}
	return h, nil
}

// leave ends the use of a session.
func (k *Keeper) leave(h *held) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drop(h)
}

// drop counts a use less; the last one closes the session. The lock is held.
func (k *Keeper) drop(h *held) {
	if h.uses--; h.uses == 0 {
		h.session.Close()
	}
}

// Rest gives the session back until the next call: it will not come soon.
func (k *Keeper) Rest() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if h := k.held; h != nil {
		k.held = nil
		k.drop(h)
	}
}

// Close gives the session back for good.
func (k *Keeper) Close() {
	k.Rest()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
}
