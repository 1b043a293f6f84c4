// Package tables is what a driver keeps, as plain rows: for copying everything from one driver to another, with the
// numbers and times that the stores themselves give out and would give out anew.
//
// # Laws
//
//   - A table has the same columns and the same order of rows in every driver. What a driver counts by itself, and
//     nobody else sees, is no column; where it makes the order, rows are in the order in which they were added.
//   - Rows that are dropped and not yet deleted are not read.
//   - Add does not judge: a row that a store cannot read is copied like any other.
package tables

import (
	"context"

	"callgate/internal/artifact"
)

// Type is what a column holds.
type Type int

// The types of columns, and in brackets what a cell of one is.
const (
	Number      Type = iota // int64
	MaybeNumber             // int64, or nil
	Word                    // string: one of a few words
	Text                    // string: any bytes
	Bytes                   // []byte, never nil
	MaybeBytes              // []byte, or an untyped nil
)

// Column is a column of a table.
type Column struct {
	Name string
	Type Type
}

// Table is one of [All].
type Table struct {
	Name    string
	Columns []Column
	// Key is how many of the first columns order the rows, and name one; 0: rows are in the order in which they were
	// added.
	Key int
}

// Row is a row, with a cell for each column.
type Row []any

// Position is that of a row in its table. Only the store that gave it understands it; nil is before the first row.
type Position []any

// Page is some rows of a table.
type Page struct {
	Rows []Row    // empty: there are no more
	Last Position // of the last row
}

// Numbers are the last numbers that a driver has given out. It never gives them again.
type Numbers struct {
	Write int64 // of a write of documents
	Fence int64 // of a lease of a task
}

// PageBytes and PageRows are about as much as a page has at most. It has one row at least.
const (
	PageBytes = 4 << 20
	PageRows  = 1000
)

// Store is a driver's tables. Whoever uses it sees that nobody else uses the driver meanwhile.
type Store interface {
	// Rows returns the rows after a position.
	Rows(ctx context.Context, t *Table, after Position) (Page, error)
	// Fits says why a row cannot be added to a table; nil: it can.
	Fits(t *Table, row Row) error
	// Add adds rows after all others, all of them or none, and durably. A key that is there is a Conflict.
	Add(ctx context.Context, t *Table, rows []Row) error
	// Numbers returns the last numbers that were given out.
	Numbers(ctx context.Context) (Numbers, error)
	// Raise sees to it that the next numbers are greater than these.
	Raise(ctx context.Context, n Numbers) error
}

// BlobTimes is a driver that can say when a blob was stored.
type BlobTimes interface {
	// SetStored notes when blobs were last stored, to the microsecond and never earlier. Those that are not there are
	// passed over.
	SetStored(ctx context.Context, blobs []artifact.Blob) error
}

// All returns the tables, in an order in which what is named comes before what names it.
func All() []*Table {
	return []*Table{Documents, Conversations, Events, Tasks, TaskLogs, Approvals, Drops, Records, Doubts}
}

// The tables.
var (
	Records = &Table{Name: "records", Key: 1, Columns: []Column{
		{"seq", Number}, {"epoch", Number}, {"kind", Word}, {"call", Text}, {"body", Bytes}, {"hash", Bytes},
	}}
	Drops  = &Table{Name: "drops", Key: 1, Columns: []Column{{"last_seq", Number}, {"summary", Bytes}}}
	Doubts = &Table{Name: "doubts", Key: 1, Columns: []Column{{"call", Text}, {"seq", Number}, {"state", Word}}}

	Approvals = &Table{Name: "approvals", Columns: []Column{
		{"id", Text}, {"state", Word}, {"request", Bytes}, {"answer", MaybeBytes},
	}}

	Conversations = &Table{Name: "conversations", Key: 1, Columns: []Column{
		{"id", Text}, {"updated", Number}, {"last", Number}, {"info", Bytes},
	}}
	Events = &Table{Name: "events", Key: 2, Columns: []Column{{"conversation", Text}, {"seq", Number}, {"body", Bytes}}}

	Documents = &Table{Name: "documents", Key: 2, Columns: []Column{
		{"collection", Text}, {"key", Text}, {"version", Number}, {"data", Bytes}, {"updated", Number},
	}}

	Tasks = &Table{Name: "tasks", Columns: []Column{
		{"id", Text}, {"kind", Text}, {"label", Text}, {"parent", Text}, {"session", Text}, {"asker", Bytes},
		{"input", MaybeBytes}, {"data", MaybeBytes}, {"state", Word}, {"run_at", Number}, {"due", MaybeNumber},
		{"attempt", Number}, {"max_attempts", Number}, {"holder", Text}, {"fence", Number}, {"lease_until", Number},
		{"cancelled_by", Text}, {"progress", Text}, {"outcome", MaybeBytes}, {"created", Number}, {"started", Number},
		{"ended", Number}, {"told", Number},
	}}
	// TaskLogs have in the first column the ID of the task.
	TaskLogs = &Table{Name: "task_logs", Columns: []Column{
		{"task", Text}, {"at", Number}, {"text", Text}, {"data", MaybeBytes},
	}}
)

// Sharing is a driver in which others may have rows beside those that were added here.
type Sharing interface {
	// Shared reports whether a row is one that others may have added.
	Shared(t *Table, row Row) bool
}

// Planning is a driver that chooses its plans by what it knows of its rows, and learns of many new ones late.
type Planning interface {
	// Learn looks at the rows that there are now.
	Learn(ctx context.Context) error
}
