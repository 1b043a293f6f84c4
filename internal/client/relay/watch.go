package relay

import (
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"callgate/tool"
)

// # A kernel that does not answer
//
// While a request waits and nothing arrives, the kernel is probed on a connection of its
// own. One that gives no sign of life is named, once, on standard error and to the client
// as a log message, and so is its return. A call goes on waiting, because it may have
// begun; a request that only reads is answered with an error, at once if the process is
// known to be stopped, else when there was no sign for a while.

const (
	patience     = 3 * time.Second  // how long nothing may arrive before the first probe
	maxInterval  = 30 * time.Second // between the probes of a kernel that answers them
	silenceLimit = 30 * time.Second // after which a request that only reads is given up
)

// Silence is what a probe found of a kernel that is there and does not answer.
type Silence struct {
	Err     error
	Stopped bool // the process is known to be stopped
}

// clock is when something last happened on a link.
type clock struct{ at atomic.Int64 }

func (c *clock) set()                 { c.at.Store(time.Now().UnixNano()) }
func (c *clock) since() time.Duration { return time.Since(time.Unix(0, c.at.Load())) }

// watch watches a link for as long as it lasts.
func (k *link) watch(r *relay) {
	if r.Probe == nil {
		return
	}
	var silentSince time.Time
	for pause := patience; ; pause = min(2*pause, maxInterval) {
		select {
		case <-time.After(pause):
		case <-k.dead:
			return
		}
		if silentSince.IsZero() && (!k.isAwaited(r) || k.progress.since() < patience) {
			pause = patience / 2
			continue
		}
		silence := r.Probe(r.ctx)
		switch {
		case r.ctx.Err() != nil:
			return
		case silence == nil && !silentSince.IsZero():
			silentSince = time.Time{}
			r.tell("the kernel answers again")
		case silence == nil:
		default:
			pause = patience / 2
			if silentSince.IsZero() {
				silentSince = time.Now()
				r.tell(sentence(silence.Err))
			}
			if silence.Stopped || time.Since(silentSince) > silenceLimit {
				k.giveUpReads(r, silence.Err)
			}
		}
	}
}

// isAwaited reports whether a request waits for an answer over a link.
func (k *link) isAwaited(r *relay) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.table.waiting(), func(of *request) bool { return of.over == k })
}

// giveUpReads answers the requests to a silent kernel that have no effect. An
// introduction goes on waiting: the kernel takes only one over a link.
func (k *link) giveUpReads(r *relay, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range r.table.waiting() {
		if of.over == k && of.method != toolsCall && of.method != initialize {
			r.giveUp(of, errors.New(sentence(why)))
		}
	}
}

// tell tells the user and the client something about the kernel.
func (r *relay) tell(text string) {
	r.Status("callgate: %s", text)
	r.mu.Lock()
	wanted := r.client.answered && r.client.wantsWarnings()
	r.mu.Unlock()
	if wanted {
		r.say(encode(map[string]any{"jsonrpc": "2.0", "method": "notifications/message", "params": map[string]any{
			"level": "warning", "logger": "callgate", "data": text,
		}}))
	}
}

// wantsWarnings reports whether the client has asked for no less than warnings.
func (c *introduction) wantsWarnings() bool {
	if c.level == nil {
		return true
	}
	var of struct{ Params struct{ Level string } }
	err := json.Unmarshal(c.level.bytes(), &of)
	return err == nil && !slices.Contains([]string{"error", "critical", "alert", "emergency"}, of.Params.Level)
}

// sentence is an error with what to do next.
func sentence(err error) string {
	var e *tool.Error
	if errors.As(err, &e) && e.Hint != "" {
		return e.Message + "; " + e.Hint
	}
	return err.Error()
}
