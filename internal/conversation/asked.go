package conversation

import "callgate/internal/gate/approval"

// Asked shows whoever watches the turn of a conversation that a human is asked, or has
// answered, about a call that is made for the conversation outside of its turns. The
// turn does not wait for it.
func (m *Manager) Asked(id string, r approval.Request) {
	c, err := m.Get(id)
	if err != nil {
		return
	}
	c.turn.mu.Lock()
	asked := c.turn.asked
	c.turn.mu.Unlock()
	if asked != nil {
		asked(r)
	}
}
