//go:build linux

package drive

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"callgate/internal/protocol"
	"callgate/scripts/soak/history"
	"callgate/tool"
)

// The kinds of violation that a history does not show.
const (
	Damaged     history.Kind = "journal damaged"
	Orphan      history.Kind = "process left behind"
	Leftover    history.Kind = "file left behind"
	Unstartable history.Kind = "does not start"
)

// log is what a group did and saw.
type log struct {
	mu       sync.Mutex
	ops      []history.Op
	deaths   []time.Time
	kills    map[string]int
	starts   []Start
	problems []history.Violation
	calls    map[string]*history.Call // of the journal, by their IDs there
	order    []string
	seq      uint64 // up to which the journal was read
}

func newLog() *log { return &log{kills: map[string]int{}, calls: map[string]*history.Call{}} }

func (l *log) add(op history.Op) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ops = append(l.ops, op)
}

func (l *log) problem(kind history.Kind, op, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problems = append(l.problems, history.Violation{Kind: kind, Op: op, At: time.Now(), Text: text})
}

func (l *log) killed(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kills[what]++
	if what == "kernel" {
		l.deaths = append(l.deaths, time.Now())
	}
}

// started counts a start, and the doubts that were open at the last look.
func (l *log) started(s Start) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.calls {
		if c.Doubted && !c.Resolved {
			s.Doubts++
		}
	}
	l.starts = append(l.starts, s)
}

// record takes in a page of the journal.
func (l *log) record(page []protocol.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range page {
		l.seq = max(l.seq, r.Seq)
		if r.Call == "" {
			continue
		}
		c := l.calls[r.Call]
		if c == nil {
			c = &history.Call{Call: r.Call, Tool: cmp.Or(r.Tool, r.Name)}
			l.calls[r.Call] = c
			l.order = append(l.order, r.Call)
		}
		if r.Ask != nil && c.Op == "" && !beginsLater(c.Tool) {
			c.Op = idPattern.FindString(string(r.Ask.Args))
		}
		switch r.Kind {
		case protocol.RecordKindBegun:
			c.Begun++
		case protocol.RecordKindEnded:
			c.Ended, c.Told = true, history.Success
			if r.End != nil && r.End.Status != tool.Success {
				c.Told = toldBy(r.End.Error)
			}
		case protocol.RecordKindDoubted:
			c.Doubted = true
		case protocol.RecordKindResolved:
			c.Resolved = true
		}
	}
}

// history is everything so far.
func (g *group) history() history.History {
	l := g.log
	l.mu.Lock()
	defer l.mu.Unlock()
	h := history.History{Ops: slices.Clone(l.ops), Deaths: slices.Clone(l.deaths), Effects: g.effects,
		Notices: g.lasting.notices}
	slices.SortFunc(h.Deaths, time.Time.Compare)
	for _, id := range l.order {
		h.Calls = append(h.Calls, *l.calls[id])
	}
	return h
}
