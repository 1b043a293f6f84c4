// Package consent holds a human's word on what an app file does by itself,
// without anybody calling: its setup steps, an endpoint that receives the texts
// of tools, secrets that it gives to a module, a model at an address of its
// own.
//
// Law: a folder may come from a stranger, so a human sees and accepts exactly
// that first; until then it is left out, and the session says so.
package consent

import (
	"crypto/sha256"
	"encoding/hex"

	"callgate/internal/app"
	"callgate/internal/source/mcp/trust"
	"callgate/tool"
)

// Store keeps what a human accepted, by a key. [trust.Store] is one.
type Store interface {
	// MayLaunch returns nil when exactly this was accepted.
	MayLaunch(key string, line []string) error
	AcceptLaunch(key string, line []string, by string) error
}

// Consents knows what humans accepted of app files.
type Consents struct{ store Store }

// New makes the consents of a store.
func New(s Store) *Consents { return &Consents{s} }

// Accepted reports whether a human accepted all that an app does by itself.
func (c *Consents) Accepted(a *app.App) bool {
	line := Lines(a)
	return len(line) == 0 || c.store.MayLaunch(key(a), line) == nil
}

// Pending returns what a human has not accepted yet, as it is shown; empty when
// there is nothing.
func (c *Consents) Pending(a *app.App) string {
	if a == nil || c.Accepted(a) {
		return ""
	}
	return trust.Shell(Lines(a))
}

// Accept takes a human's yes to exactly what was shown.
func (c *Consents) Accept(a *app.App, shown, by string) error {
	const op = "consent.Accept"
	if a == nil {
		return tool.Errorf(op, tool.NotFound, "this session has no app file")
	}
	line := Lines(a)
	if now := trust.Shell(line); len(line) == 0 || now != shown {
		return tool.Errorf(op, tool.Conflict, "the app file now does something else than was shown: %s", now).
			WithHint("look at it again")
	}
	return c.store.AcceptLaunch(key(a), line, by)
}

// Needed returns the error for something that waits for consent.
func Needed(op, text string) *tool.Error {
	return tool.Errorf(op, tool.Denied, "the app needs consent to %s", text).
		WithHint("the user looks at it and accepts it with: callgate app trust")
}

func key(a *app.App) string {
	sum := sha256.Sum256([]byte(a.Path)) // the project's, also of a combined app
	return "app-" + hex.EncodeToString(sum[:6])
}
