// Package journal is the kernel's append-only commit log: what was asked, what
// was begun, what became of it.
//
// # The chain
//
// Every record is numbered without gaps and hashed together with the hash of
// the record before it, so a record cannot be changed, removed, moved or added
// without the chain showing it. A start of the kernel opens an epoch with its
// first record; a kernel that runs for long opens another from time to time, so
// that pruning always has whole epochs to drop. An epoch links to the head
// before it. The head is repeated in a small file outside the store, the anchor
// (package anchor), so that a cut tail shows too. What pruning drops leaves a
// signed summary, and the chain continues from there.
//
// The chain is evidence against somebody who edits or truncates the store. It
// proves nothing against somebody who may rewrite the store and the anchor
// together: that needs a copy of the head kept elsewhere ([Report].Head).
//
// # Durability
//
// [Journal.Append] queues a record and returns; it is written soon after, in its
// place. [Journal.Commit] returns when the record, and everything queued before
// it, is on disk. One goroutine writes: it takes all that is queued and hands it
// to the store as one transaction, so concurrent calls share one sync. The laws
// of the queue and of failure stand at the head of queue.go and writer.go.
package journal
