package journal

import (
	"context"
	"encoding/hex"

	"callgate/internal/journal/doubt"
)

// Hash is the link of the chain: SHA-256 over the hash before and the body.
// The first record of all links to the zero Hash.
type Hash [32]byte

// String writes the hash in hex.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Row is a record as it is kept: Body is exactly what was hashed, and the
// other columns repeat what it says so that a store can index them; verifying
// compares them again.
type Row struct {
	Seq   uint64
	Epoch uint64
	Kind  Kind
	Call  string
	Body  []byte
	Hash  Hash
}

// Query selects rows in the order of Seq. Zero fields do not restrict.
type Query struct {
	After  uint64 // rows with a greater Seq
	Before uint64 // rows with a lesser Seq
	Call   string
	Within string // a call: only rows of the calls that it made
	Kind   Kind
	Newest bool // the last Limit rows that match, still in ascending order
	Stored bool // without a wait for what was appended a moment ago, which may be missing
	Limit  int  // 0, or more than 10,000: 10,000
}

// MaxRows is the most rows that one Query returns.
const MaxRows = 10_000

// DoubtRow is the doubted row of a call that is in doubt, and how far that has come.
type DoubtRow struct {
	Row
	State doubt.State
}

// Store keeps rows. Append, Drop and the reads are atomic; one journal at a time
// writes to a store, while any number read.
type Store interface {
	// Append adds rows durably, all of them or none. A Seq that is already
	// there is a Conflict. The store keeps nothing of the slice or the bodies
	// after it returns.
	Append(ctx context.Context, rows []Row) error
	// Rows returns the rows that match q.
	Rows(ctx context.Context, q Query) ([]Row, error)
	// Unended returns, in order of Seq, the begun rows with Seq ≥ from that no
	// ended or doubted row of the same call follows.
	Unended(ctx context.Context, from uint64) ([]Row, error)
	// Doubts returns the last doubted row of each call that no resolved row follows, in order of Seq. What it costs
	// depends on those alone, not on how many doubts there were.
	Doubts(ctx context.Context, q doubt.Query) ([]DoubtRow, error)
	// CountDoubts returns how many calls are in doubt, by state.
	CountDoubts(ctx context.Context) (map[doubt.State]int, error)
	// Drop removes the rows up to and including s.LastSeq and keeps s in their place.
	Drop(ctx context.Context, s PruneSummary) error
	// Drops returns the summaries kept by Drop, oldest first.
	Drops(ctx context.Context) ([]PruneSummary, error)
}
