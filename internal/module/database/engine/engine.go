// Package engine says what the module asks of a database: to read, to write,
// to do several things or none, and to stop when told to. The rooms sqlite,
// postgres and mysql answer it.
//
// # The law of an engine
//
// An engine is two connections: one that can only read, and one that writes,
// opened when it is first needed. That a read changes nothing is the
// database's own doing: the reading connection is opened so, and each read runs
// in a transaction that the database keeps read-only and that is rolled back.
// Nothing here depends on having understood the SQL.
//
// A connection serves one statement at a time; callers wait in line for it. A
// statement whose context ends is cancelled in the database, not merely no
// longer listened to, and the call returns when the database has let go, or
// after a short grace with the connection cut. A connection that was lost is
// opened again by the next statement; one that was lost under a write leaves
// an error that says so (tool.InDoubt), since nobody can know.
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

// Grace is how long a database is given to let go of what was cancelled. The
// kernel gives a handler a little longer than this.
const Grace = 3 * time.Second

// DrainRows is how many rows that nobody wants are read away before a
// statement is cancelled instead: cancelling takes a connection of its own.
const DrainRows = 20_000

// MaxMessage bounds one row on its way from a database.
const MaxMessage = 64 << 20

// Statement is one statement in the dialect of its database, with the values
// of its placeholders: nil, bool, string, json.Number, []byte, or
// json.RawMessage for an object or a list.
type Statement struct {
	SQL  string
	Args []any
}

// Outcome is what a statement did.
type Outcome struct {
	Affected int64  // rows; -1 where the database does not tell
	LastID   *int64 // of a row that was inserted, where the database tells
}

// Info says what a database is.
type Info struct {
	Dialect sqltext.Dialect
	Product string // its name and version
	Place   string // where it is, without anything secret
}

// ExecFunc carries out one statement of a transaction.
type ExecFunc func(Statement, *rowset.Writer) (Outcome, error)

// Engine is one database that is open.
type Engine interface {
	Info() Info
	Read(ctx context.Context, s Statement, out *rowset.Writer) error
	Write(ctx context.Context, s Statement, out *rowset.Writer) (Outcome, error)
	// Transact commits what f did when f returns nil, and undoes it otherwise.
	// isolation is one for which Isolation holds.
	Transact(ctx context.Context, isolation string, f func(ExecFunc) error) error
	Close() error
}

// Copier is an engine with a faster way to insert many rows. It inserts all of
// them or none.
type Copier interface {
	Copy(ctx context.Context, table string, columns []string, rows [][]any) (int64, error)
}

// Isolation reports whether a transaction may ask for an isolation. It becomes
// a part of a statement, so nothing else may.
func Isolation(name string) bool {
	switch name {
	case "", "read committed", "repeatable read", "serializable":
		return true
	default:
		return false
	}
}

// Fail makes an error of a database. Its operation is filled in by the tool.
func Fail(kind tool.Kind, format string, args ...any) *tool.Error {
	return tool.Errorf("database", kind, format, args...)
}

// NoTableError is the cause of an error about a table that does not exist.
type NoTableError struct{ Name string }

func (e NoTableError) Error() string { return "there is no table " + strconv.Quote(e.Name) }

// ReadOnly is the refusal of a write where only reading is done.
func ReadOnly(said string) *tool.Error {
	return Fail(tool.Denied, "the database refused this: it reads only here, and the statement would write (%s)", said).
		WithHint("use database.execute_query, database.transaction or database.bulk_insert to change something")
}

// ConnectionLost is the error of a connection that broke, under a write or not.
func ConnectionLost(writing bool, err error) *tool.Error {
	if writing {
		return Fail(tool.InDoubt, "the connection to the database was lost before it answered; the change may or may not have been made: %w", err).
			WithHint("look with database.fetch_results before trying again")
	}
	return Fail(tool.Unavailable, "the connection to the database was lost: %w", err).WithHint("try again: it is opened anew")
}

// ConnLock lets one caller at a time use a connection, and nobody once it is over.
// Its zero value is not of use: see NewTurn.
type ConnLock struct {
	slot chan struct{}
	over bool // read and written by whoever has the turn
}

// NewConnLock makes a turn that nobody has.
func NewConnLock() *ConnLock { return &ConnLock{slot: make(chan struct{}, 1)} }

// Acquire waits for the turn.
func (t *ConnLock) Acquire(ctx context.Context) error {
	select {
	case t.slot <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		t.Release()
		return err
	}
	if t.over {
		t.Release()
		return Fail(tool.Cancelled, "the connection was closed")
	}
	return nil
}

// Release gives the turn back.
func (t *ConnLock) Release() { <-t.slot }

// Close takes the turn for the last time, to close what it stands for. Whoever
// has it was told to stop before; End waits for that, but not for ever.
func (t *ConnLock) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*Grace)
	defer cancel()
	if err := t.Acquire(ctx); err != nil {
		if tool.KindOf(err) == tool.Cancelled {
			return nil // it is over already
		}
		return err
	}
	t.over = true
	return nil
}

// DriverValue turns a value into what a driver of database/sql takes: a number is an
// int64 where it is whole and fits, else a float64 where that is exact, and
// else its digits.
func DriverValue(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, []byte:
		return v, nil
	case json.RawMessage:
		return string(v), nil
	case json.Number:
		return number(string(v)), nil
	default:
		return nil, fmt.Errorf("a value of type %T", v)
	}
}

func number(digits string) any {
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsInf(f, 0) || strconv.FormatFloat(f, 'f', -1, 64) != digits && strconv.FormatFloat(f, 'g', -1, 64) != digits {
		return digits
	}
	return f
}

// IsContextEnd reports whether an error is the end of its context.
func IsContextEnd(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
