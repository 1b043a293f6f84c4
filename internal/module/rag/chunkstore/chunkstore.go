// Package chunkstore keeps knowledge bases in a SQLite file: documents, the chunks that they are
// divided into, and the vectors of those.
//
// # Law
//
// A document is replaced whole or not at all, with everything that was stored of it. The version
// of a base grows with every change, so that what was read of it before is known to be old. The
// number of a chunk is never used again. Vectors of a base are those of one model; they are kept
// as numbers of one byte with a scale, which changes similarities by less than a hundredth.
package chunkstore

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver named "sqlite"

	"callgate/internal/doctext"
	"callgate/internal/nearest"
	"callgate/internal/search/embed/vector"
	"callgate/tool"
)

// Store is one open file. It is safe for concurrent use.
type Store struct {
	path  string
	write *sql.DB // one connection: every change, in turn
	read  *sql.DB
}

// Base is a knowledge base.
type Base struct {
	ID          int64
	Name        string
	Description string
	Model       string // whose vectors it has; "": it is searched by words alone
	Created     time.Time
	Version     int64 // grows with every change
	Documents   int
	Chunks      int
	Bytes       int64 // of the documents
	// Shared says that the base is not in this store, but in the database of several kernels.
	Shared bool
}

// Origin is where a document came from.
type Origin string

// The origins. A document that was stored before origins were has none.
const (
	File Origin = "file" // of the workspace
	Text Origin = "text" // that a call gave
	Rows Origin = "rows" // of a database
)

// Document is a document of a base.
type Document struct {
	Name     string // the path of its file, or what the call named it
	Origin   Origin
	Title    string
	Format   string
	Hash     string // of its content, and of how it was divided
	Bytes    int64
	Ingested time.Time
	Chunks   int
}

// Chunk is a part of a document.
type Chunk struct {
	ID int64
	doctext.Chunk
	Document string // its name
	Title    string // of the document
	Vector   vector.Row
}

const schemaVersion = 2

const schema = `
CREATE TABLE bases (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, description TEXT NOT NULL, model TEXT NOT NULL,
  created INTEGER NOT NULL, version INTEGER NOT NULL
);
CREATE TABLE documents (
  id INTEGER PRIMARY KEY AUTOINCREMENT, base INTEGER NOT NULL REFERENCES bases ON DELETE CASCADE, name TEXT NOT NULL,
  title TEXT NOT NULL, format TEXT NOT NULL, hash TEXT NOT NULL, bytes INTEGER NOT NULL, ingested INTEGER NOT NULL,
  chunks INTEGER NOT NULL, origin TEXT NOT NULL DEFAULT '', UNIQUE (base, name)
);
CREATE TABLE chunks (
  id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
  headings TEXT NOT NULL, part TEXT NOT NULL, unit TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  text TEXT NOT NULL, vector BLOB
);
CREATE INDEX chunks_of_documents ON chunks (document);
PRAGMA user_version = 2;`

// addOrigins is for a file of version 1.
const addOrigins = `ALTER TABLE documents ADD COLUMN origin TEXT NOT NULL DEFAULT ''; PRAGMA user_version = 2;`

// Open opens a file, and makes it when it is absent.
func Open(ctx context.Context, path string) (*Store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, failed("chunkstore.Open", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, failed("chunkstore.Open", err)
	}
	_ = f.Close()
	s := &Store{path: path}
	if s.write, err = sql.Open("sqlite", source(path)+"&_txlock=immediate"); err != nil {
		return nil, failed("chunkstore.Open", err)
	}
	s.write.SetMaxOpenConns(1)
	if err := s.migrate(ctx); err != nil {
		_ = s.write.Close()
		return nil, err
	}
	if s.read, err = sql.Open("sqlite", source(path)+"&_pragma=query_only(1)"); err != nil {
		_ = s.write.Close()
		return nil, failed("chunkstore.Open", err)
	}
	return s, nil
}

// Empty is a store without a file. It has no bases, and is not written to.
func Empty(ctx context.Context) (*Store, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, failed("chunkstore.Empty", err)
	}
	db.SetMaxOpenConns(1) // each has a memory of its own
	s := &Store{write: db, read: db}
	if err := s.migrate(ctx); err != nil {
		_ = db.Close()
		return nil, err
	}
	return s, nil
}

func source(path string) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	q := url.Values{"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(NORMAL)", "foreign_keys(ON)",
		"secure_delete(ON)", "cache_size(-16000)"}}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: slashed, RawQuery: q.Encode()}).String()
}

func (s *Store) migrate(ctx context.Context) error {
	var version int
	if err := s.write.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return failed("chunkstore.Open", err).WithHint("if the file is damaged, move it away and ingest again: %s", s.path)
	}
	switch {
	case version > schemaVersion:
		return tool.Errorf("chunkstore.Open", tool.Unavailable, "%s was written by a newer Callgate", s.path).
			WithHint("run that one")
	case version == schemaVersion:
		return nil
	}
	return s.change(ctx, "chunkstore.Open", func(tx *sql.Tx) error {
		// Another process may have been faster.
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		statements := map[int]string{0: schema, 1: addOrigins}[version]
		_, err := tx.ExecContext(ctx, statements)
		return err
	})
}

// Path is where the file is; "": there is none.
func (s *Store) Path() string { return s.path }

// Close closes the file.
func (s *Store) Close() error { return errors.Join(s.read.Close(), s.write.Close()) }

// change runs a transaction that writes.
func (s *Store) change(ctx context.Context, op string, f func(*sql.Tx) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return failed(op, err)
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback()
		return failed(op, err)
	}
	if err := tx.Commit(); err != nil {
		return failed(op, err)
	}
	return nil
}

// failed keeps an error that says what to do, and wraps any other.
func failed(op string, err error) *tool.Error {
	var told *tool.Error
	if errors.As(err, &told) {
		return told
	}
	kind := tool.Unavailable
	switch {
	case errors.Is(err, context.Canceled):
		kind = tool.Cancelled
	case errors.Is(err, context.DeadlineExceeded):
		kind = tool.Timeout
	}
	return tool.Errorf(op, kind, "the knowledge base cannot be read or written: %w", err)
}

// Missing is the error of a base that is not there.
func Missing(name string, known []string) *tool.Error {
	e := tool.Errorf("chunkstore.Base", tool.NotFound, "there is no knowledge base %s", tool.Truncate(name))
	switch near := nearest.Name(name, known); {
	case near != "":
		e.Similar = []string{near}
		return e.WithHint("did you mean %s?", near)
	case len(known) > 0:
		e.Similar = known
		return e.WithHint("there is %s", strings.Join(known[:min(len(known), 20)], ", "))
	default:
		return e.WithHint("there is none yet: ingest documents first")
	}
}

// DecodeVector reads a vector as it is stored; nil is none.
func DecodeVector(blob []byte) vector.Row {
	if len(blob) < 5 {
		return vector.Row{}
	}
	row := vector.Row{
		Scale:  math.Float32frombits(binary.LittleEndian.Uint32(blob)),
		Values: make([]int8, len(blob)-4),
	}
	for i, b := range blob[4:] {
		row.Values[i] = int8(b)
	}
	return row
}

// EncodeVector writes a vector as it is stored.
func EncodeVector(row vector.Row) []byte {
	if len(row.Values) == 0 {
		return nil
	}
	blob := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(row.Values)), math.Float32bits(row.Scale))
	for _, v := range row.Values {
		blob = append(blob, byte(v))
	}
	return blob
}
