// Package judge holds what clients of a cluster were told against what their calls did.
package judge

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"

	"callgate/scripts/cluster/effects"
)

// Verdict is what a client was told in the end.
type Verdict string

// The verdicts.
const (
	Done     Verdict = "done"     // it went well
	NotDone  Verdict = "not done" // it was not made, for sure
	InDoubt  Verdict = "in doubt" // nobody knows
	NoAnswer Verdict = "no answer"
)

// Outcome is one call, as its client saw it.
type Outcome struct {
	Key, Account string
	Sent         time.Time
	Answered     time.Time
	Verdict      Verdict
	Value        int // of Done: what the account was then
	Tries        int
	Last         string // the last error, in words
}

// Report is what was found.
type Report struct {
	Done, NotDone, InDoubt, NoAnswer int
	DoubtDone                        int // of those in doubt or without an answer: they had happened
	Refused                          int // writes that came after their fence, and were refused
	Verified                         uint64
	Violations                       []string
}

func (r *Report) violate(format string, args ...any) {
	r.Violations = append(r.Violations, fmt.Sprintf(format, args...))
}

// Judge compares outcomes with writes.
func Judge(outcomes []Outcome, writes []effects.Write) Report {
	var r Report
	byKey := map[string][]effects.Write{}
	next, byCall := map[string]int{}, map[string]string{}
	for _, w := range writes {
		if w.Refused {
			r.Refused++
			continue
		}
		byKey[w.Key] = append(byKey[w.Key], w)
		next[w.Account]++
		if w.Value != next[w.Account] {
			r.violate("%s was written %d by call %s of node %s, and %d was next: two calls were at it at once",
				w.Account, w.Value, w.Call, w.Node, next[w.Account])
			next[w.Account] = w.Value
		}
		if before, is := byCall[w.Call]; is {
			r.violate("call %s took effect twice, for %s and %s", w.Call, before, w.Key)
		}
		byCall[w.Call] = w.Key
	}
	for _, o := range outcomes {
		r.judge(o, byKey[o.Key])
	}
	r.order(outcomes, byKey)
	return r
}

// judge holds one call against what was written for it.
func (r *Report) judge(o Outcome, made []effects.Write) {
	if len(made) > 1 {
		r.violate("%s took effect %d times: on node %s, then on node %s", o.Key, len(made), made[0].Node, made[1].Node)
	}
	switch o.Verdict {
	case Done:
		r.Done++
		switch {
		case len(made) == 0:
			r.violate("%s was answered with success, and has no effect", o.Key)
		case made[0].Value != o.Value:
			r.violate("%s was told %d, and wrote %d", o.Key, o.Value, made[0].Value)
		}
	case NotDone:
		r.NotDone++
		if len(made) > 0 {
			r.violate("%s was answered with a refusal (%s), and took effect on node %s", o.Key, o.Last, made[0].Node)
		}
	case InDoubt:
		r.InDoubt++
		r.DoubtDone += len(made)
	default:
		r.NoAnswer++
		r.DoubtDone += len(made)
	}
}

// order checks that the calls that took effect can be put in an order in which each account grows by one, and none
// comes before it was sent or after it was answered.
func (r *Report) order(outcomes []Outcome, byKey map[string][]effects.Write) {
	history := map[string][]porcupine.Operation{}
	for i, o := range outcomes {
		made := byKey[o.Key]
		if len(made) == 0 {
			continue
		}
		end := o.Answered
		if o.Verdict != Done {
			end = o.Sent.Add(24 * time.Hour) // it may have happened at any time
		}
		history[o.Account] = append(history[o.Account], porcupine.Operation{
			ClientId: i, Call: o.Sent.UnixNano(), Output: made[0].Value, Return: end.UnixNano(),
		})
	}
	for account, operations := range history {
		if porcupine.CheckOperationsTimeout(counter, operations, time.Minute) == porcupine.Illegal {
			r.violate("the calls of %s cannot be put in an order", account)
		}
	}
}

// counter grows by one with each operation, which returns it.
var counter = porcupine.Model{
	Init: func() any { return 0 },
	Step: func(state, _, output any) (bool, any) { return output.(int) == state.(int)+1, output },
}
