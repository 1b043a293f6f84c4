package pgnode

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"callgate/tool"
)

// The law of a write.
//
// A write is one transaction of one connection. With its first statement goes one that notes a token, made for this
// transaction alone, in the row of the connection in the table commits. So the transaction holds that row from its
// first answer on, until it has ended. With it goes the check of the node's epoch, see nodes.go. COMMIT is sent when
// everything before it was answered.
//
//   - A failure before COMMIT was sent is a transaction that never commits: the server undoes it with the connection.
//     It may be repeated.
//   - A COMMIT whose answer is lost is settled over another connection: the one that was lost is ended at the server,
//     if it is still there, and the row of it is taken, for which the old transaction must have ended. If the row has
//     the token, the write has happened and is reported as done; otherwise it has not, never will, and may be repeated.
//   - If the server cannot be reached in time to settle it, the write is an error that says so. Whoever must know later
//     keeps the commit and settles it then.
//
// The status that PostgreSQL tells of a transaction's number is not used: a server that was killed gives numbers anew.

// settlePatience is how long a lost COMMIT is settled for, and settlePause is between two attempts.
const (
	settlePatience = 20 * time.Second
	settlePause    = 50 * time.Millisecond
)

// Commit is a COMMIT that was sent.
type Commit struct {
	connection string
	token      []byte
}

// unsettledError is the error of a write of which nobody knows yet whether it happened.
type unsettledError struct {
	commit Commit
	cause  error
}

func (e *unsettledError) Error() string { return "the answer to COMMIT was lost: " + e.cause.Error() }
func (e *unsettledError) Unwrap() error { return e.cause }

// Tx is a transaction of a connection. It begins with its first statement.
type Tx struct {
	db    *DB
	conn  *pgx.Conn
	token []byte // nil: it has not begun
}

// noteToken takes the row of the connection, and is refused nothing: the row is made if it is not there.
const noteToken = "INSERT INTO commits (connection, token) VALUES ($1, $2) " +
	"ON CONFLICT (connection) DO UPDATE SET token = excluded.token, at = excluded.at"

// Send sends statements at once. Whoever calls it reads the results of all, and closes them.
func (t *Tx) Send(ctx context.Context, statements *pgx.Batch) (pgx.BatchResults, error) {
	if t.token != nil {
		return t.conn.SendBatch(ctx, statements), nil
	}
	t.token = randomBytes(16)
	var all pgx.Batch
	all.Queue("BEGIN")
	all.Queue(noteToken, t.name(), t.token)
	t.db.queueFence(&all)
	begin := all.Len()
	all.QueuedQueries = append(all.QueuedQueries, statements.QueuedQueries...)
	results := t.conn.SendBatch(ctx, &all)
	for range begin {
		if _, err := results.Exec(); err != nil {
			_ = results.Close() // it says the same again
			return nil, t.db.fenceError(err)
		}
	}
	return results, nil
}

func (t *Tx) name() string { return t.conn.Config().RuntimeParams["application_name"] }

// Exec runs a statement and returns how many rows it changed.
func (t *Tx) Exec(ctx context.Context, statement string, args ...any) (int64, error) {
	var one pgx.Batch
	one.Queue(statement, args...)
	counts, err := t.ExecAll(ctx, &one)
	if err != nil {
		return 0, err
	}
	return counts[0], nil
}

// ExecAll runs statements at once and returns how many rows each changed.
func (t *Tx) ExecAll(ctx context.Context, statements *pgx.Batch) (counts []int64, err error) {
	results, err := t.Send(ctx, statements)
	if err != nil {
		return nil, err
	}
	for range statements.Len() {
		tag, err := results.Exec()
		if err != nil {
			_ = results.Close() // it says the same again
			return nil, err
		}
		counts = append(counts, tag.RowsAffected())
	}
	return counts, results.Close()
}

// QueryTx reads rows in a transaction.
func QueryTx[T any](
	ctx context.Context, t *Tx, scan func(pgx.CollectableRow) (T, error), statement string, args ...any,
) ([]T, error) {
	var one pgx.Batch
	one.Queue(statement, args...)
	results, err := t.Send(ctx, &one)
	if err != nil {
		return nil, err
	}
	rows, err := results.Query()
	if err != nil {
		_ = results.Close() // it says the same again
		return nil, err
	}
	all, err := pgx.AppendRows([]T(nil), rows, scan)
	if closed := results.Close(); err == nil {
		err = closed
	}
	return all, err
}

// QueryOneTx reads one row in a transaction; pgx.ErrNoRows: there is none.
func QueryOneTx[T any](
	ctx context.Context, t *Tx, scan func(pgx.CollectableRow) (T, error), statement string, args ...any,
) (one T, err error) {
	all, err := QueryTx(ctx, t, scan, statement, args...)
	if err == nil && len(all) == 0 {
		err = pgx.ErrNoRows
	}
	if err != nil {
		return one, err
	}
	return all[0], nil
}

