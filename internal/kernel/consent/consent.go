// Package consent holds a human's word on what an app file asks for that its
// author could abuse: rules that let more run unasked than the default, secrets,
// variables of the environment, the network, private addresses, files and folders
// outside its own, walls of the sandbox that may be missing, programs, setup steps,
// addresses that receive conversations or the texts of tools, channels, triggers, lower
// risks of servers' tools, skills, hooks with the scripts that they run, and texts that it
// reads from files beside it. MCP servers have a word of their own: see package trust.
//
// Law: a folder may come from a stranger, so a human sees and accepts exactly that
// first; until then the app has the floor, and the session says so. The floor is the
// default policy, no secrets, no variables, no network, and its own folder.
//
// What an app asks for is one document of [Lines]. Each line is accepted by itself,
// so a changed file falls back to the floor only for what changed, and whoever does
// something that needs consent checks its own line.
package consent

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"callgate/internal/app"
	"callgate/internal/visible"
	"callgate/tool"
)

// Store keeps the lines that a human accepted, by a key.
type Store interface {
	// AcceptedLines returns what was accepted last, in order; none for a new key.
	AcceptedLines(key string) ([]string, error)
	// AcceptLines takes lines in the place of those that were accepted.
	AcceptLines(key string, lines []string, by string) error
}

// Consents knows what humans accepted of app files.
type Consents struct {
	store    Store
	claiming sync.Mutex // held while an ID finds its owner
	claims   *claims    // among several nodes; nil: there are none
}

// New makes the consents of a store.
func New(s Store) *Consents { return &Consents{store: s} }

// Accepted is what a human had accepted of an app when it was asked for. The zero
// value is nothing.
type Accepted struct {
	lines []string
	each  map[string]bool // the lines
	key   string          // of the app
}

// Of returns what a human accepted of an app. What cannot be read counts as not
// accepted.
func (c *Consents) Of(a *app.App) Accepted {
	if a == nil {
		return Accepted{}
	}
	key := key(a)
	lines, err := c.store.AcceptedLines(key)
	if err != nil {
		return Accepted{}
	}
	each := make(map[string]bool, len(lines))
	for _, line := range lines {
		each[line] = true
	}
	return Accepted{lines, each, key}
}

// Revoked reports that a human took back all that had been accepted of an app.
func (c *Consents) Revoked(a *app.App, before Accepted) bool {
	if len(before.lines) == 0 || a == nil { // each call asks
		return len(before.lines) > 0
	}
	lines, err := c.store.AcceptedLines(before.key)
	return err != nil || len(lines) == 0
}

// Unchanged reports whether the same is accepted of an app as before.
func (c *Consents) Unchanged(a *app.App, before Accepted) bool {
	lines, err := c.store.AcceptedLines(key(a))
	if err != nil {
		lines = nil
	}
	return slices.Equal(lines, before.lines)
}

// Has reports whether a line was accepted. An empty line asks for nothing.
func (a Accepted) Has(line string) bool {
	if line == "" || a.each[line] {
		return true
	}
	return strings.HasPrefix(line, grantStart) &&
		slices.ContainsFunc(a.lines, func(one string) bool { return covers(one, line) })
}

// Any reports whether something was accepted.
func (a Accepted) Any() bool { return len(a.lines) > 0 }

// Equal reports whether the same was accepted.
func (a Accepted) Equal(b Accepted) bool { return slices.Equal(a.lines, b.lines) }

// Check returns the error for the first line that was not accepted.
func (a Accepted) Check(op string, lines ...string) error {
	for _, line := range lines {
		if !a.Has(line) {
			return Needed(op, line)
		}
	}
	return nil
}

// Change is how what an app asks for differs from what a human accepted.
type Change struct {
	New, Gone []string
	Kept      int
}

// Change compares an app with what a human accepted of it.
func (c *Consents) Change(a *app.App) Change {
	var change Change
	if a == nil {
		return change
	}
	before, lines := c.Of(a), Lines(a)
	for _, line := range lines {
		if before.Has(line) {
			change.Kept++
		} else {
			change.New = append(change.New, line)
		}
	}
	asked := make(map[string]bool, len(lines))
	for _, line := range lines {
		asked[line] = true
	}
	for _, line := range before.lines {
		if !asked[line] {
			change.Gone = append(change.Gone, line)
		}
	}
	return change
}

// String shows a change, with nothing hidden; empty when there is nothing to accept.
func (c Change) String() string {
	if len(c.New) == 0 {
		return ""
	}
	var b strings.Builder
	for _, line := range c.New {
		b.WriteString("+ " + visible.Text(line) + "\n")
	}
	for _, line := range c.Gone {
		b.WriteString("- " + visible.Text(line) + "\n")
	}
	if c.Kept > 0 {
		fmt.Fprintf(&b, "= %d accepted before\n", c.Kept)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Pending returns what a human has not accepted yet, as it is shown; empty when
// there is nothing.
func (c *Consents) Pending(a *app.App) string { return c.Change(a).String() }

// Accept takes a human's yes to exactly what was shown.
func (c *Consents) Accept(a *app.App, shown, by string) error {
	const op = "consent.Accept"
	if a == nil {
		return tool.Errorf(op, tool.NotFound, "this session has no app file")
	}
	if now := c.Pending(a); now == "" || now != shown {
		return tool.Errorf(op, tool.Conflict, "the app file now asks for something else than was shown: %s", now).
			WithHint("look at it again")
	}
	return c.store.AcceptLines(key(a), Lines(a), by)
}

// Revoke takes back all that was accepted of an app.
func (c *Consents) Revoke(a *app.App, by string) error {
	if a == nil {
		return tool.Errorf("consent.Revoke", tool.NotFound, "this session has no app file")
	}
	return c.store.AcceptLines(key(a), nil, by)
}

// Needed returns the error for something that waits for consent.
func Needed(op, line string) *tool.Error {
	return tool.Errorf(op, tool.Denied, "the app needs consent to %s", line).
		WithHint("the user looks at it and accepts it with: callgate app trust")
}

func key(a *app.App) string {
	sum := sha256.Sum256([]byte(a.Path)) // the project's, also of a combined app
	return "app-" + hex.EncodeToString(sum[:16])
}
