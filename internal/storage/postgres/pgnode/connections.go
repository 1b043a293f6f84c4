package pgnode

import (
	"crypto/sha256"
	"encoding/hex"
)

// connectionNames makes the names of the connections of one process of a node: the server shows them, and who takes
// the node over finds them.
type connectionNames struct{ schema, node, process string }

func newConnectionNames(schema, node string) connectionNames {
	return connectionNames{schema, node, hex.EncodeToString(randomBytes(4)) + " "}
}

// ofNode is how the names of every connection of a node begin. It is short: PostgreSQL cuts a name at 63 bytes.
func (c connectionNames) ofNode(id string) string {
	sum := sha256.Sum256([]byte(c.schema + "\x00" + id))
	return "callgate " + hex.EncodeToString(sum[:6]) + " "
}

// ofProcess is how the names of every connection of this process begin.
func (c connectionNames) ofProcess() string { return c.ofNode(c.node) + c.process }

// next is the name of another connection.
func (c connectionNames) next() string { return c.ofProcess() + hex.EncodeToString(randomBytes(12)) }
