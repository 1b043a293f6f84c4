package sqlite

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"runtime"

	"callgate/internal/storage/sqlite/fileheader"
	"callgate/tool"
)

// OpenReading opens a file that cannot be written, as on a disk that is mounted
// read-only, without making or changing anything beside it. What is in its log is
// read too. Whoever calls it sees that nobody else has the file open.
func OpenReading(ctx context.Context, path string) (*DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, tool.Errorf("sqlite.Open", tool.Invalid, "the path of the database is not understood: %w", err)
	}
	version, err := fileheader.Version(path)
	if err != nil {
		return nil, err
	}
	if version != len(migrations) {
		return nil, tool.Errorf("sqlite.Open", tool.Unavailable,
			"%s has schema version %d, and is not read before it has version %d", path, version, len(migrations)).
			WithHint("start Callgate once where the state directory can be written: that brings it to this version")
	}
	// A lock needs a file that can be written, and so does the index of the log that
	// connections share: one connection without either reads the log as it is.
	pool, err := sql.Open("sqlite", source(path, "locking_mode(EXCLUSIVE)", "query_only(ON)")+"&mode=ro"+noLocks(path))
	if err != nil {
		return nil, convertError("sqlite.Open", err)
	}
	pool.SetMaxOpenConns(1)
	db := newDB(path, pool, pool)
	if _, err := schemaVersion(ctx, pool); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

// noLocks says how SQLite leaves locks out. Windows has no such way for a file whose log
// is not empty.
func noLocks(path string) string {
	info, err := os.Stat(path + "-wal")
	switch {
	case err != nil || info.Size() == 0:
		return "&immutable=1" // without a log SQLite would make one
	case runtime.GOOS == "windows":
		return ""
	}
	return "&vfs=unix-none"
}

// OpenEmpty opens a database that is in memory only, in the place of the file at a path
// that cannot be opened. Payloads beside that file can be read.
func OpenEmpty(ctx context.Context, path string) (*DB, error) {
	pool, err := sql.Open("sqlite", "file::memory:?_txlock=immediate")
	if err != nil {
		return nil, convertError("sqlite.Open", err)
	}
	pool.SetMaxOpenConns(1) // each connection has a database of its own
	db := newDB(path, pool, pool)
	if err := migrate(ctx, pool); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

// newDB makes the stores.
func newDB(path string, read, write *sql.DB) *DB {
	db := &DB{read: read, write: write}
	db.rows = &rowStore{db: db, reading: newStatements(read)}
	db.approvals = &approvalStore{db: db}
	db.conversations = &conversationStore{db: db}
	db.tasks = &taskStore{db: db, statements: newStatements(write)}
	db.documents = &documentStore{db: db}
	db.blobs = newBlobs(path)
	return db
}

// Hold has every write refused while reason returns an error, which says why. It must
// be set before the stores are used by several at a time.
func (db *DB) Hold(reason func() error) { db.held = reason }

// refuses says why nothing may be written now, or nil.
func (db *DB) refuses() error {
	if db.held != nil {
		if err := db.held(); err != nil {
			return err
		}
	}
	return db.place.check()
}
