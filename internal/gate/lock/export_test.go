package lock

import "fmt"

// Audit checks the table against its laws, node by node, and returns the number
// of nodes in use below the root.
func (t *Table) Audit() (nodes int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	under := map[*node][]*node{}
	for at, n := range t.tree.far {
		if !n.far || n.parent != at.parent || n.part != at.part {
			return 0, fmt.Errorf("far node %q is under the wrong key", n.part)
		}
		under[at.parent] = append(under[at.parent], n)
	}
	blocked := map[*Ticket]int{}
	nodes, err = t.tree.root.audit(under, blocked)
	if err != nil {
		return 0, err
	}
	for _, tk := range t.tickets() {
		if tk.blocked != blocked[tk] {
			return 0, fmt.Errorf("ticket %d counts %d blocks, and has %d", tk.seq, tk.blocked, blocked[tk])
		}
		if (tk.state == waiting) != (tk.blocked > 0) {
			return 0, fmt.Errorf("ticket %d is in state %d with %d blocks", tk.seq, tk.state, tk.blocked)
		}
	}
	return nodes - 1, nil
}

func (n *node) audit(under map[*node][]*node, blocked map[*Ticket]int) (nodes int, err error) {
	if err := n.auditLists(blocked); err != nil {
		return 0, fmt.Errorf("node %q: %w", n.part, err)
	}
	children := under[n]
	if len(children) != n.fars {
		return 0, fmt.Errorf("node %q counts %d far children of %d", n.part, n.fars, len(children))
	}
	for c := n.near; c != nil; c = c.sibling {
		children = append(children, c)
	}
	if len(children) != n.nears+n.fars {
		return 0, fmt.Errorf("node %q counts %d children of %d", n.part, n.nears+n.fars, len(children))
	}
	for _, c := range children {
		if c.parent != n || c.present == 0 {
			return 0, fmt.Errorf("node %q has a child %q that should not be there", n.part, c.part)
		}
		below, err := c.audit(under, blocked)
		if err != nil {
			return 0, err
		}
		nodes += below
	}
	return nodes + 1, nil
}

func (n *node) auditLists(blocked map[*Ticket]int) error {
	present := 0
	for h := range numHolds {
		if (n.held[h].head != nil) != (n.holding&h.bit() != 0) || (n.waiting[h].head != nil) != (n.queued&h.bit() != 0) {
			return fmt.Errorf("hold %d: its set and its list differ", h)
		}
		for e := n.held[h].head; e != nil; e = e.next {
			present++
		}
		var frontier *entry
		ticket := uint64(0)
		for e := n.waiting[h].head; e != nil; e = e.next {
			present++
			if e.ticket.seq <= ticket {
				return fmt.Errorf("hold %d: ticket %d waits behind %d", h, e.ticket.seq, ticket)
			}
			ticket = e.ticket.seq
			switch {
			case n.blocks(e):
				blocked[e.ticket]++
				if frontier == nil {
					frontier = e
				}
			case frontier != nil:
				return fmt.Errorf("hold %d: ticket %d is clear behind a blocked one", h, e.ticket.seq)
			}
		}
		if n.frontier[h] != frontier {
			return fmt.Errorf("hold %d: the frontier is not at the first blocked", h)
		}
	}
	if present != n.present {
		return fmt.Errorf("%d are present, %d counted", present, n.present)
	}
	return nil
}
