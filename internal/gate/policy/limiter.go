package policy

import (
	"sort"
	"sync"
	"time"

	"callgate/internal/amount"
	"callgate/tool"
)

// Window is the period over which rate limits count.
const Window = time.Minute

// maxCounters bounds a limiter's memory, together with the largest limit.
const maxCounters = 1 << 16

// Limiter counts calls against rate limits. The zero value is ready to use; one
// limiter serves a whole kernel.
//
// The law: a call counts against every limit that matches it (its module, its
// module and action, and "*") or against none. One lock covers the check of all
// limits and the count, so two calls never share the last slot and a refused
// call uses none. The window slides: a slot is free again exactly one Window
// after it was used.
//
// Counts belong to an app and a user, not to a session or an agent, because a
// model could open more of those. The daemon's calls are counted separately, so
// that hooks and models do not starve each other. The kernel's own tools count
// only against limits that name their module: they call the gate again for each
// target, and "*" would count such a call twice.
//
// Memory covers only the calls of the last two windows. Idle counters are
// dropped once a window, a counter holds no more calls than its limit, and when
// there are too many counters a new caller is refused rather than left uncounted.
type Limiter struct {
	mu       sync.Mutex
	counters map[counterKey]*counter
	start    time.Time     // times are stored as durations since start
	swept    time.Duration // when idle counters were last dropped
}

type counterKey struct {
	app, user      string
	daemon         bool
	module, action string
}

// counter holds the times of the calls in the window, oldest first.
type counter struct{ calls []time.Duration }

// limitCheck is one limit that a call must pass.
type limitCheck struct {
	key   counterKey
	limit int
	used  *counter
}

// Take counts a call, or returns a Limited error that says how long to wait.
func (l *Limiter) Take(r *Rules, t *tool.Tool, p tool.Principal) error {
	var buffer [4]limitCheck // avoids an allocation
	checks := r.limits(buffer[:0], t, p)
	if len(checks) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.sweep(now)
	var longest time.Duration
	var strictest *limitCheck
	for i := range checks {
		c := &checks[i]
		c.used = l.counters[c.key]
		if c.used == nil && len(l.counters)+len(checks) > maxCounters {
			return tool.Errorf("policy.Take", tool.Limited,
				"more callers have rate limits than the kernel can count at once").
				WithHint("wait %d s, then call again", Window/time.Second)
		}
		if wait := c.used.wait(now, c.limit); wait > longest {
			longest, strictest = wait, c
		}
	}
	if strictest != nil {
		return strictest.refuse(t, longest)
	}
	for _, c := range checks {
		if c.used == nil {
			c.used = new(counter)
			l.counters[c.key] = c.used
		}
		c.used.calls = append(c.used.calls, now)
	}
	return nil
}

// limits appends the limits that match a call.
func (r *Rules) limits(checks []limitCheck, t *tool.Tool, p tool.Principal) []limitCheck {
	if r == nil {
		return nil
	}
	var buffer [4]ruleSet
	sets := r.also.sets(r.sets(buffer[:0], t.ID), t.ID)
	names := [4][2]string{{t.ID.Namespace, t.ID.Name}, {t.ID.Namespace, wild}, {wild, t.ID.Name}, {wild, wild}}
	for i, name := range names {
		var lowest rule
		for j := range sets {
			if c := sets[j].found.rules[i]; c != nil && c.limit != 0 {
				lowest.lower(c.limit)
			}
		}
		if lowest.limit == 0 || t.Runtime.Control && name[0] == wild {
			continue
		}
		key := counterKey{p.App, p.User, p.Daemon, name[0], name[1]}
		checks = append(checks, limitCheck{key: key, limit: lowest.limit})
	}
	return checks
}

// WithLimits returns the rules with the rate limits of others beside their own: the lower holds.
func (r *Rules) WithLimits(of *Rules) *Rules {
	var both Rules
	if r != nil {
		both = *r
	}
	both.also = of
	return &both
}

// now returns the time since the limiter's first call.
func (l *Limiter) now() time.Duration {
	if l.counters == nil {
		l.counters, l.start = make(map[counterKey]*counter), time.Now()
	}
	return time.Since(l.start)
}

// sweep drops counters without calls in the window, once a window.
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
	old := sort.Search(len(c.calls), func(i int) bool { return c.calls[i]+Window > now })
	c.calls = c.calls[old:] // append copies the rest to new memory when the capacity is used up
}

// wait returns the time until a slot below limit is free; 0 means now.
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
	const text = "%s is over the limit of %s a minute for %q in rate_limits of tools.capabilities"
	return tool.Errorf("policy.Take", tool.Limited, text, t.ID.Dotted(), amount.Of(c.limit, "call"), name).
		WithHint("wait %d s, then call again", seconds)
}
