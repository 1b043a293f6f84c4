package queue

import "time"

// Limits bound what is sent in any minute, and what runs at once. Zero is no limit.
type Limits struct {
	RPM           int // requests that begin in a minute
	TPM           int // tokens of requests that begin in a minute, read and written
	MaxConcurrent int // requests that run at once
}

// Bounds say how long a request waits, and what becomes of it while its provider fails. Zero is no
// bound.
type Bounds struct {
	Length        int           // requests that wait at once
	Wait          time.Duration // of one request, in the queue
	Patience      time.Duration // with a pause that the provider asked for
	CoolDown      time.Duration // how long a provider that fails is not asked
	CoolDownAfter int           // failures in a row; 0: it is always asked
}

// Level is how urgent a request is: a lower one goes first.
type Level int

// The levels.
const (
	Retry       Level = iota // it was sent before, and failed
	Interactive              // somebody waits for the answer
	Background               // nobody does
	Low                      // it may wait for all others
)

const (
	window  = time.Minute      // of the limits
	ageStep = 30 * time.Second // a request that has waited so long counts as one level more urgent
	// maxPause bounds a pause by one word of the provider. Then the next request asks again, for
	// somebody may have raised the limit.
	maxPause = 10 * time.Minute
)

// Meter counts what is sent under limits. A queue's meters are guarded by its lock.
type Meter struct {
	limits  Limits
	running int
	sent    []*charge // those of the last minute, the oldest first; nil without RPM and TPM
	tokens  int       // of sent
	paced   time.Time // when the next request that nobody waits for may begin
	blocked uint64    // the last scan in which it let a request wait
}

// NewMeter returns a meter for limits. Requests of one queue share it, and no others do.
func NewMeter(l Limits) *Meter { return &Meter{limits: l} }

// charge is one request in a meter's count.
type charge struct {
	at     time.Time
	tokens int
	gone   bool // a minute is over
}

// forget drops what began a minute ago or earlier.
func (m *Meter) forget(now time.Time) {
	n := 0
	for n < len(m.sent) && now.Sub(m.sent[n].at) >= window {
		m.sent[n].gone = true
		m.tokens -= m.sent[n].tokens
		n++
	}
	m.sent = m.sent[n:]
}

// admits reports whether a request may begin now, or else when to look again; a zero time: when
// another has ended.
func (m *Meter) admits(now time.Time, tokens int) (at time.Time, ok bool) {
	if m.limits.MaxConcurrent > 0 && m.running >= m.limits.MaxConcurrent {
		return time.Time{}, false
	}
	m.forget(now)
	if m.limits.RPM > 0 && len(m.sent) >= m.limits.RPM {
		return m.sent[len(m.sent)-m.limits.RPM].at.Add(window), false
	}
	if m.limits.TPM > 0 {
		over := m.tokens + min(tokens, m.limits.TPM) - m.limits.TPM
		for _, c := range m.sent {
			if over <= 0 {
				break
			}
			if over -= c.tokens; over <= 0 {
				return c.at.Add(window), false
			}
		}
	}
	return time.Time{}, true
}

// take counts a request.
func (m *Meter) take(now time.Time, level Level, tokens int) *charge {
	m.running++
	c := &charge{at: now}
	if m.limits.TPM > 0 {
		c.tokens = min(tokens, m.limits.TPM) // more than all could never begin
	}
	if m.limits.RPM > 0 || m.limits.TPM > 0 {
		m.sent = append(m.sent, c)
		m.tokens += c.tokens
	}
	if gap := m.gap(c.tokens); level >= Background && gap > 0 {
		if now.Sub(m.paced) > gap { // less is a timer that was late
			m.paced = now
		}
		m.paced = m.paced.Add(gap)
	}
	return c
}

// gap is the time between requests of a size that keeps to the limits evenly.
func (m *Meter) gap(tokens int) time.Duration {
	var gap time.Duration
	if m.limits.RPM > 0 {
		gap = window / time.Duration(m.limits.RPM)
	}
	if m.limits.TPM > 0 {
		gap = max(gap, time.Duration(float64(window)*float64(tokens)/float64(m.limits.TPM)))
	}
	return gap
}

// correct puts the tokens that a request took in the place of the estimate.
func (m *Meter) correct(c *charge, level Level, tokens int) {
	if m.limits.TPM == 0 || c.gone {
		return
	}
	if level >= Background {
		m.paced = m.paced.Add(m.gap(tokens) - m.gap(c.tokens))
	}
	m.tokens += tokens - c.tokens
	c.tokens = tokens
}

// remove takes back a request that was not sent.
func (m *Meter) remove(c *charge) {
	for i := len(m.sent) - 1; i >= 0; i-- {
		if m.sent[i] == c {
			m.sent = append(m.sent[:i], m.sent[i+1:]...)
			m.tokens -= c.tokens
			return
		}
	}
}
