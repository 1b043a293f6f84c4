// Package lasting keeps lasting grants: a human's yes that is remembered, so that
// a call which fits it runs without asking again.
//
// # Law
//
//   - A lasting grant turns approve into allow, and nothing else: what is denied
//     stays denied, and what is hidden stays hidden.
//   - It never covers a call that changes the rules of agents, a tool that asks
//     first by itself (tool.Runtime.AskFirst), or a call of the kernel's own.
//   - It names one tool, and either one exact call or a pattern over the
//     arguments; the human was shown it before it was kept, and what is kept is
//     what was shown. Several may cover one command line, each a part of it.
//   - It counts in the folder in which it was given, or everywhere, and until its
//     end date if it has one. A folder is meant exactly, without those below it.
//   - One that a human gave for an app at every node counts for calls of that app, whatever their folder, at each
//     kernel on the database where the app is that one: see shared.go. It names nothing of one machine.
//   - A tool that an app brings with it (an executable, an MCP server) is covered
//     in that folder and under that app file only: elsewhere another program may
//     have its name. It has no grant for everywhere.
//   - It lies in the kernel's state, outside every repository. Only a human makes
//     and revokes one.
//   - A call that ran by one says so in the journal: its reason begins with "grant"
//     and the ID. How often a grant was used is written behind, at the latest when
//     the kernel closes, and may lose the last uses in a crash; the journal has
//     them all.
package lasting

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"time"

	"callgate/internal/gate/match"
	"callgate/tool"
)

// Grant is one lasting grant.
type Grant struct {
	ID   string `json:"id"`
	Tool string `json:"tool"` // dotted
	Text string `json:"text"` // as the human was shown it
	// Match is the pattern over the arguments; Exact says that it means one call.
	Match    json.RawMessage `json:"match"`
	Exact    bool            `json:"exact,omitempty"`
	Folder   string          `json:"folder,omitempty"`   // empty: everywhere
	App      string          `json:"app,omitempty"`      // the ID of the app for which it counts at every node
	AppFile  string          `json:"app_file,omitempty"` // of a tool that an app brings
	Until    time.Time       `json:"until,omitzero"`
	Made     time.Time       `json:"made"`
	By       string          `json:"by,omitempty"`
	Approval string          `json:"approval,omitempty"` // the request that was answered with it
	Uses     Uses            `json:"uses,omitzero"`
}

// Uses is what a grant has let through.
type Uses struct {
	Count int       `json:"count"`
	Last  time.Time `json:"last,omitzero"`
	Calls []string  `json:"calls,omitempty"` // the last of them, newest last
}

// maxCalls is how many calls a grant remembers; the journal has all.
const maxCalls = 20

// Ended reports whether the grant's end date has passed.
func (g *Grant) Ended(now time.Time) bool { return !g.Until.IsZero() && !now.Before(g.Until) }

// Call is a call that wants to run. It is for one goroutine.
type Call struct {
	*match.Call
	AppFile string // of the app that brings the tool; empty: the kernel has it
	App     string // the ID of the app that makes the call
}

// CheckNumbers returns an error when arguments have a number that patterns would
// round: two calls must not become one.
func CheckNumbers(args json.RawMessage) error {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if err != nil {
			return nil // the end; that it is JSON was checked before
		}
		if n, ok := token.(json.Number); ok {
			if f, err := n.Float64(); err != nil || math.Abs(f) >= 1<<53 {
				return tool.Errorf("lasting.CheckNumbers", tool.Invalid, "the number %s cannot be compared exactly", n)
			}
		}
	}
}

// Fits reports whether the grant alone covers a call, whatever its end date.
func (g *Grant) Fits(c *Call) (bool, error) {
	e, err := newEntry(*g)
	if err != nil {
		return false, err
	}
	at := c.where()
	at.app = c.App
	if e.Tool != at.tool || !e.isFor(at) {
		return false, nil
	}
	return covers(e.pattern, c), nil
}

// covers reports whether one pattern alone covers a call.
func covers(p *match.Pattern, c *Call) bool {
	var alone match.Set
	alone.Add(p)
	_, ok := alone.Fits(c.Call)
	return ok
}

func (c *Call) where() where {
	return where{tool: c.Module + "." + c.Action, folder: c.Workspace, appFile: c.AppFile}
}

// Reason says why a call runs by some grants: the rule, and the rule with what the
// human was shown.
func Reason(found []Found) (rule, reason string) {
	var ids, texts []string
	for _, f := range found {
		ids, texts = append(ids, f.ID), append(texts, f.Text)
	}
	rule = "grant " + strings.Join(ids, ", ")
	return rule, rule + ": " + strings.Join(texts, "; ")
}
