// Package history judges what happened while processes were killed: what clients
// were told, what really happened, and what is on record must fit together.
//
// Law, for each call that a client sent:
//   - told success: it happened, once, and its end is on record;
//   - told that it was not begun, or failed: it did not happen;
//   - told in doubt, or its client was killed: it happened once, or not at all;
//   - told that it happens later, by itself: it has an end or a doubt on record when
//     all is over, and happened once where that says so;
//   - it was told something, unless its own client was the one killed.
//
// News of work that went on by itself is in the history of the conversation that began
// it, once, and in no other.
//
// A call whose second time is its first (a file written whole) may happen more than
// once, but never over something newer: what is in a file is the last acknowledged
// write, or one that was not over when that was sent. Every call that began has an
// end or a doubt on record, and no call was made more often than Attempts.
package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Attempts is how often one call may be made: once, and twice after crashes.
const Attempts = 3

// Verb is what a call does.
type Verb string

// The verbs.
const (
	Append Verb = "append" // its token is in the ledger once for each time it happened
	Write  Verb = "write"  // a file holds its ID afterwards
	Read   Verb = "read"
)

// Told is what a client was told about its call.
type Told string

// What clients are told.
const (
	Success  Told = "success"
	Promised Told = "promised"  // it happens later, by itself
	NotBegun Told = "not begun" // refused, unavailable, failed: it did not happen
	InDoubt  Told = "in doubt"
	Stopped  Told = "cancelled" // it may still be under way
	Gone     Told = "gone"      // its client was killed, and nobody was told
	Silent   Told = "nothing"   // its client lived and heard nothing
)

// Op is one call as its client saw it. A read of the disk, and a person's edit, are
// calls too.
type Op struct {
	ID   string // of a write or an append: unique in a run
	Verb Verb
	File string // of a write or a read
	Via  string // which client
	Tool string
	Sent time.Time
	Done time.Time // zero: there was no answer
	Told Told
	Text string // the words in which it was told
	Saw  string // of a read: the ID in the file; "": nothing
	Want string // of a read in order after a write: the ID it must see
	// Unledgered says that no ledger shows this write: only the file does.
	Unledgered bool
	// Unrecorded says that it went past the kernel, or that its record may go with it.
	Unrecorded bool
}

// Effect is a line of a ledger: something that really happened.
type Effect struct {
	ID   string
	File string // empty: an append
	At   time.Time
}

// Call is one call as the journal has it.
type Call struct {
	Call     string // its ID in the journal
	Op       string // the ID of the Op that it is an attempt at
	Tool     string
	Begun    int // how often
	Ended    bool
	Told     Told // what its end says
	Doubted  bool
	Resolved bool
}

// History is what a run brought.
type History struct {
	Ops     []Op
	Effects []Effect
	Calls   []Call
	Notices []Notice
	Deaths  []time.Time // of kernels, in order: what a kernel did ends with it
}

// Notice is news that a conversation was owed.
type Notice struct {
	Op   string
	To   string         // the conversation that began it
	Owed bool           // it must be there by the end
	In   map[string]int // how often it is in the history of each conversation
}

// Kind is what was violated.
type Kind string

// The kinds of violation.
const (
	Lost        Kind = "acknowledged lost"
	Doubled     Kind = "doubled"
	Stale       Kind = "old write over newer data"
	ToldWrong   Kind = "told wrong"
	Untold      Kind = "told nothing"
	Unaccounted Kind = "unaccounted"
	Repeated    Kind = "repeated too often"
	Order       Kind = "out of order"
	Torn        Kind = "torn"
	Unheard     Kind = "news never told"
	HeardTwice  Kind = "news told twice"
	Misdirected Kind = "news told to another"
)

// Violation is something that may not happen.
type Violation struct {
	Kind Kind
	Op   string // the ID of the call
	At   time.Time
	Text string
}

func (v Violation) String() string { return fmt.Sprintf("%s: %s: %s", v.Kind, v.Op, v.Text) }

// checker is a history with what is looked up in it.
type checker struct {
	History
	ops     map[string]*Op
	effects map[string][]Effect
	calls   map[string][]Call
	acked   map[string]*timeline // by file
	found   []Violation
	said    map[said]bool
}

