package policy

import (
	"fmt"
	"sort"
	"sync"
	"time"

	"callgate/tool"
)

// Window is the span that rate limits count over.
const Window = time.Minute

// maxCounters bounds a limiter's memory, together with the largest limit.
const maxCounters = 1 << 16

// Limiter counts calls against rate limits. The zero value is ready, and one
// serves a whole kernel.
//
// The law: a call counts against every limit that matches it (its module, its
// module and action, and "*") or against none. All are looked at and then all
// are taken under one lock, so two calls never share the last place, and a
// refused call consumes nothing. The window slides: each place comes free
// exactly one Window after it was taken.
//
// Counts belong to an app and a user. They do not belong to a session or an
// agent, since a model could multiply those. The daemon's calls are counted
// apart, so that hooks and models do not starve each other. The kernel's own
// tools count only against limits that name their module: they re-enter the
// door for each target, and "*" would count such a call twice.
//
// Memory holds only what was called in the last two windows: idle counters are
// swept once a window, a counter holds no more places than its limit, and when
// there are too many counters a new one is refused rather than left uncounted.
type Limiter struct {
	mu       sync.Mutex
	counters map[counterKey]*counter
	start    time.Time     // times are kept as distances from here
	swept    time.Duration // when idle counters were last dropped
}

type counterKey struct {
	app, user      string
	daemon         bool
	module, action string
}

// counter holds when each call in the window was made, oldest first.
type counter struct{ calls []time.Duration }

// limitCheck is one limit that a call must pass.
type limitCheck struct {
	key   counterKey
	limit int
	used  *counter
}

// Take counts a call, or returns a Limited error that says how long to wait.
func (l *Limiter) Take(r *Rules, t *tool.Tool, p tool.Principal) error {
	var room [4]limitCheck
	claims := r.limits(room[:0], t, p)
	if len(claims) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.sweep(now)
	var longest time.Duration
	var strictest *limitCheck
	for i := range claims {
		c := &claims[i]
		c.used = l.counters[c.key]
		if c.used == nil && len(l.counters)+len(claims) > maxCounters {
			return tool.Errorf("policy.Take", tool.Limited, "more callers have rate limits than the kernel can count at once").
				WithHint("wait %d s, then call again", Window/time.Second)
		}
		if wait := c.used.wait(now, c.limit); wait > longest {
			longest, strictest = wait, c
		}
	}
	if strictest != nil {
		return strictest.refuse(t, longest)
	}
	for _, c := range claims {
		if c.used == nil {
			c.used = new(counter)
			l.counters[c.key] = c.used
		}
		c.used.calls = append(c.used.calls, now)
	}
	return nil
}

// limits appends the limits that match a call.
func (r *Rules) limits(claims []limitCheck, t *tool.Tool, p tool.Principal) []limitCheck {
	if r == nil {
		return nil
	}
	found := r.lookup(t.ID)
	names := [4][2]string{{t.ID.Namespace, t.ID.Name}, {t.ID.Namespace, wild}, {wild, t.ID.Name}, {wild, wild}}
	for i, c := range found.cells {
		if c == nil || c.limit == 0 || t.Runtime.Control && names[i][0] == wild {
			continue
		}
		key := counterKey{p.App, p.User, p.Daemon, names[i][0], names[i][1]}
		claims = append(claims, limitCheck{key: key, limit: c.limit})
	}
	return claims
}

// now is the time since the limiter's first call.
func (l *Limiter) now() time.Duration {
	if l.counters == nil {
		l.counters, l.start = make(map[counterKey]*counter), time.Now()
	}
	return time.Since(l.start)
}

// sweep drops counters that have nothing left in the window, once a window.
func (l *Limiter) sweep(now time.Duration) {
	if now-l.swept < Window {
		return
	}
	l.swept = now
	for key, c := range l.counters {
		if c.forget(now); len(c.calls) == 0 {
			delete(l.counters, key)
		}
	}
}

// forget drops the calls that have left the window.
func (c *counter) forget(now time.Duration) {
	gone := sort.Search(len(c.calls), func(i int) bool { return c.calls[i]+Window > now })
	c.calls = c.calls[gone:] // append moves the rest to fresh memory when this runs out
}

// wait returns how long until there is a place below limit; 0 is now.
func (c *counter) wait(now time.Duration, limit int) time.Duration {
	if c == nil {
		return 0
	}
	c.forget(now)
	if len(c.calls) < limit {
		return 0
	}
	return c.calls[len(c.calls)-limit] + Window - now
}

func (c *limitCheck) refuse(t *tool.Tool, wait time.Duration) error {
	name := c.key.module + "." + c.key.action
	if c.key.action == wild {
		name = c.key.module
	}
	seconds := (wait + time.Second - 1) / time.Second
	err := tool.Errorf("policy.Take", tool.Limited, "%s is over the limit of %s a minute for %q in rate_limits of tools.capabilities",
		t.ID.Dotted(), plural(c.limit, "call"), name)
	return err.WithHint("wait %d s, then call again", seconds)
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
