package toolview

import "callgate/internal/search/learned"

// Learner is whose searches teach, and who is given what they taught.
type Learner struct {
	Owner   string // the ID of the token that was brought; empty: the user of the kernel
	Session string
	Asker   string // whose searches count beyond the session: see [learned.Store.Session]
	// Nobody says that it is not known for whom the session works: a turn that goes on without its
	// client, or a call of an earlier session. Such a session teaches nothing and is given nothing.
	Nobody bool
}

// NewUsage makes what counts the calls of a session and learns from its searches. Whoever
// asks with a token is an owner of their own.
func (m *Maker) NewUsage(l Learner) *Usage {
	if l.Nobody {
		return &Usage{}
	}
	return &Usage{learning: m.Indexes.Learned.Session(l.Owner, l.Session, l.Asker)}
}

// Learned is what the searches of whoever has the session taught; nil: nothing is learned.
func (v *View) Learned() *learned.Session { return v.usage.learning }