// said is a violation that has been found: a file shows the same one to each reader.
type said struct {
	kind Kind
	op   string
}

// Check returns the violations in a history, by time.
func Check(h History) []Violation {
	c := &checker{History: h, ops: map[string]*Op{}, effects: map[string][]Effect{},
		calls: map[string][]Call{}, said: map[said]bool{}}
	for i := range h.Ops {
		if op := &h.Ops[i]; op.ID != "" {
			c.ops[op.ID] = op
		}
	}
	for _, e := range h.Effects {
		c.effects[e.ID] = append(c.effects[e.ID], e)
	}
	for _, call := range h.Calls {
		c.calls[call.Op] = append(c.calls[call.Op], call)
	}
	c.acked = timelines(h.Ops)
	c.checkOps()
	c.checkEffects()
	c.checkCalls()
	c.checkNotices()
	slices.SortStableFunc(c.found, func(a, b Violation) int { return a.At.Compare(b.At) })
	return c.found
}

func (c *checker) say(kind Kind, op string, at time.Time, format string, args ...any) {
	if key := (said{kind, op}); op == "" || !c.said[key] {
		c.said[key] = true
	} else {
		return
	}
	c.found = append(c.found, Violation{kind, op, at, fmt.Sprintf(format, args...)})
}

func (c *checker) checkOps() {
	for _, op := range c.Ops {
		if op.Told == Silent {
			c.say(Untold, cmp.Or(op.ID, op.File), op.Sent, "%s over %s got no answer and no error: %s", op.Tool, op.Via, op.Text)
		}
		if op.Verb == Read {
			c.checkRead(op)
			continue
		}
		happened := len(c.effects[op.ID])
		switch {
		case op.Told == Success && happened == 0 && !op.Unledgered:
			c.say(Lost, op.ID, op.Done, "%s over %s was told success and never happened", op.Tool, op.Via)
		case op.Told == NotBegun && happened > 0:
			c.say(ToldWrong, op.ID, op.Done, "%s over %s was told %q, and happened", op.Tool, op.Via, op.Text)
		}
		if op.Told == Promised {
			c.checkPromise(op, happened)
		}
		if op.Told == Success && !op.Unrecorded && !slices.ContainsFunc(c.calls[op.ID], endedWell) {
			c.say(Lost, op.ID, op.Done, "%s over %s was told success, and no end of it is on record", op.Tool, op.Via)
		}
		if op.Verb == Append && happened > 1 {
			again := c.effects[op.ID][1].At
			c.say(Doubled, op.ID, again, "%s over %s, told %s, happened %d times", op.Tool, op.Via, op.Told, happened)
		}
	}
}

// checkPromise checks a call that was to happen later.
func (c *checker) checkPromise(op Op, happened int) {
	calls := c.calls[op.ID]
	over := slices.ContainsFunc(calls, func(call Call) bool { return call.Ended || call.Doubted || call.Resolved })
	done := slices.ContainsFunc(calls, func(call Call) bool { return call.Ended && call.Told == Success })
	switch {
	case op.Unrecorded && happened == 0:
		c.say(Lost, op.ID, op.Done, "%s over %s was promised and never happened", op.Tool, op.Via)
	case !op.Unrecorded && !over:
		c.say(Lost, op.ID, op.Done, "%s over %s was promised, and neither an end nor a doubt is on record", op.Tool, op.Via)
	case done && happened == 0:
		c.say(Lost, op.ID, op.Done, "%s over %s was promised, is on record as done, and never happened", op.Tool, op.Via)
	}
}

// checkNotices checks what conversations were told.
func (c *checker) checkNotices() {
	for _, n := range c.Notices {
		for in, times := range n.In {
			switch {
			case in != n.To:
				c.say(Misdirected, n.Op, time.Time{}, "the conversation %s began it, and %s was told", n.To, in)
			case times > 1:
				c.say(HeardTwice, n.Op, time.Time{}, "the conversation %s was told %d times", in, times)
			}
		}
		if n.Owed && n.In[n.To] == 0 {
			c.say(Unheard, n.Op, time.Time{}, "the conversation %s was never told", n.To)
		}
	}
}

