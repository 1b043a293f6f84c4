package permission

import (
	"context"
	"slices"
	"sync"
)

// Table holds the permissions of the open sessions. Make one with NewTable; nil is a
// table without any.
type Table struct {
	settle func(context.Context, Decided)

	mu       sync.Mutex
	sessions map[string]*permissions
	parents  map[string]string // the session whose permissions another one has
	above    map[string]origin // the session whose mode bounds that of another one
	waiting  []waitingCall     // in the order asked
	scripts  map[string]*scriptState
}

// NewTable makes an empty table. settle is called for each request that waits and that
// permissions decide; one that was answered meanwhile is none of its business.
func NewTable(settle func(context.Context, Decided)) *Table { return &Table{settle: settle} }

// waitingCall is a call that waits for a human.
type waitingCall struct {
	session, request string
	call             *Call
}

// origin is the session that another one works for, and in which mode that began.
type origin struct {
	session string
	began   Mode
}

// Of returns the permissions of a session.
func (t *Table) Of(session string) State {
	if t == nil {
		return State{Mode: Ask}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.of(session)
	if p == nil {
		return State{Mode: Ask}
	}
	s := p.State
	s.Mode, s.Allow = s.mode(), slices.Clone(s.Allow)
	return s
}

// of returns what counts for a session; nil: only the rules.
func (t *Table) of(session string) *permissions {
	if p := t.sessions[t.parents[session]]; p != nil {
		return p
	}
	own := t.sessions[session]
	if from, bounded := t.above[session]; bounded {
		return own.within(t.of(from.session), from.began)
	}
	return own
}

// Any reports whether a session has permissions beside the rules.
func (t *Table) Any(session string) bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of(session) != nil || len(t.scripts) > 0
}

// Decide decides about a call of a session.
func (t *Table) Decide(session string, c *Call) Decision {
	if t == nil {
		return Decision{}
	}
	t.mu.Lock()
	p, s := t.of(session), t.scripts[c.Script]
	t.mu.Unlock()
	if d := p.decide(c); d.Verdict != Nothing {
		return d
	}
	return s.decide(session, c)
}

// Change changes the permissions of a session.
func (t *Table) Change(session string, change func(State) State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if parent, ok := t.parents[session]; ok {
		session = parent
	}
	var now State
	if p := t.sessions[session]; p != nil {
		now = p.State
	}
	if t.sessions == nil {
		t.sessions = map[string]*permissions{}
	}
	now.Allow = slices.Clone(now.Allow)
	t.sessions[session] = newPermissions(change(now))
}

// Allow lets a session make calls without asking.
func (t *Table) Allow(session string, e Entry) {
	t.Change(session, func(s State) State {
		if !slices.ContainsFunc(s.Allow, e.same) {
			s.Allow = append(s.Allow, e)
		}
		return s
	})
}

// Inherit gives a session the permissions of another one, whatever they become. While
// the other one has none, the mode counts that the session began in, if that is Plan.
func (t *Table) Inherit(session, from string, began Mode) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.parents == nil {
		t.parents = map[string]string{}
	}
	t.parents[session] = from
	t.keepStrict(session, State{Mode: began})
}

// Bound gives a session the mode of another one, for which it works, whatever that becomes.
// What a human allowed the other one does not count for it: a yes for a session is about
// that session's calls. It may have a mode of its own that lets it do less, and calls that
// a human allowed it. While the other one has no permissions, the mode counts in which the
// work began, if that is Plan.
func (t *Table) Bound(session, by string, began Mode) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.above == nil {
		t.above = map[string]origin{}
	}
	t.above[session] = origin{by, began}
}

// within is what counts for a session that works for another one.
func (p *permissions) within(above *permissions, began Mode) *permissions {
	bound := State{Mode: Ask}
	switch {
	case above != nil:
		bound = above.State
	case began == Plan:
		bound.Mode = Plan
	}
	made := State{Mode: bound.mode(), By: bound.By, Human: bound.Human, Unattended: bound.Unattended}
	if p != nil {
		rank := func(m Mode) int { return slices.Index(Modes(), m) }
		if p.Mode != "" && rank(p.Mode) < rank(made.Mode) {
			made.Mode, made.By, made.Human = p.Mode, p.By, p.Human
		}
		made.Allow, made.Unattended = p.Allow, made.Unattended || p.Unattended
	}
	if made.Mode == Ask && !made.Unattended && len(made.Allow) == 0 {
		return nil
	}
	return newPermissions(made)
}

// keepStrict gives a session of its own what of a state lets it do less.
func (t *Table) keepStrict(session string, s State) {
	if s.Mode != Plan {
		s.Mode = Ask
	}
	if s.Mode == Ask && !s.Unattended {
		return
	}
	if t.sessions == nil {
		t.sessions = map[string]*permissions{}
	}
	t.sessions[session] = newPermissions(State{Mode: s.Mode, By: s.By, Human: s.Human, Unattended: s.Unattended})
}

// End forgets the permissions of a session. Those sessions that have them from it and
// go on keep what lets them do less: nobody has said that they may do more.
func (t *Table) End(session string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.of(session)
	delete(t.sessions, session)
	delete(t.parents, session)
	delete(t.above, session)
	if p == nil {
		return
	}
	for other, from := range t.above {
		if from.session == session && p.mode() == Plan { // nobody has said that it may do more
			t.above[other] = origin{session, Plan}
		}
	}
	for other, from := range t.parents {
		if from == session {
			delete(t.sessions, other)
			t.keepStrict(other, p.State)
		}
	}
}

// Await registers a call that waits for the answer to a request, until the function
// that it returns is called. The call is the table's from then on.
func (t *Table) Await(session, request string, c *Call) (done func()) {
	if t == nil {
		return func() {}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting = append(t.waiting, waitingCall{session, request, c})
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.waiting = slices.DeleteFunc(t.waiting, func(w waitingCall) bool { return w.request == request })
	}
}

// Decided is a request that waits, and what permissions say of it now.
type Decided struct {
	Request string
	Decision
}

// Settle has those requests settled that wait and that permissions decide now, in the
// order asked.
func (t *Table) Settle(ctx context.Context) {
	if t == nil {
		return
	}
	for _, d := range t.decided() {
		t.settle(ctx, d)
	}
}

func (t *Table) decided() []Decided {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []Decided
	for _, w := range t.waiting {
		d := t.of(w.session).decideWaiting(w.call)
		if s := t.scripts[w.call.Script]; d.Verdict == Nothing {
			d = s.decide(w.session, w.call)
		}
		if d.Verdict != Nothing {
			list = append(list, Decided{w.request, d})
		}
	}
	return list
}
