package agent

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"callgate/internal/conversation/history"
	"callgate/internal/lazyregexp"
	"callgate/internal/resulttext"
	"callgate/tool"
)

// The limits of a model that loops. A note comes first, once for each thing that repeats.
const (
	noteAfterSame     = 5  // times the same call had the same result
	stopAfterSame     = 12 // and the turn ends
	stopAfterRepeats  = 18 // calls in a row that are all repeats: a loop over several calls
	noteAfterFailures = 8  // failures of one tool in a row, whatever its arguments: a note, never the end
)

// The notes, and the reasons of a stop.
const (
	sameNote = "You have called %s %d times with the same arguments and got the same result each time, " +
		"and nothing was changed in between: it will not differ the next time. Use what you know, " +
		"take another approach, or tell the user what keeps you from going on. " +
		"If you wait for something, wait longer within one call."
	sameStop = "%s was called %d times with the same arguments and the same result, " +
		"and nothing was changed in between"
	repeatsStop  = "the last %d calls (%s) repeated earlier ones with the same results"
	failuresNote = "%s has failed %d times in a row. Read its last error and its parameters again, " +
		"do it in another way, or tell the user what keeps you from going on."
)

// loopGuard notices when a model loops. It observes the calls of one turn.
//
// # Law
//
// What counts is the same call with the same arguments and the same result. A call that
// changed something, and was not seen before, begins the count anew: so edits and tests
// that fail in turn are work, however long it takes, and a status that changes is not a
// loop. Loops over several calls are seen as each of them repeats.
type loopGuard struct {
	seen    map[[sha256.Size]byte]bool // the calls of the turn, with their results
	counts  map[[sha256.Size]byte]int  // in how many answers each was, since the last change
	repeats []string                   // the tools of the last calls, in a row, that had been seen
	failing string                     // the tool that failed last
	fails   int                        // its failures in a row
	notes   []string
	stop    string
}

// observe counts the calls of one answer. Those that stand in it twice count once.
func (g *loopGuard) observe(calls []history.Call, results []*tool.Result) {
	inAnswer := map[[sha256.Size]byte]bool{}
	for i, c := range calls {
		r := results[i]
		if r.Status == tool.Waiting { // it has not ended
			continue
		}
		g.countFailure(c.Name, r)
		sum := fingerprint(c, r)
		if inAnswer[sum] {
			continue
		}
		inAnswer[sum] = true
		g.count(c.Name, sum, r.Status == tool.Success && !isReadTool(c.Name))
	}
}

// count counts a call with its result; changed says that the call may have changed something.
func (g *loopGuard) count(name string, sum [sha256.Size]byte, changed bool) {
	if g.seen == nil {
		g.seen, g.counts = map[[sha256.Size]byte]bool{}, map[[sha256.Size]byte]int{}
	}
	if g.seen[sum] {
		g.repeats = append(g.repeats, name)
	} else {
		g.repeats, g.seen[sum] = nil, true
		if changed {
			clear(g.counts)
		}
	}
	g.counts[sum]++
	switch n := g.counts[sum]; {
	case n == noteAfterSame:
		g.notes = append(g.notes, fmt.Sprintf(sameNote, name, n))
	case n == stopAfterSame:
		g.stop = fmt.Sprintf(sameStop, name, n)
	case len(g.repeats) == stopAfterRepeats:
		names := slices.Compact(slices.Sorted(slices.Values(g.repeats)))
		g.stop = fmt.Sprintf(repeatsStop, stopAfterRepeats, tool.TruncateTo(strings.Join(names, ", "), 200))
	}
}

func (g *loopGuard) countFailure(name string, r *tool.Result) {
	if r.Status == tool.Success {
		if g.failing == name || !isReadTool(name) {
			g.fails = 0
		}
		return
	}
	if g.failing != name {
		g.failing, g.fails = name, 0
	}
	if g.fails++; g.fails == noteAfterFailures {
		g.notes = append(g.notes, fmt.Sprintf(failuresNote, name, noteAfterFailures))
	}
}

// durations are what differs between two runs of a command that fails in the same way.
var durations = lazyregexp.New(`\b\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|sec|secs|seconds?)\b|\b\d\d:\d\d:\d\d(?:\.\d+)?`)

// fingerprint identifies a call by its name, its arguments and its result. How long a
// failure took is no part of it; in a result it may be what is waited for.
func fingerprint(c history.Call, r *tool.Result) [sha256.Size]byte {
	h := sha256.New()
	part := func(text string) { fmt.Fprintf(h, "%d:%s", len(text), text) }
	part(c.Name)
	part(canonicalArgs(c.Args))
	part(string(r.Status))
	for _, content := range resulttext.Body(r, nil) {
		text := content.Text
		if r.Status != tool.Success {
			text = durations.ReplaceAllString(text, "…")
		}
		part(content.Type)
		part(text)
		part(string(content.Data))
	}
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	return sum
}

// canonicalArgs writes arguments so that neither spaces nor the order of keys count.
func canonicalArgs(args json.RawMessage) string {
	var value any
	if json.Unmarshal(args, &value) == nil {
		if data, err := json.Marshal(value); err == nil {
			return string(data)
		}
	}
	return string(args)
}

// isReadTool reports whether a tool's name says that it reads or searches: its success
// changes nothing.
func isReadTool(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{
		"read", "search", "grep", "glob", "list", "get", "find", "browse", "fetch", "show", "describe", "status",
	} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// action returns the new notes for the model, and the reason if the turn must end.
func (g *loopGuard) action() (note, stop string) {
	note = strings.Join(g.notes, "\n")
	g.notes = nil
	return note, g.stop
}
