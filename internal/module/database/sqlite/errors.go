package sqlite

import (
	"errors"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"callgate/internal/module/database/engine"
	"callgate/tool"
)

// convertError converts an error of SQLite to one that says what to do next.
func convertError(a *authorizer, err error) error {
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
	if a != nil && a.refusal() != "" {
		return refused(a.refusal())
	}
	message := e.Error()
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_READONLY:
		return engine.ReadOnly(message)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return engine.Fail(tool.Busy, "another process holds the database: %s", message).WithHint("try again in a moment")
	case sqlite3.SQLITE_CONSTRAINT:
		return engine.Fail(tool.Conflict, "the database refused the change: %s", message).
			WithHint("nothing was changed; look at what is there, or use on_conflict of database.bulk_insert")
	case sqlite3.SQLITE_FULL:
		return engine.Fail(tool.Unavailable, "the disk is full: %s", message).WithHint("free some space and try again")
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return engine.Fail(tool.Invalid, "the file is not a sound SQLite database: %s", message)
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM:
		return engine.Fail(tool.Unavailable, "the file cannot be opened: %s", message).
			WithHint("check that it exists, and who may read and write it")
	case sqlite3.SQLITE_TOOBIG:
		return engine.Fail(tool.Invalid, "a value is larger than %d MiB: %s", engine.MaxMessage>>20, message)
	}
	if _, name, ok := strings.Cut(message, "no such table: "); ok {
		name, _, _ = strings.Cut(name, " (")
		return engine.Fail(tool.NotFound, "%w", engine.NoTableError{Name: name})
	}
	return engine.Fail(tool.Invalid, "%s", message).WithHint("database.describe shows a table's columns")
}

// refused returns the error of an action that the authorizer refused.
func refused(reason string) error {
	e := engine.Fail(tool.Denied, "the database refused this: %s", reason)
	switch reason {
	case writes:
		return engine.ReadOnly("not authorized")
	case transactions:
		return e.WithHint("send the statements that belong together to database.transaction")
	case oneFile:
		return e.WithHint("open the other file with database.connect under its own connection_id")
	default:
		return e
	}
}
