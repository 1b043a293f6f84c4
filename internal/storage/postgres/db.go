package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"callgate/internal/storage"
	"callgate/internal/storage/postgres/pgnode"
	"callgate/internal/storage/postgres/riverjobs"
)

// What a node is, and what it knows of others: see package pgnode.
type (
	// Node is who opens a database.
	Node = pgnode.Node
	// NodeStatus is what the database knows of a node.
	NodeStatus = pgnode.NodeStatus
	// NodeState is what a node does.
	NodeState = pgnode.NodeState
)

// The states of a node.
const (
	Up       = pgnode.Up
	Draining = pgnode.Draining
	Down     = pgnode.Down
)

// DefaultLease is how long a node lives without a heartbeat, unless it says otherwise.
const DefaultLease = pgnode.DefaultLease

// Fenced reports a write, or a heartbeat, that was refused because this process does not speak for its node any more.
func Fenced(err error) bool { return pgnode.Fenced(err) }

// DB is an open database, and a node's access to it. It is safe for concurrent use.
type DB struct {
	*pgnode.DB
	rows          *rowStore
	approvals     *approvalStore
	conversations *conversationStore
	documents     *documentStore
	blobs         *blobStore
	tasks         *taskStore
}

var _ storage.Driver = (*DB)(nil)

// Open connects a node to the database that a URL (postgres://user:password@host:5432/name) or a list of key=value
// pairs names, and brings its schema to the present version. The schema is search_path of the URL, or "callgate".
//
// The node has it alone: a process that has the same node open is fenced off. Its lease has begun when Open returns; it
// is for the caller to send heartbeats.
func Open(ctx context.Context, address string, node Node) (*DB, error) {
	db, err := pgnode.Open(ctx, address, node)
	if err != nil {
		return nil, err
	}
	jobs, err := riverjobs.Of(db)
	if err != nil {
		db.Close()
		return nil, err
	}
	return &DB{
		DB: db, rows: &rowStore{db: db, node: db.NodeID()}, approvals: &approvalStore{db}, blobs: &blobStore{db},
		conversations: &conversationStore{db}, documents: &documentStore{db}, tasks: &taskStore{db: db, jobs: jobs},
	}, nil
}

// Stores returns the stores of the node.
func (db *DB) Stores() storage.Stores {
	return storage.Stores{
		Journal: db.rows, Approvals: db.approvals, Conversations: db.conversations, Deleter: db.conversations,
		Documents: db.documents, Blobs: db.blobs, Tasks: db.tasks, Queue: db.tasks,
		Leases: db.tasks, TaskLogs: db.tasks,
	}
}

// Jobs are the jobs of River that tell of the node's tasks.
func (db *DB) Jobs() *riverjobs.Jobs { return db.tasks.jobs }

// Time is the time that all nodes count by.
func (db *DB) Time(ctx context.Context) (time.Time, error) {
	micros, err := pgnode.QueryOne(ctx, db.DB, pgx.RowTo[int64],
		"SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
	if err != nil {
		return time.Time{}, pgnode.ConvertError("postgres.Time", err)
	}
	return time.UnixMicro(micros).UTC(), nil
}

// Close says that the node is down, if the server can be reached, and closes the connections.
func (db *DB) Close() error {
	db.DB.Close()
	return nil
}
