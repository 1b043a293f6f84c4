package pgnode

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callgate/internal/storage/postgres/migration"
	"callgate/tool"
)

const (
	// schemaName is the schema of the tables, unless the URL has another search_path.
	schemaName = "callgate"
	// maxName is the longest name that PostgreSQL does not cut.
	maxName = 63
	// maxConns bounds the connections of one process, unless the URL has another pool_max_conns.
	maxConns = 10
	// Patience is how long one statement is waited for: a server that vanished without a word never answers.
	Patience = time.Minute
	// connectPatience is how long a connection may take to be made, unless the URL has another connect_timeout.
	connectPatience = 10 * time.Second
)

// DB is an open database. It is safe for concurrent use.
type DB struct {
	node        Node
	epoch       int64
	fenced      atomic.Bool // the epoch is past
	connections connectionNames

	pool     *pgxpool.Pool
	control  *pgxpool.Pool // for heartbeats, which wait for no write
	listener *listener
	problem  error        // of the server's settings
	held     func() error // why nothing is written; nil: all is
	counts   counts

	distrusted names

	// SettlePatience is how long a lost COMMIT is settled for before nobody knows what became of it. It must be set
	// before several use the database at a time.
	SettlePatience time.Duration
}

// Open connects to the database that a URL (postgres://user:password@host:5432/name) or a list of key=value pairs
// names, and brings its schema to the present version. The schema is search_path of the URL, or "callgate".
//
// Whoever opens it is a node, and has it alone: a process that has the same node open is fenced off (see nodes.go). The
// node's lease has begun when Open returns; it is for the caller to send heartbeats.
func Open(ctx context.Context, address string, node Node) (*DB, error) {
	const op = "postgres.Open"
	node, err := node.withDefaults()
	if err != nil {
		return nil, err
	}
	config, schema, err := parse(address)
	if err != nil {
		return nil, err
	}
	db, err := connect(ctx, config, node, schema)
	if err != nil {
		return nil, ConvertError(op, err)
	}
	err = db.Use(ctx, func(conn *pgx.Conn) error {
		return migration.Apply(ctx, conn, schema, node.ID, migration.Steps())
	})
	for _, next := range []func(context.Context) error{db.forgetCommits, db.findProblem, db.register} {
		if err == nil {
			err = next(ctx)
		}
	}
	if err != nil {
		db.closeConnections()
		return nil, ConvertError(op, err)
	}
	return db, nil
}

// connect makes the pools.
func connect(ctx context.Context, config *pgxpool.Config, node Node, schema string) (*DB, error) {
	db := &DB{node: node, connections: newConnectionNames(schema, node.ID), SettlePatience: settlePatience}
	// Each connection has a name of its own, under which its last transaction is noted.
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		c.RuntimeParams["application_name"] = db.connections.next()
		return nil
	}
	control := config.Copy()
	control.MaxConns, control.MinConns, control.MinIdleConns = 1, 0, 0
	var err error
	if db.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	if db.control, err = pgxpool.NewWithConfig(ctx, control); err != nil {
		db.pool.Close()
		return nil, err
	}
	db.listener = newListener(func(ctx context.Context) (*pgx.Conn, error) {
		own := config.ConnConfig.Copy()
		own.RuntimeParams["application_name"] = db.connections.next()
		return pgx.ConnectConfig(ctx, own)
	})
	return db, nil
}

// parse reads an address. Its errors never repeat it: it may hold a password.
func parse(address string) (config *pgxpool.Config, schema string, err error) {
	config, err = pgxpool.ParseConfig(address)
	if err != nil {
		return nil, "", tool.Errorf("postgres.Open", tool.Invalid, "this is not the URL of a PostgreSQL database").
			WithHint("write postgres://user:password@host:5432/name, with special characters of the password as %%XX")
	}
	params := config.ConnConfig.RuntimeParams
	schema = cmp.Or(params["search_path"], schemaName)
	if len(schema) > maxName || strings.ContainsAny(schema, ",\"\x00") {
		return nil, "", tool.Errorf("postgres.Open", tool.Invalid, "search_path of the URL is not the name of one schema").
			WithHint("a name has at most %d bytes, and no comma and no quote", maxName)
	}
	params["search_path"] = pgx.Identifier{schema}.Sanitize()
	params["client_encoding"] = "UTF8"
	params["default_transaction_isolation"] = "read committed" // the statements are written for it
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectPatience
	}
	if !strings.Contains(address, "pool_max_conns=") {
		config.MaxConns = maxConns
	}
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		const durable = "SELECT set_config('synchronous_commit', 'on', false) " +
			"WHERE current_setting('synchronous_commit') = 'off'"
		_, err := c.Exec(ctx, durable, pgx.QueryExecModeSimpleProtocol)
		return err
	}
	return config, schema, nil
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	return b
}

