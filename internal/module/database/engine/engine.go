// Package engine declares what the module needs of a database: to read, to
// write, to run several statements or none, and to stop on demand. Packages
// sqlite, postgres and mysql implement it; enginetest tests all of them against
// the law below.
//
// # The law of an engine
//
// An engine has two connections: one that can only read, and one that writes,
// opened when it is first needed. The database itself guarantees that a read
// changes nothing: the reading connection is opened read-only, and each read
// runs in a transaction that the database keeps read-only and that is rolled
// back. Besides, a read must begin with a word that asks for rows (sqltext.Reads):
// some databases run code in a read-only transaction that does more than change data.
//
// A connection runs one statement at a time; other callers wait. A statement
// whose context ends is cancelled in the database. The call returns when the
// database has stopped the statement, or after a short grace with the connection
// cut. The next statement reopens a connection that was lost. A connection that
// was lost during a write leaves an error of the kind tool.InDoubt, since nobody
// knows whether the database made the change.
package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"callgate/internal/module/database/rowset"
	"callgate/internal/module/database/sqltext"
	"callgate/tool"
)

// Grace is how long a database may take to stop a statement that was cancelled.
// The kernel gives a handler a little longer than this.
const Grace = 3 * time.Second

// DrainRows is how many unwanted rows a driver reads before it cancels the
// statement instead. Cancelling costs a connection of its own.
const DrainRows = 20_000

// MaxMessage bounds the size of one row from a database.
const MaxMessage = 64 << 20

// Statement is one statement in the dialect of its database, with the values of
// its placeholders: nil, bool, string, json.Number, []byte, or json.RawMessage
// for an object or a list.
type Statement struct {
	SQL  string
	Args []any
}

// Outcome is the effect of a statement.
type Outcome struct {
	Affected int64  // the number of rows changed; -1 where the database does not tell
	LastID   *int64 // the ID of the row inserted last, where the database tells
}

// Info describes a database.
type Info struct {
	Dialect sqltext.Dialect
	Product string // its name and version
	Place   string // where it is, without a secret
}

// ExecFunc runs one statement of a transaction.
type ExecFunc func(Statement, *rowset.Writer) (Outcome, error)

// Engine is one open database. It is safe for concurrent use.
type Engine interface {
	Info() Info
	Read(ctx context.Context, s Statement, out *rowset.Writer) error
	Write(ctx context.Context, s Statement, out *rowset.Writer) (Outcome, error)
	// Transact commits the statements of f when f returns nil, and rolls them back
	// otherwise. The isolation is one that ValidIsolation accepts.
	Transact(ctx context.Context, isolation string, f func(ExecFunc) error) error
	// Close closes the connections when no statement runs on them. Callers end the
	// contexts of running statements first.
	Close() error
}

// Copier is an engine with a faster way to insert many rows. It inserts all of
// them or none.
type Copier interface {
	Copy(ctx context.Context, table string, columns []string, rows [][]any) (int64, error)
}

// Powerful is an engine whose account may do more to the server than change its data.
type Powerful interface {
	// Powers returns the privileges with which an account can run programs on the
	// server or reach its files, as the database names them, and how they are taken
	// away. It was asked when the database was opened.
	Powers() Powers
}

// Powers are privileges beyond the data of a database.
type Powers struct {
	Account string   // as the database names it
	Names   []string // the privileges: superuser, FILE, …
	Drop    string   // the statements that take them away
}

// ValidIsolation reports whether a transaction may have an isolation level. The
// level becomes part of a statement, so nothing else is accepted.
func ValidIsolation(name string) bool {
	switch name {
	case "", "read committed", "repeatable read", "serializable":
		return true
	default:
		return false
	}
}

// Fail returns an error of a database. The tool sets its operation.
func Fail(kind tool.Kind, format string, args ...any) *tool.Error {
	return tool.Errorf("database", kind, format, args...)
}

// NoTableError is the cause of an error about a table that does not exist.
type NoTableError struct{ Name string }

func (e NoTableError) Error() string { return "there is no table " + strconv.Quote(e.Name) }

// ReadOnly returns the error of a write where only reads are allowed.
func ReadOnly(reason string) *tool.Error {
	return Fail(tool.Denied, "the database refused this: it reads only here, and the statement would write (%s)", reason).
		WithHint("use database.execute_query, database.transaction or database.bulk_insert to change something")
}

// ConnectionLost returns the error of a connection that broke, during a write or not.
func ConnectionLost(writing bool, err error) *tool.Error {
	if writing {
		return Fail(tool.InDoubt, "the connection to the database was lost before it answered; "+
			"the change may or may not have been made: %w", err).
			WithHint("look with database.fetch_results before trying again")
	}
	return Fail(tool.Unavailable, "the connection to the database was lost: %w", err).
		WithHint("try again: the connection is opened again")
}

// ConnLock lets one caller at a time use a connection, and no caller once it is
// closed. NewConnLock returns one; the zero value does not work.
type ConnLock struct {
	slot   chan struct{}
	closed bool // read and written by the caller that holds the lock
}

// NewConnLock returns a lock that is free.
func NewConnLock() *ConnLock { return &ConnLock{slot: make(chan struct{}, 1)} }

// Acquire waits for the lock. The caller releases it.
func (l *ConnLock) Acquire(ctx context.Context) error {
	if err := l.wait(ctx); err != nil {
		return err
	}
	if l.closed {
		l.Release()
		return Fail(tool.Cancelled, "the connection was closed")
	}
	return nil
}

func (l *ConnLock) wait(ctx context.Context) error {
	select {
	case l.slot <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		l.Release()
		return err
	}
	return nil
}

// Release frees the lock.
func (l *ConnLock) Release() { <-l.slot }

// Close waits for the current holder, though not forever, closes the lock, and
// calls closeConn to close the connection. A second Close does nothing.
func (l *ConnLock) Close(closeConn func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*Grace)
	defer cancel()
	if err := l.wait(ctx); err != nil {
		return Fail(tool.Busy, "a statement still uses the connection, so it was not closed: %w", err)
	}
	defer l.Release()
	if l.closed {
		return nil
	}
	l.closed = true
	return closeConn()
}

// DriverValue converts a value for a driver of database/sql. A number becomes an
// int64 where it is whole and fits, a float64 where that is exact, and otherwise
// its digits.
func DriverValue(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, []byte:
		return v, nil
	case json.RawMessage:
		return string(v), nil
	case json.Number:
		return number(string(v)), nil
	default:
		return nil, fmt.Errorf("a value has the type %T, which no database takes", v)
	}
}

func number(digits string) any {
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsInf(f, 0) {
		return digits
	}
	if strconv.FormatFloat(f, 'f', -1, 64) != digits && strconv.FormatFloat(f, 'g', -1, 64) != digits {
		return digits
	}
	return f
}

// IsContextEnd reports whether an error is the end of a context.
func IsContextEnd(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
