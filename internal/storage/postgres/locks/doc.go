// Package locks keeps the locks that calls at several nodes share, in the database. It is a part of the driver, because
// it is written in the SQL of its schema; the tree of resources and the conflicts of modes are those of package lock.
//
// # The law
//
//  1. A request has a token of its own, and claims everything at once. Of requests that conflict one at a time is
//     decided: each takes the latches of its claims first, which are advisory locks of its transaction. A claim on a
//     kind has the latch of the kind, and one below it has that of the first part, and shares that of the kind: any
//     two that can conflict meet at a latch that at least one of them has alone.
//  2. A request is granted when nothing that conflicts with it is held, and nothing that conflicts with it waits with a
//     smaller ticket. Tickets and fences are drawn under the latches. So of requests that conflict the one that came
//     first is served first, and has the smaller fence.
//  3. A waiting request looks for itself whether it is granted: when the last of those who are in its way has ended
//     (NOTIFY), when the lease of that one's node ends, and now and then. So a release wakes the next of a queue, and
//     not all of it.
//  4. What is held is held by a node in an epoch. It counts as long as that is the epoch of the node, also when the
//     node's lease is over: its handlers may still run. Who waits for such a node takes it over. The acquisition
//     itself is committed only in the epoch of its node.
//  5. What the database answered may be lost. A request is made again under its token, and goes on where it was. One
//     that is given up then is cancelled by its token too, so that it is not granted later. A release is repeated until
//     the database has answered it. What a node has in the database and does not know of is released.
//
// An acquisition is durable before it counts. A release need not be: what a crash of the server brings back is found
// (see 5), as a crash ends every connection, and the node then compares.
package locks
