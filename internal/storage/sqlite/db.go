package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver named "sqlite"

	"callgate/internal/artifact"
	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/storage"
	"callgate/internal/storage/sqlite/fileheader"
	"callgate/internal/storage/sqlite/plainrows"
	"callgate/internal/storage/tables"
	"callgate/tool"
)

// readers is the number of connections that read at a time.
const readers = 4

// busyTimeout is how long a file that another process holds is waited for.
const busyTimeout = 5 * time.Second

// busyPragma has SQLite itself wait so long.
var busyPragma = fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())

// DB is one open file. It is safe for concurrent use.
type DB struct {
	write         *sql.DB // one connection: every write, in turn
	read          *sql.DB
	rows          *rowStore
	approvals     *approvalStore
	conversations *conversationStore
	tasks         *taskStore
	documents     *documentStore
	blobs         *artifact.Folder
	problem       error        // why only one connection is open; nil: all are
	held          func() error // why nothing is written; nil: all is
	place         place
}

var _ storage.Driver = (*DB)(nil)

// Open opens the file, makes it when it is absent (its folder must exist), and
// brings its schema to the present version. A file that a newer Callgate wrote
// is refused and left as it was, to the byte.
func Open(ctx context.Context, path string) (*DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, tool.Errorf("sqlite.Open", tool.Invalid, "the path of the database is not understood: %w", err)
	}
	version, err := fileheader.Version(path)
	if err != nil {
		return nil, err
	}
	if version > len(migrations) {
		return nil, tool.Errorf("sqlite.Open", tool.Unavailable,
			"%s has schema version %d, and this Callgate knows versions up to %d", path, version, len(migrations)).
			WithHint("it was written by a newer Callgate: run that one, or name another state directory")
	}
	if err := makeFile(path); err != nil {
		return nil, err
	}
	db, err := open(ctx, path, false)
	if err != nil && needsSharedMemory(err) {
		problem := err
		if db, err = open(ctx, path, true); err == nil {
			db.problem = problem
		}
	}
	var e *tool.Error
	if errors.As(err, &e) && e.Kind == tool.Internal { // damaged: say which file
		e.Message = path + ": " + e.Message
	}
	return db, err
}

// Problem says why the file was opened in a way that needs nothing of the disk; nil
// if it was opened as always. It can be read, and written once there is space.
func (db *DB) Problem() error { return db.problem }

// makeFile makes an empty database file that only its owner can read, so that
// SQLite gives its other files the same mode.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		hint := "see that the folder exists and can be written"
		if errors.Is(err, fs.ErrPermission) {
			hint = "see who owns the file and its folder"
		}
		return &tool.Error{
			Op: "sqlite.Open", Kind: tool.Unavailable, Message: "the database cannot be opened", Hint: hint, Err: err,
		}
	}
	return f.Close()
}

// open opens the pools. Full fsync is for macOS, where a plain one stops at the
// drive's cache; elsewhere it changes nothing.
//
// With alone there is one connection, for reading too. It holds the file for itself,
// so SQLite keeps the index of its log in memory and not in a file that all
// connections share, for which a full disk has no space.
func open(ctx context.Context, path string, alone bool) (db *DB, err error) {
	db = &DB{}
	defer func() {
		if err != nil {
			db.Close()
		}
	}()
	pragmas := []string{busyPragma, "synchronous(FULL)", "fullfsync(ON)", "foreign_keys(ON)",
		"journal_size_limit(16777216)", "secure_delete(ON)"}
	if alone {
		pragmas = append(pragmas, "locking_mode(EXCLUSIVE)")
	}
	// The driver sets the journal's mode after the pragmas: that first touches the file,
	// and then it is too late to hold it alone.
	if db.write, err = sql.Open("sqlite", source(path, pragmas...)+"&_journal_mode=WAL"); err != nil {
		return db, convertError("sqlite.Open", err)
	}
	db.write.SetMaxOpenConns(1)
	if db.read = db.write; !alone {
		if db.read, err = sql.Open("sqlite", source(path, busyPragma, "query_only(ON)")); err != nil {
			return db, convertError("sqlite.Open", err)
		}
		db.read.SetMaxOpenConns(readers)
		db.read.SetMaxIdleConns(readers)
	}
	if err = connect(ctx, db.write); err != nil {
		return db, err
	}
	if err = migrate(ctx, db.write); err != nil {
		return db, err
	}
	place, err := newPlace(path)
	if err != nil {
		return db, err
	}
	opened := newDB(path, db.read, db.write)
	opened.place = place
	return opened, nil
}

