// Package pgnode is a node's access to a PostgreSQL database: connections, transactions that are fenced by the node's
// epoch and whose lost COMMIT is found out, the list of nodes, and their leases. The stores of the package above stand
// on it, and its other neighbours may.
//
// The law of a write is in transaction.go, the law of nodes in nodes.go.
package pgnode
