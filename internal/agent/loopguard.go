package agent

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"callgate/internal/conversation/history"
	"callgate/tool"
)

// The limits of a model that loops. The model gets one note each time it reaches
// the limit of a note.
const (
	noteAfterFailures = 8  // failures of one tool in a row: a note
	stopAfterFailures = 12 // failures of one tool in a row: the end of the turn
	noteAfterSame     = 8  // identical calls among the last sameWindow: a note
	sameWindow        = 20
	noteAfterRow      = 30 // calls of one tool in a row: a note, unless the tool reads
)

// The notes, and the reason of a stop.
const (
	failuresNote = "%s has failed %d times in a row. " +
		"Read its error again, look at its schema with get_tool, or do without it."
	failuresStop = "%s failed %d times in a row"
	sameNote     = "You have made the very same call of %s %d times; its answer will not change. " +
		"Use what you have, or try something else."
	rowNote = "You have called %s %d times in a row. " +
		"Is there a call that does it all at once, or are you done?"
)

// loopGuard notices when a model loops. It observes the calls of one turn.
type loopGuard struct {
	failing string // the tool that failed last
	fails   int    // its failures in a row
	recent  [][sha256.Size]byte
	last    string // the tool that was called last
	inRow   int    // its calls in a row
	notes   []string
	stop    string
}

// observe counts one call.
func (g *loopGuard) observe(c history.Call, r *tool.Result) {
	g.countFailure(c, r)
	sum := sha256.Sum256([]byte(c.Name + "\x00" + string(c.Args)))
	g.recent = append(g.recent, sum)
	if len(g.recent) > sameWindow {
		g.recent = g.recent[1:]
	}
	same := 0
	for _, s := range g.recent {
		if s == sum {
			same++
		}
	}
	if same == noteAfterSame {
		g.notes = append(g.notes, fmt.Sprintf(sameNote, c.Name, same))
	}
	if g.last != c.Name {
		g.last, g.inRow = c.Name, 0
	}
	if g.inRow++; g.inRow == noteAfterRow && !isReadTool(c.Name) {
		g.notes = append(g.notes, fmt.Sprintf(rowNote, c.Name, noteAfterRow))
	}
}

func (g *loopGuard) countFailure(c history.Call, r *tool.Result) {
	if r.Status == tool.Success || r.Status == tool.Waiting {
		if g.failing == c.Name {
			g.fails = 0
		}
		return
	}
	if g.failing != c.Name {
		g.failing, g.fails = c.Name, 0
	}
	switch g.fails++; g.fails {
	case noteAfterFailures:
		g.notes = append(g.notes, fmt.Sprintf(failuresNote, c.Name, noteAfterFailures))
	case stopAfterFailures:
		g.stop = fmt.Sprintf(failuresStop, c.Name, stopAfterFailures)
	}
}

// isReadTool reports whether a tool's name says that it reads or searches: a model
// calls such tools many times in a row with good reason.
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
