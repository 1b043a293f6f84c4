package kernel

import (
	"callgate/internal/kernel/consent"
	"callgate/internal/kernel/node"
)

// NodeOf returns the storage of a kernel, and its place among the kernels that share it.
func NodeOf(k *Kernel) *node.Node { return k.database }

// activity is what a kernel has to do.
func activity(k *Kernel) func() node.Activity {
	return func() node.Activity {
		a := node.Activity{
			Sessions: k.Sessions.Len(), Calls: k.Sessions.Calls() + int(k.recovery.Detached()), Tasks: k.Tasks.Running(),
		}
		for _, id := range k.Sessions.IDs() {
			c, err := k.Conversations.Get(id)
			if err != nil {
				continue
			}
			a.Conversations++
			if info := c.Info(); info.Turns > 0 && info.Last == "" {
				a.Turns++
			}
		}
		return a
	}
}

// amongNodes are the kernels that share the database with this one.
func amongNodes(k *Kernel) consent.Nodes {
	return consent.Nodes{
		Documents: k.database.Stores().Documents, ID: k.database.ID, Name: k.database.MachineName(),
		Several: k.database.IsShared(),
	}
}

// isSharedApp reports whether an app is one at all nodes.
func isSharedApp(k *Kernel) func(app string) (bool, error) {
	return func(app string) (bool, error) { return k.consents.IsShared(app) }
}
