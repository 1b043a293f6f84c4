// Package lock is the lock table of the kernel: who may touch what, and when.
//
// # The tree
//
// A resource is written kind:rest and names a node of a tree: the kind is the
// root, and the parts of the rest between slashes lead down from it, so that
// file:/a/b lies under file:/a, which lies under file: itself. Empty parts
// name nothing (file:/, file:// and file: are one node), and no part is
// special: a resource is canonical before it comes here.
//
// A request holds each node it claims in the mode it claims, and each node
// above in the matching intention: IS above IS and S, IX above IX, U and X.
// Where several claims meet at one node, the request holds their join there.
// Two requests conflict when they meet at some node in modes that the matrix
// of [tool.Mode] does not let pass. A request never conflicts with itself.
//
// # The law
//
// One mutex guards the table. Under it:
//
//  1. A request takes a ticket, once, and tickets only grow. It is granted
//     whole or not at all.
//  2. A request is blocked at a node when another holds that node in a mode
//     that conflicts with its own, or when one with an earlier ticket waits
//     there in such a mode. It is granted at the moment when it is blocked
//     nowhere. So nobody overtakes an earlier request that conflicts with it,
//     and a steady stream of readers cannot starve a writer; requests that do
//     not conflict pass each other freely.
//  3. A request that is granted blocks nobody who was not blocked before:
//     those behind it were blocked by its waiting, and those ahead of it do
//     not conflict with it, or it would not have been granted. Hence grants
//     commute, and the order in which they are found does not matter.
//  4. Therefore what blocks a request only ever goes away: once it is clear at
//     a node it stays clear there. Only a release, or a waiter that leaves,
//     can clear anyone.
//  5. At one node, among waiters in one mode, whoever comes after a blocked
//     one is blocked too.
//
// From 5, the waiters of one node and mode form a queue in ticket order with a
// frontier: all before it are clear there, all from it on are blocked. From 4,
// a frontier only moves forward. Each request counts the nodes at which it is
// still blocked; a frontier that passes it takes one away, and at none it is
// granted. So the whole life of a request costs a constant for each node it
// touches, however many wait beside it.
//
// Every request under a node is also present at that node, so a node at which
// nobody holds or waits has no children, and is taken out of the tree.
//
// # Leases
//
// What is granted is held until [Lease.Release], and nothing else lets go of
// it. A lease that runs out (see [Lease.Guard]) cancels the handler's context
// and shows as expired; the locks stay until whoever reaped the handler
// releases them. A call makes one request for everything it needs: one that
// holds a lease and waits for another could wait for itself.
package lock
