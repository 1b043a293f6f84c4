package agent

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"callgate/internal/conversation/history"
	"callgate/tool"
)

// The guards against a model that runs in circles. Each note is given once for
// each time its limit is met.
const (
	noteAfterFailures = 8  // failures of one tool in a row: a word to the model
	stopAfterFailures = 12 // and the end of the turn
	sameWindow        = 20 // of the last calls …
	sameNote          = 8  // … so many the very same: a word
	rowNote           = 30 // calls of one tool in a row: a word, unless it only reads
)

// loopGuard watches the calls of one turn.
type loopGuard struct {
	failing string // the tool that failed last
	fails   int
	recent  [][sha256.Size]byte
	row     string // the tool that was called last
	inRow   int
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
	if same == sameNote {
		g.notes = append(g.notes, fmt.Sprintf("You have made the very same call of %s %d times; its answer will not change. Use what you have, or try something else.", c.Name, same))
	}
	if g.row != c.Name {
		g.row, g.inRow = c.Name, 0
	}
	if g.inRow++; g.inRow == rowNote && !isReadTool(c.Name) {
		g.notes = append(g.notes, fmt.Sprintf("You have called %s %d times in a row. Is there a call that does it all at once, or are you done?", c.Name, rowNote))
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
		g.notes = append(g.notes, fmt.Sprintf("%s has failed %d times in a row. Read its error again, look at its schema with get_tool, or do without it.", c.Name, noteAfterFailures))
	case stopAfterFailures:
		g.stop = fmt.Sprintf("%s failed %d times in a row", c.Name, stopAfterFailures)
	}
}

// isReadTool reports whether a tool's name says that it reads or searches: those
// are called many times in a row with good reason.
func isReadTool(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"read", "search", "grep", "glob", "list", "get", "find", "browse", "fetch", "show", "describe", "status"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// action returns what the model is to be told, and why the turn must end.
func (g *loopGuard) action() (note, stop string) {
	note = strings.Join(g.notes, "\n")
	g.notes = nil
	return note, g.stop
}
