package pgnode

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"callgate/tool"
)

// fencedError is what a node hears whose epoch is past.
type fencedError struct {
	node  string
	epoch int64
}

func (e *fencedError) Error() string {
	return fmt.Sprintf("node %s has an epoch after %d", e.node, e.epoch)
}

// Fenced reports a write, or a heartbeat, that was refused because this process does not speak for its node any more:
// another has opened it, or another node has taken it over. Nothing was written, and nothing will be.
func Fenced(err error) bool {
	var fenced *fencedError
	return errors.As(err, &fenced)
}

// Fence notes that the node's epoch is past, as somebody found who checked it without a transaction of this package,
// and returns the error that says so.
func (db *DB) Fence() error { return db.fence() }

// fence notes that the node's epoch is past, and returns the error that says so.
func (db *DB) fence() error {
	db.fenced.Store(true)
	return &tool.Error{
		Op: "postgres", Kind: tool.Unavailable, Err: &fencedError{db.node.ID, db.epoch},
		Message: "this kernel does not speak for the node " + db.node.Name + " any more: " +
			"another process has opened it, or another node has taken it over",
		Hint: "start the kernel anew; two state directories with the same file node fence each other",
	}
}

// checkEpoch fails, with the code of a division by zero, if the node has another epoch, and keeps the epoch as it is
// until the transaction ends.
const checkEpoch = "SELECT 1 / count(*) FROM (SELECT FROM nodes WHERE id = $1 AND epoch = $2 FOR KEY SHARE) AS mine"

const divisionByZero = "22012"

// queueFence adds the check of the epoch to a batch, which must not be the one that begins nothing.
func (db *DB) queueFence(batch *pgx.Batch) { batch.Queue(checkEpoch, db.node.ID, db.epoch) }

// fenceError is the error of the check of the epoch.
func (db *DB) fenceError(err error) error {
	var cause *pgconn.PgError
	if errors.As(err, &cause) && cause.Code == divisionByZero {
		return db.fence()
	}
	return err
}
