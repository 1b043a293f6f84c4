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
	if why := sqltext.Reads(sqltext.SQLite, s.SQL); why != "" {
		return engine.ReadOnly(why)
	}
	if err := db.lock.Acquire(ctx); err != nil {
		return err
	}
	defer db.lock.Release()
	c := db.read
	if c == db.write { // a database in memory has one connection, read-only during a read
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
	if err := db.lock.Acquire(ctx); err != nil {
		return engine.Outcome{}, err
	}
	defer db.lock.Release()
	c, err := db.writer(ctx)
	if err != nil {
		return engine.Outcome{}, err
	}
	return c.change(ctx, writing, s, out)
}

// Transact runs f in one transaction. SQLite's are all serializable.
func (db *DB) Transact(ctx context.Context, _ string, f func(engine.ExecFunc) error) error {
	if err := db.lock.Acquire(ctx); err != nil {
		return err
	}
	defer db.lock.Release()
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
	if err == nil { // an interrupted commit would leave open whether it was made
		if err = c.exec(context.WithoutCancel(ctx), "COMMIT"); err == nil {
			return nil
		}
	}
	// SQLite may have rolled back by itself; ROLLBACK then fails, and nothing is left to undo.
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

// exec runs a statement of the engine.
func (c *conn) exec(ctx context.Context, text string) error {
	c.authorizer.set(internal)
	err := c.query(ctx, engine.Statement{SQL: text}, noColumns, func([]driver.Value) bool { return true })
	return convertError(c.authorizer, err)
}

// run runs a statement of a caller. With all, it reads the rows to the end even
// where the writer wants no more.
func (c *conn) run(ctx context.Context, s state, st engine.Statement, out *rowset.Writer, all bool) error {
	c.authorizer.set(s)
	defer c.authorizer.set(internal)
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
				writeCell(out.Row(), v, types[i])
			}
			out.End()
		}
		return true
	})
	return convertError(c.authorizer, err)
}

// writeCell writes one cell. In SQLite each value has its own type, whatever the
// column declares.
func writeCell(row *rowset.Row, v driver.Value, declared string) {
	switch v := v.(type) {
	case nil:
		row.Null()
	case int64:
		row.Int(v)
	case float64:
		row.Float(v)
	case string:
		if declared == "JSON" {
			row.JSON([]byte(v))
		} else {
			row.Text(v)
		}
	case []byte:
		row.Blob(v)
	case time.Time: // a text that the driver parsed because of the declared type
		if declared == "DATE" && v.Equal(v.Truncate(24*time.Hour)) {
			row.Text(v.Format(time.DateOnly))
		} else {
			row.Time(v)
		}
	case bool:
		row.Bool(v)
	}
}

// change runs a statement that may write and returns its effect.
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
	if ran != nil && total == before { // otherwise the interrupt came too late, and the change was made
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

// changes returns SQLite's counters: all changes so far, the changes of the last
// statement, and the ID of the row inserted last.
func (c *conn) changes(ctx context.Context) (total, last, rowid int64, err error) {
	c.authorizer.set(internal)
	counters := engine.Statement{SQL: "SELECT total_changes(), changes(), last_insert_rowid()"}
	err = c.query(ctx, counters, noColumns, func(cells []driver.Value) bool {
		total, last, rowid = cells[0].(int64), cells[1].(int64), cells[2].(int64)
		return true
	})
	return total, last, rowid, convertError(c.authorizer, err)
}

func (db *DB) version(ctx context.Context) (string, error) {
	product := "SQLite"
	// The count reads the file, which may not be a database.
	version := engine.Statement{SQL: "SELECT sqlite_version(), count(*) FROM sqlite_master"}
	err := db.read.query(ctx, version, noColumns, func(cells []driver.Value) bool {
		if s, ok := cells[0].(string); ok {
			product += " " + s
		}
		return true
	})
	return product, convertError(nil, err)
}
