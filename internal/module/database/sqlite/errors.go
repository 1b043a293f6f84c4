package sqlite

import (
	"errors"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"callgate/internal/module/database/engine"
	"callgate/tool"
)

// convertError turns an error of SQLite into words that say what to do next.
func convertError(g *authorizer, err error) error {
	var e *sqlite.Error
	var done *tool.Error
	switch {
	case err == nil:
		return nil
	case engine.IsContextEnd(err), errors.As(err, &done):
		return err
	case !errors.As(err, &e):
		return engine.Fail(tool.Invalid, "SQLite could not do this: %w", err)
	}
	if g != nil && g.said() != "" {
		return refused(g.said())
	}
	said := e.Error()
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_READONLY:
		return engine.ReadOnly(said)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return engine.Fail(tool.Busy, "another process holds the database: %s", said).WithHint("try again in a moment")
	case sqlite3.SQLITE_CONSTRAINT:
		return engine.Fail(tool.Conflict, "the database refused the change: %s", said).
			WithHint("nothing was changed; look at what is there, or use on_conflict of database.bulk_insert")
	case sqlite3.SQLITE_FULL:
		return engine.Fail(tool.Unavailable, "the disk is full: %s", said).WithHint("free some space and try again")
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return engine.Fail(tool.Invalid, "the file is not a sound SQLite database: %s", said)
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM:
		return engine.Fail(tool.Unavailable, "the file cannot be opened: %s", said).WithHint("see that it exists and who may read and write it")
	case sqlite3.SQLITE_TOOBIG:
		return engine.Fail(tool.Invalid, "a value is larger than %d MiB: %s", engine.MaxMessage>>20, said)
	}
	if _, name, ok := strings.Cut(said, "no such table: "); ok {
		name, _, _ = strings.Cut(name, " (")
		return engine.Fail(tool.NotFound, "%w", engine.NoTableError{Name: name})
	}
	return engine.Fail(tool.Invalid, "%s", said).WithHint("database.describe shows a table's columns")
}

// refused says what the guard did not permit.
func refused(why string) error {
	e := engine.Fail(tool.Denied, "the database refused this: %s", why)
	switch why {
	case writes:
		return engine.ReadOnly("not authorized")
	case transactions:
		return e.WithHint("send the statements that belong together to database.transaction")
	case outside:
		return e.WithHint("open the other file with database.connect under its own connection_id")
	default:
		return e
	}
}
