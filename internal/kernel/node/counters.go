package node

import (
	"callgate/internal/quota"
)

// Counters keep what users use: for all nodes in the database, or for a kernel alone in its own storage.
func (n *Node) Counters() quota.Counters {
	if n.shared == nil {
		return &quota.Local{Documents: n.Stores().Documents}
	}
	return n.shared.counters
}
