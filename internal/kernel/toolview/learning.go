package toolview

import "callgate/internal/search/learned"

// NewUsage makes what counts the calls of a session and learns from its searches. Whoever
// asks with a token is an owner of their own. asker is whose searches count beyond the
// session: see [learned.Store.Session].
func (m *Maker) NewUsage(token, session, asker string) *Usage {
	return &Usage{learning: m.Indexes.Learned.Session(token, session, asker)}
}

// Learned is what the searches of whoever has the session taught; nil: nothing is learned.
func (v *View) Learned() *learned.Session { return v.usage.learning }
