package sqlite

import (
	"context"
	"database/sql/driver"
	"time"

	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/rowset"
	"callgate/internal/module/database/sqltext"
	"callgate/tool"
)

// Read runs a statement that may only read.
func (db *DB) Read(ctx context.Context, s engine.Statement, out *rowset.Writer) error {
	if err := single(s); err != nil {
		return err
	}
	if err := db.turn.Acquire(ctx); err != nil {
		return err
	}
	defer db.turn.Release()
	c := db.read
	if c == db.write { // in memory: one connection, for a time read-only
		if err := c.exec(ctx, "PRAGMA query_only=1"); err != nil {
			return err
		}
		defer func() { _ = c.exec(context.WithoutCancel(ctx), "PRAGMA query_only=0") }()
	}
	return c.run(ctx, reading, s, out, false)
}

// Write runs one statement, which is its own transaction.
func (db *DB) Write(ctx context.Context, s engine.Statement, out *rowset.Writer) (engine.Outcome, error) {
	if err := single(s); err != nil {
		return engine.Outcome{}, err
	}
	if err := db.turn.Acquire(ctx); err != nil {
		return engine.Outcome{}, err
	}
	defer db.turn.Release()
	c, err := db.writer(ctx)
	if err != nil {
		return engine.Outcome{}, err
	}
	return c.change(ctx, writing, s, out)
}

// Transact runs f in one transaction. SQLite's are all serializable.
func (db *DB) Transact(ctx context.Context, _ string, f func(engine.ExecFunc) error) error {
	if err := db.turn.Acquire(ctx); err != nil {
		return err
	}
	defer db.turn.Release()
	c, err := db.writer(ctx)
	if err != nil {
		return err
	}
	if err := c.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err = f(func(s engine.Statement, out *rowset.Writer) (engine.Outcome, error) {
		if err := single(s); err != nil {
			return engine.Outcome{}, err
		}
		return c.change(ctx, within, s, out)
	})
	if err == nil {
		err = ctx.Err()
	}
	if err == nil { // not to be interrupted: it would not be known whether it was done
		if err = c.exec(context.WithoutCancel(ctx), "COMMIT"); err == nil {
			return nil
		}
	}
	// SQLite may have rolled back by itself; then there is nothing left to undo.
	_ = c.exec(context.WithoutCancel(ctx), "ROLLBACK")
	return err
}

func single(s engine.Statement) error {
	if sqltext.Single(sqltext.SQLite, s.SQL) {
		return nil
	}
	return engine.Fail(tool.Invalid, "the query holds more than one statement").
		WithHint("send one at a time; several that belong together go to database.transaction")
}

// exec runs a statement of the engine's own.
func (c *conn) exec(ctx context.Context, text string) error {
	c.guard.set(own)
	err := c.query(ctx, engine.Statement{SQL: text}, func(_, _ []string) {}, func([]driver.Value) bool { return true })
	return convertError(c.guard, err)
}

// run runs a statement of the asker's. With all, its rows are read to the end,
// though no more are kept.
func (c *conn) run(ctx context.Context, s state, st engine.Statement, out *rowset.Writer, all bool) error {
	c.guard.set(s)
	defer c.guard.set(own)
	var types []string
	err := c.query(ctx, st, func(names, declared []string) {
		types = declared
		columns := make([]rowset.Column, len(names))
		for i := range columns {
			columns[i] = rowset.Column{Name: names[i], Type: declared[i]}
		}
		out.Columns(columns)
	}, func(cells []driver.Value) bool {
		switch out.Next() {
		case rowset.Stop:
			return all
		case rowset.KeepRow:
			for i, v := range cells {
				cellWriter(out, v, types[i])
			}
			out.End()
		}
		return true
	})
	return convertError(c.guard, err)
}

// cellWriter writes one cell. SQLite's values have types of their own, whatever their
// column is declared to be.
func cellWriter(out *rowset.Writer, v driver.Value, declared string) {
	switch v := v.(type) {
	case nil:
		out.Null()
	case int64:
		out.Int(v)
	case float64:
		out.Float(v)
	case string:
		if declared == "JSON" {
			out.JSON([]byte(v))
		} else {
			out.Text(v)
		}
	case []byte:
		out.Blob(v)
	case time.Time: // a text that the driver read because of the declared type
		if declared == "DATE" && v.Equal(v.Truncate(24*time.Hour)) {
			out.Text(v.Format(time.DateOnly))
		} else {
			out.Time(v)
		}
	case bool:
		out.Bool(v)
	}
}

// change runs a statement that may write and says what it did.
func (c *conn) change(ctx context.Context, s state, st engine.Statement, out *rowset.Writer) (engine.Outcome, error) {
	before, _, _, err := c.changes(ctx)
	if err != nil {
		return engine.Outcome{}, err
	}
	reads := false
	switch sqltext.First(sqltext.SQLite, st.SQL) {
	case "SELECT", "VALUES", "EXPLAIN", "PRAGMA":
		reads = true
	}
	ran := c.run(ctx, s, st, out, !reads)
	if ran != nil && !engine.IsContextEnd(ran) {
		return engine.Outcome{}, ran
	}
	total, last, rowid, err := c.changes(context.WithoutCancel(ctx))
	if err != nil {
		return engine.Outcome{}, err
	}
	if ran != nil && total == before { // else it was stopped too late: it is done
		return engine.Outcome{}, ran
	}
	done := engine.Outcome{}
	if total != before {
		done.Affected = last
	}
	switch sqltext.First(sqltext.SQLite, st.SQL) {
	case "INSERT", "REPLACE":
		if total != before {
			done.LastID = &rowid
		}
	}
	return done, nil
}

// changes returns what SQLite counts: all changes so far, those of the last
// statement, and the id of the last row that was inserted.
func (c *conn) changes(ctx context.Context) (total, last, rowid int64, err error) {
	c.guard.set(own)
	err = c.query(ctx, engine.Statement{SQL: "SELECT total_changes(), changes(), last_insert_rowid()"}, func(_, _ []string) {},
		func(cells []driver.Value) bool {
			total, last, rowid = cells[0].(int64), cells[1].(int64), cells[2].(int64)
			return true
		})
	return total, last, rowid, convertError(c.guard, err)
}

func (db *DB) version(ctx context.Context) (string, error) {
	product := "SQLite"
	err := db.read.query(ctx, engine.Statement{SQL: "SELECT sqlite_version(), count(*) FROM sqlite_master"}, func(_, _ []string) {},
		func(cells []driver.Value) bool {
			if s, ok := cells[0].(string); ok {
				product += " " + s
			}
			return true
		})
	return product, convertError(nil, err)
}