func endedWell(call Call) bool { return call.Ended && call.Told == Success || call.Resolved }

// checkRead checks what a read saw.
func (c *checker) checkRead(op Op) {
	if op.Told != Success {
		return
	}
	if op.Want != "" && op.Saw != op.Want {
		c.say(Order, op.Want, op.Done, "a read after the write %s in one answer saw %q", op.Want, op.Saw)
		return
	}
	c.checkContent(op.File, op.Saw, op.Sent, "a read over "+op.Via+" saw it")
}

// checkContent checks that a write may be what a file held at a time.
func (c *checker) checkContent(file, id string, at time.Time, how string) {
	var end time.Time // nothing was written
	write, known := c.ops[id]
	switch {
	case id != "" && (!known || write.File != file):
		c.say(Torn, id, at, "%s held something that nobody wrote there; %s", file, how)
		return
	case id != "":
		end = c.end(write)
		if write.Told == NotBegun && write.Unledgered {
			c.say(ToldWrong, id, at, "%s over %s was told %q, and is in %s; %s", write.Tool, write.Via, write.Text, file, how)
		}
	}
	newer := c.acked[file].between(end, at)
	if newer == nil {
		return
	}
	const words = "%s held it although %s (over %s) was sent %s after it was over and acknowledged %s before; %s"
	kind := Lost
	if id != "" && (write.Told != Success || len(c.effects[id]) > 1) {
		kind = Stale
	}
	c.say(kind, cmp.Or(id, file), at, words, file, newer.ID, newer.Via,
		newer.Sent.Sub(end).Round(time.Millisecond), at.Sub(newer.Done).Round(time.Millisecond), how)
}

// end is when a write was over: nothing may come of it later, but by an attempt to
// make it again. A call that its client left may go on until its kernel dies.
func (c *checker) end(op *Op) time.Time {
	if op.Told != Stopped && op.Told != Gone && op.Told != Silent {
		return op.Done
	}
	at, _ := slices.BinarySearchFunc(c.Deaths, op.Sent, time.Time.Compare)
	if at == len(c.Deaths) {
		return endless
	}
	return c.Deaths[at]
}

// endless is after every run.
var endless = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// checkEffects checks that nothing happened that nobody asked for, and that no write
// happened over something newer.
func (c *checker) checkEffects() {
	for _, e := range c.Effects {
		op, known := c.ops[e.ID]
		if !known {
			c.say(Unaccounted, e.ID, e.At, "it happened, and no client sent it")
			continue
		}
		if !slices.ContainsFunc(c.calls[e.ID], func(call Call) bool { return call.Begun > 0 }) && !op.Unrecorded {
			c.say(Unaccounted, e.ID, e.At, "it happened, and the journal has no call that began")
		}
		if e.File != "" {
			c.checkContent(e.File, e.ID, e.At, "the server wrote it")
		}
	}
}

// checkCalls checks the journal by itself.
func (c *checker) checkCalls() {
	for id, calls := range c.calls {
		for _, call := range calls {
			if call.Begun > 0 && !call.Ended && !call.Doubted && !call.Resolved {
				const words = "call %s of %s began; neither an end nor a doubt is on record"
				c.say(Unaccounted, call.Op, time.Time{}, words, call.Call, call.Tool)
			}
		}
		if len(calls) == 1 && calls[0].Told == NotBegun && !calls[0].Doubted && len(c.effects[id]) > 0 {
			const words = "call %s of %s is on record as one that did not happen, and it did"
			c.say(ToldWrong, id, c.effects[id][0].At, words, calls[0].Call, calls[0].Tool)
		}
		begun, open := count(calls)
		if id != "" && begun > Attempts {
			c.say(Repeated, id, time.Time{}, "%s was begun %d times", calls[0].Tool, begun)
		}
		if id != "" && open > 1 {
			c.say(Repeated, id, time.Time{}, "%s is in doubt %d times", calls[0].Tool, open)
		}
	}
}

// count counts how often the attempts at one call began, and how many are in doubt.
func count(calls []Call) (begun, open int) {
	for _, call := range calls {
		begun += call.Begun
		if call.Doubted && !call.Ended && !call.Resolved {
			open++
		}
	}
	return begun, open
}
