// Package lock is the kernel's lock table. It decides which calls may touch a
// resource at the same time, and in which order the others wait.
//
// # The tree
//
// A resource is written kind:rest and names a node of a tree. The kind is the
// root, and the parts of the rest between slashes lead down from it: file:/a/b
// lies under file:/a, which lies under file: itself. Empty parts are skipped
// (file:/, file:// and file: are one node). No part is special; resources are
// made canonical before they come here.
//
// A request holds each node it claims in the claimed mode, and each node above
// in the matching intention mode: IS above IS and S, IX above IX, U and X. If
// several claims meet at one node, the request holds their join there. Two
// requests conflict if they meet at some node in modes that the matrix of
// [tool.Mode] does not allow together. A request never conflicts with itself.
//
// # The law
//
// One mutex guards the table. Under it:
//
//  1. A request takes one ticket, and ticket numbers only grow. It is granted
//     whole or not at all.
//  2. A request is blocked at a node if another request holds that node in a
//     conflicting mode, or if one with an earlier ticket waits there in such a
//     mode. It is granted at the moment it is blocked nowhere. So no request
//     overtakes an earlier one that conflicts with it, a steady stream of
//     readers cannot starve a writer, and requests that do not conflict pass
//     each other freely.
//  3. A grant blocks no request that was not blocked before: the later ones
//     were already blocked by the waiting request, and the earlier ones do not
//     conflict with it, or it would not have been granted. Hence grants
//     commute, and the order in which they are found does not matter.
//  4. Therefore blocks only disappear: a request that is clear at a node stays
//     clear there. Only a release or a cancelled ticket can clear a request.
//  5. At one node, among waiters in one mode, every waiter after a blocked one
//     is blocked too.
//
// From 5, the waiters of one node and mode form a queue in ticket order with a
// frontier: all before it are clear there, all from it on are blocked. From 4,
// a frontier only moves forward. Each request counts the nodes at which it is
// still blocked. A frontier that passes it decrements the count, and at zero
// the request is granted. So a request costs a constant for each node it
// touches, however many others wait.
//
// Every request under a node is also present at that node, so a node without
// holders and waiters has no children and is removed from the tree.
//
// # Leases
//
// A granted request holds its locks until [Lease.Release]; nothing else
// releases them. A lease that expires (see [Lease.WithExpiry]) cancels the
// handler's context and shows as expired. Its locks stay held until the gate
// has stopped the handler and releases the lease. A call makes one request for
// everything it needs: a call that holds one lease and waits for another could
// deadlock with itself.
package lock
