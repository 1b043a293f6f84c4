package locks

import "context"

// Settle waits until the database knows of everything that has ended.
func (t *Table) Settle(ctx context.Context) error { return t.settle(ctx) }

// Wake has every request look again, as a poll does.
func (t *Table) Wake() { t.wake("") }

// Reconcile compares the node's locks with the database.
func (t *Table) Reconcile(ctx context.Context) error { return t.reconcile(ctx) }
