// Package adoption moves what a node that does not live any more has left to one that does.
//
// # Law
//
//   - Rows move only from a node that is down, in the epoch in which it was looked at: its row is held while they move,
//     so that it does not come up meanwhile, and it is refused every write that it still sends. So a row is one node's
//     before, and another's after, and never two nodes'.
//   - They move in transactions of the node that adopts, which are fenced as all of its writes are. What belongs
//     together, a conversation with its questions, its approvals and its tasks, moves in one. Of two that adopt the
//     same, the second finds nothing.
//   - The journal of a node stays its own. Who has adopted something reads it, and those that the other read, to know
//     what became of calls that were made before: see [Store.Formers].
//   - A task that was under way is one whose holder is lost: it may be leased at once, as after a restart.
//   - What a node has that is there under the same ID already stays where it is.
package adoption
