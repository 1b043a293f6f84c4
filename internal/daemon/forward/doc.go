// Package forward has any node answer any request: what another node has is asked of that node.
//
// It stands in front of the API of a kernel that shares its database with others, behind every face: the socket, the
// web face and the console. It is a room of the daemon because it speaks HTTP, and knows who sends a request as the
// faces say it; it knows no SQL, and asks a [Directory].
//
// # Law
//
// Where a request goes is said for every route in one table (table.go). A request for something that this node has, or
// that nobody has, is answered here.
//
// A request is sent to one node, once. It is sent again only if no connection was made: whatever may have begun is not
// repeated, here or at another node. A node that is asked by another answers, and never asks a third.
//
// Nodes know each other by their certificates. Each makes its own when it starts, in memory, and the database says
// which certificate a living node has, in which epoch: who may write there may be a node. Both sides look, for each
// request.
//
// Who asks travels with the request, and nothing else that proves anything: no key, no token's value, no code leaves
// the node that it was given to.
//
//   - Who came with a token is named by its ID. The node that answers loads the token itself.
//   - A process of the machine is named by its user, its node, and its number. It has the role of an operator, and what
//     it opened is its own. It has the role of an approver for one request if the node that it speaks to found, for
//     that request, that a person with authority sends it: by the key, a terminal that no asker of that machine has,
//     and the code that the person typed. Who opened a session at another node counts as an asker here.
//
// Faces never read what travels between nodes: a header of that name that comes from elsewhere is dropped.
//
// A list is asked for at every living node at once. What a node does not give in time is left out, and the answer names
// that node.
package forward
