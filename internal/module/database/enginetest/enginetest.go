// Package enginetest is the conformance suite of the database engines: one list
// of tests for SQLite, PostgreSQL and MariaDB, written against the law in
// package engine and nothing else. It also starts the servers that the tests of
// the database module share.
//
// A driver's test runs the suite:
//
//	var servers enginetest.Servers
//
//	func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }
//
//	func TestConformance(t *testing.T) { enginetest.Run(t, enginetest.Postgres(&servers)) }
package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/rowset"
	"callgate/internal/module/database/sqltext"
	"callgate/tool"
)

// Database is one kind of database: how to open one, and the SQL in which it
// differs from the others.
type Database struct {
	Name string
	// Open opens an empty database, which is closed at the end of the test.
	Open func(testing.TB) engine.Engine

	Serial, Decimal, Blob, JSON string // types of columns

	Slow         string // a query that takes a minute
	SlowAfterRow string // a query that returns a row and then takes a minute
	SlowInsert   string // an INSERT into t (a) that takes a minute
	Many         string // a query with ten million rows, 1, 2, 3 …

	Prepare  []string  // statements before Attempts
	Attempts []Attempt // writes in the disguise of a read, beside those of every database

	// Running returns the number of statements that run in the engine's database
	// now. It is nil where no server can be asked.
	Running func(testing.TB, engine.Engine) int
	// Disconnect ends the engine's connections from outside. It is nil where no
	// server could.
	Disconnect func(testing.TB, engine.Engine)
}

// Attempt is a statement that Read must not carry out.
type Attempt struct {
	SQL string
	By  string // a part of the refusal; "" where the statement may succeed without an effect
}

// Run runs the suite against a database.
func Run(t *testing.T, db Database) {
	for name, test := range map[string]func(*fixture){
		"Info":                   describesItself,
		"Values":                 keepsValues,
		"Outcomes":               reportsOutcomes,
		"RowLimits":              obeysRowLimits,
		"OneStatement":           acceptsOneStatement,
		"Errors":                 explainsErrors,
		"ReadOnly":               readsOnly,
		"TransactionCommits":     commits,
		"TransactionRollsBack":   rollsBack,
		"TransactionSavepoints":  allowsSavepoints,
		"TransactionIsolations":  acceptsIsolations,
		"NoTransactionStaysOpen": leavesNoTransaction,
		"CancelRead":             cancelsReads,
		"CancelAfterFirstRow":    cancelsAfterFirstRow,
		"CancelWrite":            cancelsWrites,
		"CancelTransaction":      cancelsTransactions,
		"CancelWaiting":          cancelsWaiting,
		"Concurrent":             servesManyCallers,
		"Close":                  closes,
		"CloseWhileRunning":      closesWhileRunning,
		"LostConnection":         reconnects,
		"LostDuringWrite":        doubtsLostWrites,
		"Copy":                   copiesAllOrNone,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(&fixture{T: t, db: db, engine: db.Open(t)})
		})
	}
}

// fixture is one test on an empty database.
type fixture struct {
	*testing.T
	db     Database
	engine engine.Engine
}

// bind returns a statement whose values are written ?.
func (f *fixture) bind(sql string, args []any) engine.Statement {
	f.Helper()
	text, values, err := sqltext.Bind(f.engine.Info().Dialect, sql, sqltext.Params{List: args})
	if err != nil {
		f.Fatalf("%s: %v", sql, err)
	}
	return engine.Statement{SQL: text, Args: values}
}

// write runs a statement that must succeed.
func (f *fixture) write(sql string, args ...any) engine.Outcome {
	f.Helper()
	done, err := f.engine.Write(f.Context(), f.bind(sql, args), rowset.New(rowset.Limits{}))
	if err != nil {
		f.Fatalf("%s: %v", sql, err)
	}
	return done
}

// tryWrite runs a statement and returns its error.
func (f *fixture) tryWrite(ctx context.Context, sql string, args ...any) error {
	f.Helper()
	_, err := f.engine.Write(ctx, f.bind(sql, args), rowset.New(rowset.Limits{}))
	return err
}

// rows runs a query that must succeed.
func (f *fixture) rows(sql string, args ...any) [][]any {
	f.Helper()
	out := rowset.New(rowset.Limits{})
	if err := f.engine.Read(f.Context(), f.bind(sql, args), out); err != nil {
		f.Fatalf("%s: %v", sql, err)
	}
	return scan(f.T, out)
}

// tryRead runs a query and returns its error.
func (f *fixture) tryRead(ctx context.Context, sql string) error {
	return f.engine.Read(ctx, engine.Statement{SQL: sql}, rowset.New(rowset.Limits{}))
}

// count returns the number of rows of a table.
func (f *fixture) count(table string) string {
	f.Helper()
	rows := f.rows("SELECT count(*) FROM " + table)
	n, _ := rows[0][0].(json.Number)
	return n.String()
}

func scan(t testing.TB, out *rowset.Writer) (rows [][]any) {
	t.Helper()
	if err := out.Scan(func(cells []any) error { rows = append(rows, cells); return nil }); err != nil {
		t.Fatal(err)
	}
	return rows
}

// fails checks the kind of an error, and that it says what to do next.
func (f *fixture) fails(what string, err error, kind tool.Kind) *tool.Error {
	f.Helper()
	var e *tool.Error
	if !errors.As(err, &e) {
		f.Errorf("%s: %v is not a tool.Error", what, err)
		return &tool.Error{}
	}
	var missing engine.NoTableError // its hint is the list of tables, which the module adds
	if e.Kind != kind || e.Hint == "" && !errors.As(err, &missing) {
		f.Errorf("%s: %s %v, hint %q; want %s", what, e.Kind, e, e.Hint, kind)
	}
	return e
}

// works checks that the engine still reads and writes.
func (f *fixture) works() {
	f.Helper()
	f.write("CREATE TABLE works (a INTEGER)")
	f.write("INSERT INTO works VALUES (1)")
	if got := f.count("works"); got != "1" {
		f.Errorf("%s rows", got)
	}
}

// eventually waits for a condition, at most ten seconds.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Errorf("this never happened: %s", what)
			return
		}
	}
}

// awaitRunning waits until the database runs n statements, where it can be asked.
func (f *fixture) awaitRunning(n int) {
	if f.db.Running != nil {
		eventually(f, "the server runs the statement", func() bool { return f.db.Running(f, f.engine) == n })
	}
}