// findProblem finds what in the server's settings breaks a promise of this driver.
func (db *DB) findProblem(ctx context.Context) error {
	fsync, err := QueryOne(ctx, db, pgx.RowTo[string], "SELECT current_setting('fsync')")
	if err == nil && fsync != "on" {
		db.problem = tool.Errorf("postgres.Open", tool.Unavailable,
			"the database server runs with fsync = off: what it acknowledged is lost when its machine fails").
			WithHint("set fsync = on in postgresql.conf")
	}
	return err
}

// Problem says what in the server's settings breaks a promise of this driver; nil: nothing does.
func (db *DB) Problem() error { return db.problem }

// leavePatience is how long the end of a node may take: after it the node is lost, and its lease ends by itself.
const leavePatience = 3 * time.Second

// Close says that the node is down, if the server can be reached, and closes the connections.
func (db *DB) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), leavePatience)
	defer cancel()
	_ = db.Nodes().leave(ctx) // its lease ends by itself
	db.closeConnections()
}

func (db *DB) closeConnections() {
	db.listener.close()
	db.pool.Close()
	db.control.Close()
}

// Hold has every write refused while reason returns an error, which says why. It must be set before the stores are
// used by several at a time.
func (db *DB) Hold(reason func() error) { db.held = reason }

// refuses says why nothing may be written now, or nil.
func (db *DB) refuses() error {
	if db.held != nil {
		return db.held()
	}
	return nil
}

// attempts is how often something is done whose connection is lost, or that is undone because of another transaction.
const attempts = 4

// Use lends f a connection, and again as long as nothing of what f did can have happened.
func (db *DB) Use(ctx context.Context, f func(*pgx.Conn) error) (err error) {
	for range attempts {
		var lost bool
		lost, err = db.useOnce(ctx, f)
		switch {
		case err == nil || ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || isKnown(err):
			return err
		case lost || wasEnded(err):
			db.pool.Reset() // what ended one connection has most often ended all
		case !inTheWay(err):
			return err
		}
	}
	return err
}

// useOnce lends f a connection, and says whether it was lost under it.
func (db *DB) useOnce(ctx context.Context, f func(*pgx.Conn) error) (lost bool, err error) {
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Release()
	err = f(conn.Conn())
	return conn.Conn().IsClosed(), err
}

// Query reads rows.
func Query[T any](
	ctx context.Context, db *DB, scan func(pgx.CollectableRow) (T, error), text string, args ...any,
) (all []T, err error) {
	err = db.Use(ctx, func(conn *pgx.Conn) error {
		limited, cancel := context.WithTimeout(ctx, Patience)
		defer cancel()
		rows, err := conn.Query(limited, text, args...)
		if err != nil {
			return err
		}
		all, err = pgx.AppendRows([]T(nil), rows, scan)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// QueryOne reads one row; pgx.ErrNoRows: there is none.
func QueryOne[T any](
	ctx context.Context, db *DB, scan func(pgx.CollectableRow) (T, error), text string, args ...any,
) (one T, err error) {
	all, err := Query(ctx, db, scan, text, args...)
	if err == nil && len(all) == 0 {
		err = pgx.ErrNoRows
	}
	if err != nil {
		return one, err
	}
	return all[0], nil
}

// Absent reports that a row is not there.
func Absent(err error) bool { return errors.Is(err, pgx.ErrNoRows) }

// Pool lends connections for statements that are no transaction of a store. Who writes over one checks the epoch.
func (db *DB) Pool() *pgxpool.Pool { return db.pool }

// Schema is the name of the schema that has the tables.
func (db *DB) Schema() string { return db.connections.schema }

// NodeID is the ID of the node that opened the database.
func (db *DB) NodeID() string { return db.node.ID }