// Transact runs f in one transaction, and again if that cannot have happened: f sets what it returns anew each time.
func (db *DB) Transact(ctx context.Context, f func(context.Context, *Tx) error) error {
	return db.TransactWithin(ctx, Patience, f)
}

// TransactWithin is Transact for a transaction that may take as long as limit.
func (db *DB) TransactWithin(ctx context.Context, limit time.Duration, f func(context.Context, *Tx) error) (err error) {
	began := time.Now()
	defer func() { db.counts.wrote(began, err) }()
	for range attempts {
		var sent *Commit
		if sent, err = db.transactOnce(ctx, limit, f); sent == nil {
			return err
		}
		db.counts.lostCommits.Add(1)
		happened, unknown := db.settleSoon(ctx, *sent)
		switch {
		case unknown != nil:
			return &unsettledError{*sent, err}
		case happened:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
	return err
}

// transactOnce runs f in one transaction. If the answer to its COMMIT was lost, it returns that.
func (db *DB) transactOnce(
	ctx context.Context, limit time.Duration, f func(context.Context, *Tx) error,
) (sent *Commit, err error) {
	switch err := db.refuses(); {
	case err != nil:
		return nil, err
	case db.fenced.Load():
		return nil, db.fence()
	}
	var lost error
	err = db.Use(ctx, func(conn *pgx.Conn) error {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		t := &Tx{db: db, conn: conn}
		if err := f(limited, t); err != nil {
			t.rollback(limited)
			return err
		}
		if t.token == nil {
			return nil // nothing was sent
		}
		if err := ctx.Err(); err != nil {
			t.rollback(limited)
			return err
		}
		err := t.commit(ctx)
		if err != nil && conn.IsClosed() {
			sent, lost = &Commit{t.name(), t.token}, err
			return nil // and not once more before it is settled
		}
		return err
	})
	if sent != nil {
		return sent, lost
	}
	return nil, err
}

// rollback undoes a transaction. One that cannot be undone is undone with its connection, which the pool then closes.
func (t *Tx) rollback(ctx context.Context) {
	if t.token != nil && !t.conn.IsClosed() {
		_, _ = t.conn.PgConn().Exec(ctx, "ROLLBACK").ReadAll()
	}
}

// commit waits for the answer even if nobody waits for the write any more: it would be lost otherwise.
func (t *Tx) commit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Patience)
	defer cancel()
	results, err := t.conn.PgConn().Exec(ctx, "COMMIT").ReadAll()
	if err == nil && (len(results) != 1 || results[0].CommandTag.String() != "COMMIT") {
		err = tool.Errorf("postgres.commit", tool.Internal, "the database undid a transaction without saying why")
	}
	return err
}

// settleSoon settles a COMMIT for as long as somebody can wait for it.
func (db *DB) settleSoon(ctx context.Context, c Commit) (happened bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), db.SettlePatience)
	defer cancel()
	pause := time.NewTicker(settlePause)
	defer pause.Stop()
	for {
		if happened, err = db.Settle(ctx, c); err == nil {
			return happened, nil
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return false, err
		}
	}
}

// Settle finds out whether a transaction has happened, and sees to it that it will not happen later.
func (db *DB) Settle(ctx context.Context, c Commit) (happened bool, err error) {
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Release()
	const end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1"
	if _, err := conn.Exec(ctx, end, c.connection); err != nil {
		return false, err
	}
	const take = "INSERT INTO commits (connection, token) VALUES ($1, '') " +
		"ON CONFLICT (connection) DO UPDATE SET at = excluded.at RETURNING token"
	var token []byte
	err = conn.QueryRow(ctx, take, c.connection).Scan(&token)
	return bytes.Equal(token, c.token), err
}

// forgetCommits removes what nobody will ask for any more: the rows of connections that wrote nothing for a week. A
// connection makes its row anew when it writes again.
func (db *DB) forgetCommits(ctx context.Context) error {
	return db.Use(ctx, func(conn *pgx.Conn) error {
		const remove = "DELETE FROM commits WHERE connection IN (SELECT connection FROM commits " +
			"WHERE at < now() - interval '7 days' FOR UPDATE SKIP LOCKED)"
		_, err := conn.Exec(ctx, remove)
		return err
	})
}

// Unsettled returns the COMMIT of an error of which nobody knows whether it happened; nil: that is known.
func Unsettled(err error) *Commit {
	var e *unsettledError
	if errors.As(err, &e) {
		return &e.commit
	}
	return nil
}

// NodeID is the ID of the node whose transaction it is.
func (t *Tx) NodeID() string { return t.db.node.ID }
