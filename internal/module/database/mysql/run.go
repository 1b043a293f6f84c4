package mysql

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/rowset"
	"callgate/internal/module/database/sqltext"
	"callgate/tool"
)

// Read runs a statement in a transaction that the server keeps read-only.
func (db *DB) Read(ctx context.Context, s engine.Statement, out *rowset.Writer) error {
	if err := checkRead(s.SQL); err != nil {
		return err
	}
	c := db.read
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.lock.Release()
	if err := c.begin(ctx, "START TRANSACTION READ ONLY"); err != nil {
		return err
	}
	defer c.rollback(ctx)
	return c.run(ctx, s, out, false)
}

// Write runs one statement, which is its own transaction.
func (db *DB) Write(ctx context.Context, s engine.Statement, out *rowset.Writer) (engine.Outcome, error) {
	if err := checkWrite(s.SQL, false); err != nil {
		return engine.Outcome{}, err
	}
	c := db.write
	if err := c.acquire(ctx); err != nil {
		return engine.Outcome{}, err
	}
	defer c.lock.Release()
	if err := c.limitTime(ctx); err != nil {
		return engine.Outcome{}, err
	}
	done, err := c.change(ctx, s, out)
	if !keepsSession(s.SQL) {
		c.drop() // the next call must not see what the statement may have set
	}
	return done, err
}

// Transact runs f in one transaction. It sets a savepoint at the start, which is
// gone at the end if a statement committed the transaction by itself.
func (db *DB) Transact(ctx context.Context, isolation string, f func(engine.ExecFunc) error) error {
	c := db.write
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.lock.Release()
	defer c.rollback(ctx)
	if isolation != "" {
		if err := c.exec(ctx, "SET TRANSACTION ISOLATION LEVEL "+strings.ToUpper(isolation)); err != nil {
			return err
		}
	}
	if err := c.begin(ctx, "START TRANSACTION"); err != nil {
		return err
	}
	if err := c.exec(ctx, "SAVEPOINT callgate_start"); err != nil {
		return err
	}
	err := f(func(s engine.Statement, out *rowset.Writer) (engine.Outcome, error) {
		if err := checkWrite(s.SQL, true); err != nil {
			return engine.Outcome{}, err
		}
		return c.change(ctx, s, out)
	})
	if c.raw == nil { // killed or lost: the server rolls back
		if err == nil {
			err = cmp.Or(ctx.Err(), error(engine.ConnectionLost(false, driver.ErrBadConn)))
		}
		return err
	}
	if lost := c.exec(context.WithoutCancel(ctx), "RELEASE SAVEPOINT callgate_start"); lost != nil && c.raw != nil {
		return engine.Fail(tool.InDoubt, "a statement ended the transaction; what came before it was committed").
			WithHint("look with database.fetch_results; statements that change tables themselves commit in this " +
				"database and go to database.execute_query")
	}
	if err != nil {
		return err
	}
	return c.commit(ctx)
}

func (c *conn) commit(ctx context.Context) error {
	_, err := c.raw.(driver.ExecerContext).ExecContext(ctx, "COMMIT", nil)
	return c.convertError(ctx, true, err)
}

// begin starts a transaction.
func (c *conn) begin(ctx context.Context, text string) error {
	if err := c.limitTime(ctx); err != nil {
		return err
	}
	return c.exec(ctx, text)
}

// rollback ends a transaction if one is open. Where that fails, it drops the
// connection.
func (c *conn) rollback(ctx context.Context) {
	if c.raw == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), engine.Grace)
	defer cancel()
	if err := c.exec(ctx, "ROLLBACK"); err != nil {
		c.drop()
	}
}

// exec runs a statement of the engine.
func (c *conn) exec(ctx context.Context, text string, args ...any) error {
	s := engine.Statement{SQL: text, Args: args}
	return c.convertError(ctx, false, c.each(ctx, s, nil, func([]driver.Value) bool { return true }))
}

