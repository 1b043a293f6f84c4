// Package callcount counts calls out of what the journal holds: by module, tool and outcome, how long they took,
// and which of them run now.
//
// # Law
//
// The counts are those of the journal's records, from the moment at which the counter was made. Records are read
// when somebody asks, and not before: a kernel that nobody watches does nothing for it. What is kept does not
// grow with the number of calls, nor with names that somebody makes up: a tool counts under its own name only if
// the registry resolved it, at most MaxTools do, and the others are together under Other.
package callcount

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/journal"
	"callgate/internal/observe/metric"
	"callgate/tool"
)

// The bounds of what is kept.
const (
	MaxTools   = 256 // that count under their own names
	maxModules = 64
	maxRunning = 1024 // calls that are known to run
)

// Other is the name under which tools and modules beyond the bounds count, and Unknown that of calls whose name
// means no tool.
const (
	Other   = "other"
	Unknown = "unknown"
)

// Refused is the outcome of a call that was refused before it ran.
const Refused = "refused"

// Reader reads the journal. *journal.Journal is one.
type Reader interface {
	Read(ctx context.Context, q journal.Query) ([]journal.Record, error)
	Progress() (last uint64, waiting int)
}

// Tally counts the calls of one tool, or one module.
type Tally struct {
	Outcomes map[string]uint64 // by status; Refused
	Took     metric.Histogram  // of those that ran
}

// Calls is how many there were.
func (t *Tally) Calls() (n uint64) {
	for _, count := range t.Outcomes {
		n += count
	}
	return n
}

// Failed is how many of them ran and did not go well.
func (t *Tally) Failed() uint64 {
	return t.Calls() - t.Outcomes[string(tool.Success)] - t.Refused()
}

// Refused is how many did not run: by the rules, for their arguments, or because a human said no.
func (t *Tally) Refused() uint64 { return t.Outcomes[Refused] + t.Outcomes[string(tool.Refused)] }

func (t *Tally) clone() *Tally { return &Tally{Outcomes: maps.Clone(t.Outcomes), Took: t.Took} }

// Running is a call that has begun and not ended.
type Running struct {
	Call, Tool, Principal string
	Since                 time.Time
}

// Counts is what was counted until now.
type Counts struct {
	Tools    map[string]*Tally // by dotted name
	Modules  map[string]*Tally
	Errors   map[string]uint64 // calls that ran and failed, by kind
	Refusals map[string]uint64 // calls that were refused, by kind
	Answers  map[string]uint64 // of humans, by verdict
	Running  []Running         // the oldest first; a read that needs no human is on record when it has ended
	Records  uint64
	LastSeq  uint64
	Minute   int // calls that ended, or were refused, in the last minute
}

// Counter counts. Make one with New. It is safe for concurrent use.
type Counter struct {
	journal Reader
	now     func() time.Time

	mu      sync.Mutex
	counts  Counts
	running map[string]Running
	seconds [60]second
}

// second is how many calls ended within one second of the clock.
type second struct {
	at    int64
	calls int
}

// New makes a counter of what is recorded from now on.
func New(j Reader, now func() time.Time) *Counter {
	c := &Counter{journal: j, now: now, running: map[string]Running{}, counts: Counts{
		Tools: map[string]*Tally{}, Modules: map[string]*Tally{},
		Errors: map[string]uint64{}, Refusals: map[string]uint64{}, Answers: map[string]uint64{},
	}}
	c.counts.LastSeq, _ = j.Progress()
	return c
}

// Counts reads what is new in the journal and returns what was counted. When the journal cannot be read, or ctx
// ends, what was counted before is there beside the error, and the next call goes on from it.
func (c *Counter) Counts(ctx context.Context) (Counts, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.catchUp(ctx)
	out := c.counts
	out.Tools, out.Modules = cloneTallies(out.Tools), cloneTallies(out.Modules)
	out.Errors, out.Refusals, out.Answers = maps.Clone(out.Errors), maps.Clone(out.Refusals), maps.Clone(out.Answers)
	out.Running = slices.SortedFunc(maps.Values(c.running), func(a, b Running) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Call, b.Call))
	})
	for _, s := range c.seconds {
		if age := c.now().Unix() - s.at; age >= 0 && age < int64(len(c.seconds)) {
			out.Minute += s.calls
		}
	}
	return out, err
}

func cloneTallies(from map[string]*Tally) map[string]*Tally {
	to := make(map[string]*Tally, len(from))
	for name, t := range from {
		to[name] = t.clone()
	}
	return to
}

func (c *Counter) catchUp(ctx context.Context) error {
	for {
		records, err := c.journal.Read(ctx, journal.Query{After: c.counts.LastSeq, Limit: 2000})
		if err != nil || len(records) == 0 {
			return err
		}
		for i := range records {
			c.add(&records[i])
		}
	}
}

func (c *Counter) add(r *journal.Record) {
	c.counts.LastSeq = r.Seq
	c.counts.Records++
	switch {
	case r.Kind == journal.Begun:
		if len(c.running) < maxRunning {
			who := ""
			if r.Principal != nil {
				who = r.Principal.String()
			}
			c.running[r.Call] = Running{Call: r.Call, Tool: dotted(r.Tool), Principal: who, Since: r.Time}
		}
	case r.Kind == journal.Ended && r.End != nil:
		delete(c.running, r.Call)
		took := r.End.Took
		if r.End.Status == tool.Refused { // a human said no, or nobody answered
			took = -1
		}
		c.ended(r, string(r.End.Status), took)
		if r.End.Error != "" {
			c.counts.Errors[string(r.End.Error)]++
		}
	case r.Kind == journal.Asked && r.Ask != nil && r.Ask.Verdict == journal.Refuse:
		c.ended(r, Refused, -1)
		c.counts.Refusals[cmp.Or(string(r.Ask.Error), string(tool.Denied))]++
	case r.Kind == journal.Doubted:
		delete(c.running, r.Call)
	case r.Kind == journal.Answered && r.Answer != nil:
		c.counts.Answers[r.Answer.Verdict]++
	}
}

// ended counts a call; a negative time: it did not run.
func (c *Counter) ended(r *journal.Record, outcome string, took time.Duration) {
	name := dotted(r.Tool)
	module := name
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		module = name[:i]
	}
	for _, t := range []*Tally{tallyOf(c.counts.Tools, name, MaxTools), tallyOf(c.counts.Modules, module, maxModules)} {
		t.Outcomes[outcome]++
		if took >= 0 {
			t.Took.Add(took)
		}
	}
	at := r.Time.Unix()
	if s := &c.seconds[max(at, 0)%int64(len(c.seconds))]; s.at == at {
		s.calls++
	} else if at > s.at {
		*s = second{at, 1}
	}
}

func tallyOf(in map[string]*Tally, name string, most int) *Tally {
	if in[name] == nil && len(in) >= most {
		name = Other
	}
	if in[name] == nil {
		in[name] = &Tally{Outcomes: map[string]uint64{}}
	}
	return in[name]
}

// dotted is the name of a tool from its ID in a record.
func dotted(id string) string {
	if id == "" {
		return Unknown
	}
	parsed, err := tool.ParseID(id)
	if err != nil {
		return Unknown
	}
	return parsed.Dotted()
}
