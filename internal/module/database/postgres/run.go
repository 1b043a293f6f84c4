package postgres

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/rowset"
	"callgate/internal/module/database/sqltext"
	"callgate/tool"
)

// Read runs a statement in a transaction that the server keeps read-only.
func (db *DB) Read(ctx context.Context, s engine.Statement, out *rowset.Writer) error {
	if err := db.checkRead(s.SQL); err != nil {
		return err
	}
	c := db.read
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.lock.Release()
	if err := c.begin(ctx, db.begins()); err != nil {
		return err
	}
	defer c.rollback(ctx)
	_, err := c.run(ctx, s, out, false)
	return err
}

// Write runs one statement outside a transaction, which some statements require.
func (db *DB) Write(ctx context.Context, s engine.Statement, out *rowset.Writer) (engine.Outcome, error) {
	if err := noCopy(s.SQL); err != nil {
		return engine.Outcome{}, err
	}
	c := db.write
	if err := c.acquire(ctx); err != nil {
		return engine.Outcome{}, err
	}
	defer c.lock.Release()
	if err := c.begin(ctx, ""); err != nil {
		return engine.Outcome{}, err
	}
	done, err := c.run(ctx, s, out, true)
	if err == nil && c.pg.TxStatus() != 'I' {
		c.rollback(ctx)
		return done, engine.Fail(tool.Invalid, "the statement left a transaction open; it was rolled back").
			WithHint("send the statements that belong together to database.transaction")
	}
	c.rollback(ctx)
	return done, err
}

// Transact runs f in one transaction.
func (db *DB) Transact(ctx context.Context, isolation string, f func(engine.ExecFunc) error) error {
	c := db.write
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.lock.Release()
	start := "BEGIN"
	if isolation != "" {
		start = "BEGIN ISOLATION LEVEL " + strings.ToUpper(isolation)
	}
	if err := c.begin(ctx, start); err != nil {
		return err
	}
	defer c.rollback(ctx)
	err := f(func(s engine.Statement, out *rowset.Writer) (engine.Outcome, error) {
		if err := noCopy(s.SQL); err != nil {
			return engine.Outcome{}, err
		}
		done, err := c.run(ctx, s, out, true)
		if err == nil && c.pg.TxStatus() != 'T' {
			err = engine.Fail(tool.InDoubt, "the statement ended the transaction; what came before it may have been committed").
				WithHint("look with database.fetch_results, and leave COMMIT and ROLLBACK to this tool")
		}
		return done, err
	})
	if err != nil {
		return err
	}
	return c.commit(ctx)
}

// mayRun reports whether a statement can be sent. One that fails though it could may
// have been carried out.
func (c *conn) mayRun(ctx context.Context) bool { return ctx.Err() == nil && !c.pg.IsClosed() }

// commit ends a transaction. Where its answer is lost, nobody knows whether it was
// committed.
func (c *conn) commit(ctx context.Context) error {
	sent := c.mayRun(ctx)
	results, err := c.pg.Exec(ctx, "COMMIT").ReadAll()
	if err != nil {
		return c.convertError(ctx, sent, err)
	}
	if len(results) == 1 && results[0].CommandTag.String() != "COMMIT" {
		return engine.Fail(tool.Failed, "the server rolled the transaction back instead of committing it")
	}
	return nil
}

// noCopy refuses COPY, whose data would travel beside the statement.
func noCopy(text string) error {
	if sqltext.First(sqltext.Postgres, text) != "COPY" {
		return nil
	}
	return engine.Fail(tool.Invalid, "COPY moves data beside its statement, which is not done here").
		WithHint("use database.bulk_insert to put rows in, database.fetch_results to get them")
}

// run runs a statement of a caller. With all, for a statement that may write, it
// reads the rows to the end; otherwise it stops after too many unwanted rows.
func (c *conn) run(ctx context.Context, s engine.Statement, out *rowset.Writer, all bool) (engine.Outcome, error) {
	values, err := c.values(ctx, s)
	if err != nil {
		return engine.Outcome{}, err
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	sent := c.mayRun(ctx)
	rows := c.pg.ExecParams(inner, s.SQL, values, nil, nil, nil)
	writers := setColumns(rows.FieldDescriptions(), c.types, out)
	stopped := false
	for unwanted := 0; rows.NextRow(); {
		switch out.Next() {
		case rowset.KeepRow:
			for i, cell := range rows.Values() {
				if cell == nil {
					out.Row().Null()
				} else {
					writers[i](out.Row(), cell)
				}
			}
			out.End()
		case rowset.Stop:
			if unwanted++; !all && unwanted > engine.DrainRows && !stopped {
				stopped = true
				cancel()
			}
		}
	}
	fields := slices.Clone(rows.FieldDescriptions()) // the next statement overwrites them
	tag, err := rows.Close()
	if stopped && ctx.Err() == nil {
		return engine.Outcome{Affected: -1}, nil
	}
	if err != nil {
		return engine.Outcome{}, c.convertError(ctx, all && sent, err)
	}
	c.nameTypes(ctx, fields, out)
	return engine.Outcome{Affected: affected(tag)}, nil
}

// affected returns the number of rows that a statement changed. The tag of a
// SELECT counts the rows that it returned instead.
func affected(tag pgconn.CommandTag) int64 {
	if tag.Select() {
		return 0
	}
	return tag.RowsAffected()
}

// Copy inserts rows with COPY. It is one statement, so it inserts all of them or none.
func (db *DB) Copy(ctx context.Context, table string, names []string, rows [][]any) (int64, error) {
	c := db.write
	if err := c.acquire(ctx); err != nil {
		return 0, err
	}
	defer c.lock.Release()
	if err := c.begin(ctx, "BEGIN"); err != nil {
		return 0, err
	}
	defer c.rollback(ctx)
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = sqltext.Postgres.Quote(n)
	}
	var data bytes.Buffer
	for _, row := range rows {
		copyRow(&data, row)
	}
	tag, err := c.pg.CopyFrom(ctx, &data, "COPY "+table+" ("+strings.Join(quoted, ", ")+") FROM STDIN")
	if err != nil {
		return 0, c.convertError(ctx, false, err) // nothing of it is kept without a COMMIT
	}
	return tag.RowsAffected(), c.commit(ctx)
}
