// Package plainrows is tables.Store on SQLite: everything that the driver keeps, as plain rows.
package plainrows

import (
	"context"
	"database/sql"
	"strings"

	"callgate/internal/artifact"
	"callgate/internal/storage/tables"
	"callgate/tool"
)

// Store is tables.Store on a database of the driver.
type Store struct {
	Read     *sql.DB
	Transact func(context.Context, func(*sql.Tx) error) error
	Convert  func(op string, err error) error // gives an error of SQLite a kind
	Blobs    *artifact.Folder
	Floor    string // the last number of a record that was dropped
}

var (
	_ tables.Store     = (*Store)(nil)
	_ tables.BlobTimes = (*Store)(nil)
)

// tableLayout is how a table is read.
type tableLayout struct {
	from     string   // what is read, and where
	columns  []string // of a row
	position []string // the columns that order the rows
}

func (s *Store) layoutOf(t *tables.Table) tableLayout {
	l := tableLayout{from: t.Name + " AS t WHERE true"}
	for _, c := range t.Columns {
		l.columns = append(l.columns, "t."+c.Name)
	}
	l.position = l.columns[:t.Key]
	switch t {
	case tables.Approvals, tables.Tasks:
		l.position = []string{"t.num"}
	case tables.TaskLogs:
		l.from = "task_logs AS t CROSS JOIN tasks ON tasks.num = t.task WHERE true"
		l.columns[0] = "tasks.id"
		l.position = []string{"t.task", "t.seq"}
	case tables.Events:
		l.from = "events AS t CROSS JOIN conversations ON conversations.id = t.conversation WHERE true"
	case tables.Records, tables.Doubts:
		l.from += " AND +t.seq > " + s.Floor // the index is for the position
	}
	return l
}

// Rows reads in the order of the position, until there is enough for a page.
func (s *Store) Rows(ctx context.Context, t *tables.Table, after tables.Position) (page tables.Page, err error) {
	const op = "sqlite.Rows"
	l := s.layoutOf(t)
	order := strings.Join(l.position, ", ")
	statement := "SELECT " + strings.Join(append(l.columns, l.position...), ", ") + " FROM " + l.from
	if after != nil {
		statement += " AND (" + order + ") > " + parameters(len(l.position))
	}
	rows, err := s.Read.QueryContext(ctx, statement+" ORDER BY "+order, after...)
	if err != nil {
		return page, s.Convert(op, err)
	}
	defer rows.Close()
	for size := 0; size < tables.PageBytes && len(page.Rows) < tables.PageRows && rows.Next(); {
		cells := make([]any, len(l.columns)+len(l.position))
		into := make([]any, len(cells))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			return page, s.Convert(op, err)
		}
		for i, c := range cells {
			if b, ok := c.([]byte); ok && b == nil {
				cells[i] = []byte{} // an empty blob, which is not NULL
			}
		}
		row := tables.Row(cells[:len(l.columns):len(l.columns)])
		page.Rows, page.Last = append(page.Rows, row), cells[len(l.columns):]
		size += row.Size()
	}
	return page, s.Convert(op, rows.Err())
}

// parameters is a list of n parameters.
func parameters(n int) string { return "(?" + strings.Repeat(", ?", n-1) + ")" }

// Fits says that every row does.
func (s *Store) Fits(*tables.Table, tables.Row) error { return nil }

// Add inserts the rows in one transaction.
func (s *Store) Add(ctx context.Context, t *tables.Table, rows []tables.Row) error {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	statement := "INSERT INTO " + t.Name + " (" + strings.Join(names, ", ") + ") VALUES " + parameters(len(names))
	if t == tables.TaskLogs {
		statement = "INSERT INTO task_logs (task, seq, at, text, data) SELECT num, " +
			"1 + coalesce((SELECT max(seq) FROM task_logs WHERE task = num), 0), ?2, ?3, ?4 FROM tasks WHERE id = ?1"
	}
	return s.Convert("sqlite.Add", s.Transact(ctx, func(tx *sql.Tx) error {
		insert, err := tx.PrepareContext(ctx, statement)
		if err != nil {
			return err
		}
		defer insert.Close()
		for _, row := range rows {
			done, err := insert.ExecContext(ctx, row...)
			if err != nil {
				return err
			}
			if n, err := done.RowsAffected(); err != nil || n != 1 {
				return tool.Errorf("sqlite.Add", tool.Conflict, "a log is of a task that is not there: %w", err)
			}
		}
		return nil
	}))
}

const selectNumbers = "SELECT (SELECT max(last) FROM document_writes), (SELECT max(last) FROM task_fences)"

// Numbers reads what the writes and the leases count with.
func (s *Store) Numbers(ctx context.Context) (n tables.Numbers, err error) {
	err = s.Read.QueryRowContext(ctx, selectNumbers).Scan(&n.Write, &n.Fence)
	return n, s.Convert("sqlite.Numbers", err)
}

// Raise counts on from the greater numbers.
func (s *Store) Raise(ctx context.Context, n tables.Numbers) error {
	return s.Convert("sqlite.Raise", s.Transact(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "UPDATE document_writes SET last = max(last, ?)", n.Write); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "UPDATE task_fences SET last = max(last, ?)", n.Fence)
		return err
	}))
}

// SetStored gives the files of blobs their times.
func (s *Store) SetStored(_ context.Context, blobs []artifact.Blob) error {
	return s.Blobs.SetStored(blobs)
}
