// Package sqlite is the engine of SQLite files and of databases in memory.
//
// # Confinement
//
// A connection is one file and stays one. SQLite itself is made to refuse the
// rest: its authorizer, which it asks while it compiles a statement, denies
// ATTACH (and with it VACUUM INTO), the loading of extensions and every pragma
// that is not on a list; the number of attached databases is limited to none;
// and the connection is defensive, so that no statement can write the schema
// table or the pages of the file behind SQLite's back. A journal is made
// beside its file, and SQLite opens neither through a symbolic link.
//
// # Reading
//
// The reading connection is opened with mode=ro, has query_only set, and its
// authorizer permits nothing but reading. A database in memory is one
// connection, which is put into the same state for the time of a read.
package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net/url"
	"path/filepath"
	"reflect"
	"strings"

	"modernc.org/libc"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/sqltext"
)

// Config is what to open.
type Config struct {
	Path  string // canonical; "" is a database in memory
	Shown string // the path as people know it
	// Verify is given the path that SQLite opened in the end. A name that was
	// exchanged for a link in between is found out here.
	Verify func(opened string) error
}

// DB is one open database.
type DB struct {
	config  Config
	product string
	read    *conn
	write   *conn // the same as read for a database in memory; nil until needed
	turn    *engine.ConnLock
}

var _ engine.Engine = (*DB)(nil)

// Open opens a database. Its file must exist.
func Open(ctx context.Context, c Config) (*DB, error) {
	db := &DB{config: c, turn: engine.NewConnLock()}
	var err error
	if c.Path == "" {
		db.read, err = connect(ctx, "file::memory:?"+options("memory", "foreign_keys(1)"), nil)
		db.write = db.read
	} else {
		db.read, err = connect(ctx, source(c.Path, "ro", "query_only(1)"), c.Verify)
	}
	if err != nil {
		return nil, err
	}
	if db.product, err = db.version(ctx); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

// source is the name of a file with what its connection starts with.
func source(path, mode string, pragmas ...string) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: slashed, RawQuery: options(mode, pragmas...)}).String()
}

func options(mode string, pragmas ...string) string {
	q := url.Values{"mode": {mode}, "_defensive": {"1"}, "_pragma": append(pragmas, "busy_timeout(5000)", "trusted_schema(0)")}
	return q.Encode()
}

// Info says what the database is.
func (db *DB) Info() engine.Info {
	return engine.Info{Dialect: sqltext.SQLite, Product: db.product, Place: db.config.Shown}
}

// Close closes the file, once nothing runs on it.
func (db *DB) Close() error {
	if err := db.turn.Close(); err != nil {
		return err
	}
	defer db.turn.Release()
	var errs []error
	if db.write != nil && db.write != db.read {
		errs = append(errs, db.write.close())
	}
	if db.read != nil {
		errs = append(errs, db.read.close())
	}
	db.read, db.write = nil, nil
	return errors.Join(errs...)
}

// writer returns the connection that writes.
func (db *DB) writer(ctx context.Context) (*conn, error) {
	if db.write == nil {
		w, err := connect(ctx, source(db.config.Path, "rw", "foreign_keys(1)"), db.config.Verify)
		if err != nil {
			return nil, err
		}
		db.write = w
	}
	return db.write, nil
}

// conn is one connection of SQLite, never shared and never replaced.
type conn struct {
	db     *sql.DB
	sql    *sql.Conn
	guard  *authorizer
	handle uintptr // of SQLite's own, to interrupt it
}

func connect(ctx context.Context, source string, verify func(string) error) (*conn, error) {
	base, err := sqlite.NewConnector(source)
	if err != nil {
		return nil, convertError(nil, err)
	}
	c := &conn{db: sql.OpenDB(base), guard: &authorizer{}}
	c.db.SetMaxOpenConns(1)
	if c.sql, err = c.db.Conn(ctx); err != nil {
		_ = c.db.Close()
		return nil, convertError(nil, err)
	}
	if err := c.confine(ctx, verify); err != nil {
		_ = c.close()
		return nil, err
	}
	return c, nil
}

// confine puts up the walls, and then looks at what was opened.
func (c *conn) confine(ctx context.Context, verify func(string) error) error {
	err := c.sql.Raw(func(dc any) error {
		if f := reflect.ValueOf(dc).Elem().FieldByName("db"); f.IsValid() && f.CanUint() {
			c.handle = uintptr(f.Uint()) // the driver interrupts only until the first row
		}
		return dc.(sqlite.AuthorizerRegisterer).RegisterAuthorizer(c.guard.judge)
	})
	if err != nil {
		return convertError(nil, err)
	}
	for limit, most := range map[int]int{sqlite3.SQLITE_LIMIT_ATTACHED: 0, sqlite3.SQLITE_LIMIT_LENGTH: engine.MaxMessage} {
		if _, err := sqlite.Limit(c.sql, limit, most); err != nil {
			return convertError(nil, err)
		}
	}
	if verify == nil {
		return nil
	}
	var file string
	row := c.sql.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name='main'")
	if err := row.Scan(&file); err != nil {
		return convertError(nil, err)
	}
	return verify(file)
}

func (c *conn) close() error {
	var errs []error
	if c.sql != nil {
		errs = append(errs, c.sql.Close())
	}
	return errors.Join(append(errs, c.db.Close())...)
}

// interrupt stops whatever runs on the connection. It is called only while
// something does, so the handle is alive.
func (c *conn) interrupt() {
	if c.handle == 0 {
		return
	}
	tls := libc.NewTLS()
	defer tls.Close()
	sqlite3.Xsqlite3_interrupt(tls, c.handle)
}

// query runs a statement and hands over its rows one by one until each returns
// false. The cells are valid until the next row.
func (c *conn) query(ctx context.Context, s engine.Statement, columns func(names, types []string), each func([]driver.Value) bool) error {
	args, err := arguments(s.Args)
	if err != nil {
		return err
	}
	err = c.sql.Raw(func(dc any) error {
		stop := context.AfterFunc(ctx, c.interrupt)
		defer stop()
		rows, err := dc.(driver.QueryerContext).QueryContext(ctx, s.SQL, args)
		if err != nil {
			return err
		}
		defer rows.Close()
		names := rows.Columns()
		types := make([]string, len(names))
		for i := range types {
			types[i] = rows.(driver.RowsColumnTypeDatabaseTypeName).ColumnTypeDatabaseTypeName(i)
		}
		columns(names, types)
		cells := make([]driver.Value, len(names))
		for {
			switch err := rows.Next(cells); {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			case !each(cells):
				return nil
			}
		}
	})
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func arguments(values []any) ([]driver.NamedValue, error) {
	args := make([]driver.NamedValue, len(values))
	for i, v := range values {
		plain, err := engine.DriverValue(v)
		if err != nil {
			return nil, err
		}
		args[i] = driver.NamedValue{Ordinal: i + 1, Value: plain}
	}
	return args, nil
}
