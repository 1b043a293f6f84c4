// Package postgres is the storage driver on PostgreSQL: everything, large payloads too, is in the tables of one schema,
// which processes on several machines may have open at once.
//
// # What is promised
//
//   - What was acknowledged is there after the server was killed: every commit waits for the server's log, also where
//     the server's own setting is not to wait. A server that runs with fsync off keeps this only until its machine
//     fails; [pgnode.DB.Problem] says so.
//   - A write whose connection was lost before its COMMIT was sent has not happened, and is repeated. If the COMMIT was
//     sent and its answer was lost, the driver finds out what became of it and answers accordingly.
//   - The clock of tasks and blobs, and of the leases of nodes, is the server's.
//   - What is promised here holds for one server. One that fails over to a standby keeps it if the standby has
//     everything that was acknowledged (synchronous replication): otherwise an epoch may come back, and with it a node
//     that was taken over.
//
// # Nodes
//
// Who opens the database is a node: a kernel with a state directory of its own. Journal, approvals, conversations,
// tasks and documents belong to the node that wrote them, and no other sees them through its stores. Shared are the
// documents of a few collections (document.IsShared), and blobs, which are there until every node that put them
// has deleted them.
//
// [Open] begins the node's lease and fences off a former process of the same node. The caller sends heartbeats
// ([pgnode.Nodes.Heartbeat]), and stops when none has succeeded for so long that its lease may be over. Another takes
// what is over ([pgnode.Nodes.TakeOver]); from then on every write of the old process is an error for which [Fenced] is
// true. [DB.JournalOf] reads the journal of any node. [pgnode.DB.Listen] hears what another node told with
// [pgnode.DB.Notify]. [DB.Close] says that the node is down. How nodes, transactions and lost answers work is in
// package pgnode.
//
// # What differs from SQLite
//
// What is deleted is gone for every reader, but PostgreSQL does not overwrite it: it stays in the server's files until
// they are vacuumed, in its log, and in copies that were made of them.
//
// The ID of a task, a conversation or an approval has at most about 2,600 bytes, as an index of PostgreSQL takes no
// more. That of a call in the journal may be longer.
//
// The schema is made by package migration, whose steps only go forward.
package postgres