// connect makes the first connection of the writer, which takes the journal to its
// mode. For that SQLite wants the file for itself, and does not wait for it as long as
// busyPragma says: of two that open a new file at once it refuses one immediately.
func connect(ctx context.Context, write *sql.DB) error {
	deadline := time.Now().Add(busyTimeout)
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		err := write.PingContext(ctx)
		if !isBusy(err) || time.Now().After(deadline) {
			return convertError("sqlite.Open", err)
		}
		select {
		case <-ctx.Done():
			return convertError("sqlite.Open", ctx.Err())
		case <-again.C:
		}
	}
}

// newBlobs is the folder of payloads beside a database.
func newBlobs(path string) *artifact.Folder {
	return artifact.NewFolder(filepath.Join(filepath.Dir(path), "artifacts"))
}

// source is the data source name of the file with these pragmas. Transactions
// take the write lock at once: they would only find later that they cannot.
func source(path string, pragmas ...string) string {
	q := url.Values{"_txlock": {"immediate"}, "_pragma": pragmas}
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: slashed, RawQuery: q.Encode()}).String()
}

// Stores returns the stores.
func (db *DB) Stores() storage.Stores {
	return storage.Stores{
		Journal: db.rows, Approvals: db.approvals, Conversations: db.conversations, Deleter: db.conversations,
		Documents: db.documents, Blobs: db.blobs, Tasks: db.tasks, Queue: db.tasks,
		Leases: db.tasks, TaskLogs: db.tasks,
	}
}

// Tables returns everything that is kept here as plain rows.
func (db *DB) Tables() tables.Store {
	return &plainrows.Store{Read: db.read, Transact: db.transact, Convert: convertError, Blobs: db.blobs, Floor: floor}
}

// Journal returns the journal's rows.
func (db *DB) Journal() journal.Store { return db.rows }

// Approvals returns the requests put to humans.
func (db *DB) Approvals() approval.Store { return db.approvals }

// Conversations returns the conversations.
func (db *DB) Conversations() history.Store { return db.conversations }

// Close closes the file; SQLite then folds its log back into it.
func (db *DB) Close() error {
	var errs []error
	if db.rows != nil {
		errs = append(errs, db.rows.close())
	}
	for _, pool := range []*sql.DB{db.read, db.write} { // the writer last: it folds the log
		if pool != nil {
			errs = append(errs, pool.Close())
		}
	}
	return convertError("sqlite.Close", errors.Join(errs...))
}

// transact runs f in one transaction of the writer.
func (db *DB) transact(ctx context.Context, f func(*sql.Tx) error) error {
	if err := db.refuses(); err != nil {
		return err
	}
	tx, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	return tx.Commit()
}

// transactNoSync runs f in one transaction that does not wait for the disk:
// the death of the process cannot undo it, and that of the machine only if no
// other transaction was made since, for all of them are in one log and in
// order. What is written before a call is therefore as safe as the record that
// the call began.
func (db *DB) transactNoSync(ctx context.Context, f func(*sql.Tx) error) (err error) {
	if err := db.refuses(); err != nil {
		return err
	}
	conn, err := db.write.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "PRAGMA synchronous = NORMAL"); err != nil {
		return err
	}
	defer func() {
		_, full := conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA synchronous = FULL")
		err = errors.Join(err, full)
	}()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	return tx.Commit()
}

// emptyLog folds the log into the file and empties it. It reports false when
// somebody still reads the log.
func (db *DB) emptyLog(ctx context.Context) bool {
	ctx = context.WithoutCancel(ctx) // what was written before is done
	conn, err := db.write.Conn(ctx)
	if err != nil {
		return false
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "PRAGMA busy_timeout = 200"); err != nil { // nobody can write meanwhile
		return false
	}
	var busy, frames, folded int
	err = conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &folded)
	_, restored := conn.ExecContext(ctx, "PRAGMA "+busyPragma)
	return err == nil && restored == nil && busy == 0
}

// ignoreDone passes over a rollback that SQLite did by itself.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}
