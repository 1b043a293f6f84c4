// Package sqlite is the engine for SQLite files and databases in memory.
//
// # Confinement
//
// A connection reaches one file. SQLite itself refuses everything else: the
// authorizer, which it asks while it compiles a statement, denies ATTACH (and
// with it VACUUM INTO), the loading of extensions and every pragma that is not on
// a list; the number of attached databases is limited to zero; and the connection
// is defensive, so that no statement writes the schema table or the pages of the
// file directly. SQLite creates a journal beside its file and opens neither
// through a symbolic link.
//
// # Reading
//
// The reading connection is opened with mode=ro and query_only, and its
// authorizer allows only reads. A database in memory has one connection, which is
// in the same state during a read.
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

// Config names the database to open.
type Config struct {
	Path  string // canonical; "" for a database in memory
	Shown string // the path as the caller knows it
	// Verify, unless it is nil, checks the path that SQLite opened. It detects a
	// file that was replaced by a link in between.
	Verify func(opened string) error
}

// DB is one open database.
type DB struct {
	config  Config
	product string
	read    *conn
	write   *conn // the same as read for a database in memory; nil until needed
	lock    *engine.ConnLock
}

var _ engine.Engine = (*DB)(nil)

// Open opens a database. Its file must exist.
func Open(ctx context.Context, c Config) (*DB, error) {
	db := &DB{config: c, lock: engine.NewConnLock()}
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

// source returns the URI of a file with the options of its connection.
func source(path, mode string, pragmas ...string) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: slashed, RawQuery: options(mode, pragmas...)}).String()
}

func options(mode string, pragmas ...string) string {
	pragmas = append(pragmas, "busy_timeout(5000)", "trusted_schema(0)")
	return url.Values{"mode": {mode}, "_defensive": {"1"}, "_pragma": pragmas}.Encode()
}

// Info describes the database.
func (db *DB) Info() engine.Info {
	return engine.Info{Dialect: sqltext.SQLite, Product: db.product, Place: db.config.Shown}
}

// Close closes the file when no statement runs on it.
func (db *DB) Close() error {
	return db.lock.Close(func() error {
		var errs []error
		if db.write != nil && db.write != db.read {
			errs = append(errs, db.write.close())
		}
		return errors.Join(append(errs, db.read.close())...)
	})
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

// conn is one connection of SQLite.
type conn struct {
	db         *sql.DB
	sql        *sql.Conn
	authorizer *authorizer
	handle     uintptr // SQLite's own, to interrupt a statement; see interrupt
}

func connect(ctx context.Context, source string, verify func(string) error) (*conn, error) {
	base, err := sqlite.NewConnector(source)
	if err != nil {
		return nil, convertError(nil, err)
	}
	c := &conn{db: sql.OpenDB(base), authorizer: &authorizer{}}
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

// confine limits the connection to its file, and then verifies which file that is.
func (c *conn) confine(ctx context.Context, verify func(string) error) error {
	err := c.sql.Raw(func(dc any) error {
		if f := reflect.ValueOf(dc).Elem().FieldByName("db"); f.IsValid() && f.CanUint() {
			c.handle = uintptr(f.Uint())
		}
		return dc.(sqlite.AuthorizerRegisterer).RegisterAuthorizer(c.authorizer.authorize)
	})
	if err != nil {
		return convertError(nil, err)
	}
	limits := map[int]int{sqlite3.SQLITE_LIMIT_ATTACHED: 0, sqlite3.SQLITE_LIMIT_LENGTH: engine.MaxMessage}
	for limit, value := range limits {
		if _, err := sqlite.Limit(c.sql, limit, value); err != nil {
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

// interrupt stops the statement that runs on the connection. It is called only
// while one runs, so the handle is valid.
//
// The driver (modernc.org/sqlite 1.61) watches the context of a query until its
// first row and ignores it in Rows.Next, which is where an aggregate behind a
// UNION or a long scan spends its time. It exports neither sqlite3_interrupt nor
// the handle that it takes, and it uses the only slot for a progress handler
// itself. So the handle is read from the driver's private field. The engine's
// conformance suite fails if a later version renames the field.
func (c *conn) interrupt() {
	if c.handle == 0 {
		return
	}
	tls := libc.NewTLS()
	defer tls.Close()
	sqlite3.Xsqlite3_interrupt(tls, c.handle)
}

// noColumns is for a query whose columns are known.
func noColumns(_, _ []string) {}

// query runs a statement and calls each for every row until it returns false. The
// cells are valid until the next row.
func (c *conn) query(
	ctx context.Context, s engine.Statement, columns func(names, types []string), each func([]driver.Value) bool,
) error {
	args, err := arguments(s.Args)
	if err != nil {
		return err
	}
	err = c.sql.Raw(func(dc any) error {
		interrupted := make(chan struct{})
		stop := context.AfterFunc(ctx, func() { c.interrupt(); close(interrupted) })
		defer func() {
			if !stop() {
				<-interrupted // or it would reach the next statement
			}
		}()
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
