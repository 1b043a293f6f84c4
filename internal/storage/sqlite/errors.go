package sqlite

import (
	"context"
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"callgate/tool"
)

// unreadable is the error of a row that holds something else than it should.
func unreadable(op, what string, err error) error {
	return &tool.Error{Op: op, Kind: tool.Internal, Message: what + " cannot be read", Err: err}
}

// convertError gives an error of SQLite a kind, and words that say what to do.
// Nil stays nil.
func convertError(op string, err error) error {
	if err == nil {
		return nil
	}
	var known *tool.Error
	if errors.As(err, &known) {
		return known
	}
	e := &tool.Error{Op: op, Kind: tool.Internal, Message: "the database failed", Err: err}
	switch {
	case errors.Is(err, context.Canceled):
		e.Kind, e.Message = tool.Cancelled, "the database was not waited for"
		return e
	case errors.Is(err, context.DeadlineExceeded):
		e.Kind, e.Message = tool.Timeout, "the database did not answer in time"
		return e
	}
	var cause *sqlite.Error
	if !errors.As(err, &cause) {
		return e
	}
	code := cause.Code() & 0xff
	if cause.Code() == sqlite3.SQLITE_IOERR_SHMSIZE {
		code = sqlite3.SQLITE_FULL
	}
	switch code {
	case sqlite3.SQLITE_FULL:
		e.Kind, e.Message = tool.Unavailable, "the disk is full"
		e.Hint = "free some space; writing goes on by itself when there is room"
	case sqlite3.SQLITE_IOERR:
		e.Kind, e.Message = tool.Unavailable, "the disk cannot be read or written"
		e.Hint = "check the disk: whether it has space left, and works"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		e.Kind, e.Message = tool.Unavailable, "the database cannot be opened for writing"
		e.Hint = "see who owns the state directory, and whether its disk has space and is writable"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		e.Kind, e.Message = tool.Unavailable, "another process holds the database"
		e.Hint = "end the other process, or name another state directory"
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		e.Kind, e.Message = tool.Internal, "the database is damaged"
		e.Hint = "restore the state directory from a copy"
	case sqlite3.SQLITE_CONSTRAINT:
		e.Kind, e.Message = tool.Conflict, "it is already there"
	}
	return e
}

// isBusy reports that another connection holds the file.
func isBusy(err error) bool {
	var cause *sqlite.Error
	return errors.As(err, &cause) && cause.Code()&0xff == sqlite3.SQLITE_BUSY
}

// needsSharedMemory reports an error of the file that connections share: there is no
// space for it on the disk, or it cannot be made.
func needsSharedMemory(err error) bool {
	var cause *sqlite.Error
	if !errors.As(err, &cause) {
		return false
	}
	switch cause.Code() {
	case sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMMAP,
		sqlite3.SQLITE_IOERR_SHMLOCK, sqlite3.SQLITE_FULL:
		return true
	}
	return false
}