// run runs a statement of a caller. With all, for a statement that may write, it
// reads the rows to the end; otherwise it stops after too many unwanted rows.
func (c *conn) run(ctx context.Context, s engine.Statement, out *rowset.Writer, all bool) error {
	abandon, stop := context.WithCancel(ctx)
	defer stop()
	killed, err := c.runCancellable(abandon, func(inner context.Context) error {
		var writers []cellWriter
		unwanted := 0
		return c.each(inner, s, func(names, types []string) {
			writers = setColumns(names, types, out)
		}, func(cells []driver.Value) bool {
			switch out.Next() {
			case rowset.KeepRow:
				for i, v := range cells {
					writers[i](out.Row(), v)
				}
				out.End()
			case rowset.Stop:
				if unwanted++; !all && unwanted == engine.DrainRows {
					stop()
				}
			}
			return true
		})
	})
	if killed || errors.Is(err, driver.ErrBadConn) {
		defer c.drop()
	}
	switch {
	case killed && ctx.Err() == nil: // by stop, after too many rows
		return nil
	case killed && all && err == nil: // the kill came too late, and the change was made
		return nil
	case killed && all && !interrupted(err):
		return engine.ConnectionLost(true, errors.Join(ctx.Err(), err))
	case killed:
		return ctx.Err()
	default:
		return c.convertError(ctx, all, err)
	}
}

// change runs a statement that may write and returns its effect.
func (c *conn) change(ctx context.Context, s engine.Statement, out *rowset.Writer) (engine.Outcome, error) {
	if err := c.run(ctx, s, out, true); err != nil {
		return engine.Outcome{}, err
	}
	done := engine.Outcome{Affected: -1}
	if c.raw == nil {
		return done, nil
	}
	counters := engine.Statement{SQL: "SELECT ROW_COUNT(), LAST_INSERT_ID()"}
	err := c.each(context.WithoutCancel(ctx), counters, nil, func(cells []driver.Value) bool {
		done.Affected, _ = strconv.ParseInt(text(cells[0]), 10, 64)
		switch sqltext.First(sqltext.MySQL, s.SQL) {
		case "INSERT", "REPLACE":
			if id, err := strconv.ParseInt(text(cells[1]), 10, 64); err == nil && id > 0 {
				done.LastID = &id
			}
		}
		return true
	})
	if err != nil { // the change was made, only its counters are missing
		c.drop()
	}
	if done.Affected < 0 && out.HasColumns() {
		done.Affected = 0
		if slices.Contains(slices.Collect(sqltext.Words(sqltext.MySQL, s.SQL)), "RETURNING") {
			done.Affected = int64(out.Rows())
		}
	}
	return done, nil
}

// each runs a statement and calls f for every row until it returns false.
func (c *conn) each(
	ctx context.Context, s engine.Statement, head func(names, types []string), f func([]driver.Value) bool,
) error {
	rows, done, err := c.query(ctx, s)
	if err != nil {
		return err
	}
	defer done()
	names := rows.Columns()
	if head != nil && len(names) > 0 {
		types := make([]string, len(names))
		for i := range types {
			types[i] = rows.(driver.RowsColumnTypeDatabaseTypeName).ColumnTypeDatabaseTypeName(i)
		}
		head(names, types)
	}
	if len(names) == 0 {
		return nil
	}
	cells := make([]driver.Value, len(names))
	for {
		switch err := rows.Next(cells); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case !f(cells):
			return nil
		}
	}
}

// query sends a statement, prepared where it has values.
func (c *conn) query(ctx context.Context, s engine.Statement) (driver.Rows, func(), error) {
	if len(s.Args) == 0 {
		rows, err := c.raw.(driver.QueryerContext).QueryContext(ctx, s.SQL, nil)
		if err != nil {
			return nil, nil, err
		}
		return rows, func() { _ = rows.Close() }, nil
	}
	args, err := arguments(s.Args)
	if err != nil {
		return nil, nil, err
	}
	prepared, err := c.raw.(driver.ConnPrepareContext).PrepareContext(ctx, s.SQL)
	if err != nil {
		return nil, nil, err
	}
	rows, err := prepared.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		_ = prepared.Close()
		return nil, nil, err
	}
	return rows, func() { _ = rows.Close(); _ = prepared.Close() }, nil
}

func arguments(values []any) ([]driver.NamedValue, error) {
	args := make([]driver.NamedValue, len(values))
	for i, v := range values {
		plain, err := engine.DriverValue(v)
		if err != nil {
			return nil, err
		}
		if f, ok := plain.(float64); ok { // as digits it is exact for a decimal column too
			plain = strconv.FormatFloat(f, 'f', -1, 64)
		}
		args[i] = driver.NamedValue{Ordinal: i + 1, Value: plain}
	}
	return args, nil
}
