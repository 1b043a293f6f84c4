// Package rowset writes the rows of a result as a database returns them: once
// as JSON, for programs and for models that read data, and once as a plain
// table, for people. It writes into two buffers and stores no row in between,
// so a result costs little more than reading it.
//
// # Values
//
// NULL is null. Whole numbers are JSON numbers to their last digit. Decimals
// are strings, since most readers of JSON would round them. A time is written
// in RFC 3339, without a zone where the database stores none. Bytes become
// {"base64": …, "bytes": n}, a JSON column becomes the JSON it holds, and any
// other value becomes its text. A long text or a long run of bytes is cut and
// marked as cut.
//
// # Limits
//
// A result ends at a number of rows or bytes, whichever comes first, and is
// then marked as truncated. A row is written completely or not at all.
package rowset

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Limits bounds a result. A zero field stands for its default.
type Limits struct {
	Rows   int // the most rows; default 200
	Offset int // rows to skip first
	Bytes  int // the most bytes of all rows as JSON; default 1 MiB
	Text   int // the most bytes of one text; default 16 KiB
	Blob   int // the most bytes of one binary value, before encoding; default 1 KiB
}

func (l Limits) orDefaults() Limits {
	set := func(n *int, fallback int) {
		if *n <= 0 {
			*n = fallback
		}
	}
	set(&l.Rows, 200)
	set(&l.Bytes, 1<<20)
	set(&l.Text, 16<<10)
	set(&l.Blob, 1<<10)
	return l
}

// Column is one column of a result.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"` // the database's name for it; may be empty
}

// RowAction tells a driver what to do with the next row of the database.
type RowAction uint8

// The actions.
const (
	KeepRow RowAction = iota + 1 // write its cells to Row, then call End
	SkipRow                      // the row is before the offset
	Stop                         // neither this row nor any after it fits
)

// Writer collects the rows of one result. New returns one; the zero value does
// not work. A driver calls Columns once, then Next for each row, and End after
// each row that it wrote.
type Writer struct {
	limits  Limits
	columns []Column
	row     Row
	rows    int
	skipped int
	cut     bool
	mark    struct{ json, text, clipped int } // where the current row started
}

// New returns an empty writer.
func New(l Limits) *Writer {
	w := &Writer{}
	w.Reset(l)
	return w
}

// maxReused bounds the memory that a writer keeps from one result to the next.
const maxReused = 4 << 20

// Reset empties the writer for another result and reuses its memory. Texts and
// JSON that the writer returned before stay valid.
func (w *Writer) Reset(l Limits) {
	json, text, scratch := w.row.json[:0], w.row.text[:0], w.row.scratch[:0]
	if cap(json)+cap(text) > maxReused {
		json, text = nil, nil
	}
	l = l.orDefaults()
	row := Row{maxText: l.Text, maxBlob: l.Blob, json: json, text: text, scratch: scratch}
	*w = Writer{limits: l, row: row}
}

// Columns sets the columns of the rows. A statement that returns no table has none.
func (w *Writer) Columns(columns []Column) {
	w.columns = columns
	w.row.text = w.row.text[:0]
	for i, c := range columns {
		if i > 0 {
			w.row.text = append(w.row.text, " | "...)
		}
		w.row.text = appendPlain(w.row.text, c.Name)
	}
}

// SetType changes the type of a column, for a driver that learns it after the rows.
func (w *Writer) SetType(i int, name string) { w.columns[i].Type = name }

// Next returns the action for the next row.
func (w *Writer) Next() RowAction {
	switch {
	case w.cut:
		return Stop
	case w.skipped < w.limits.Offset:
		w.skipped++
		return SkipRow
	case w.rows >= w.limits.Rows:
		w.cut = true
		return Stop
	}
	w.mark.json, w.mark.text, w.mark.clipped = len(w.row.json), len(w.row.text), w.row.clipped
	if w.rows > 0 {
		w.row.json = append(w.row.json, ',')
	}
	w.row.json = append(w.row.json, '[')
	w.row.text = append(w.row.text, '\n')
	w.row.first = true
	return KeepRow
}

// Row returns the row that Next started. It is valid until End.
func (w *Writer) Row() *Row { return &w.row }

// End ends a row. A row that exceeds the byte limit is removed again, unless it
// is the first.
func (w *Writer) End() {
	w.row.json = append(w.row.json, ']')
	if len(w.row.json) > w.limits.Bytes && w.rows > 0 {
		w.row.json, w.row.text = w.row.json[:w.mark.json], w.row.text[:w.mark.text]
		w.row.clipped = w.mark.clipped
		w.cut = true
		return
	}
	w.rows++
}

// Rows returns the number of rows that were written.
func (w *Writer) Rows() int { return w.rows }

// Cut reports whether the database had more rows than were written.
func (w *Writer) Cut() bool { return w.cut }

// Clipped returns the number of cells that were cut.
func (w *Writer) Clipped() int { return w.row.clipped }

// HasColumns reports whether the statement returned a table, even one without rows.
func (w *Writer) HasColumns() bool { return len(w.columns) > 0 }

// Table returns the rows for people: a line of column names, then a line for each row.
func (w *Writer) Table() string { return string(w.row.text) }

// AppendJSON appends "columns":[…],"rows":[…],"row_count":n,"truncated":b to an
// object that the caller opens and closes.
func (w *Writer) AppendJSON(b []byte) []byte {
	b = append(b, `"columns":`...)
	columns, err := json.Marshal(w.columns)
	if err != nil || w.columns == nil {
		columns = []byte("[]") // an error cannot happen: columns are strings
	}
	b = append(b, columns...)
	b = append(b, `,"rows":[`...)
	b = append(b, w.row.json...)
	b = append(b, `],"row_count":`...)
	b = strconv.AppendInt(b, int64(w.rows), 10)
	b = append(b, `,"truncated":`...)
	return strconv.AppendBool(b, w.cut)
}

// Size estimates the number of bytes that AppendJSON appends.
func (w *Writer) Size() int { return len(w.row.json) + 64*(len(w.columns)+2) }

// Scan decodes the rows and calls f for each, for code that reads a result
// itself. Numbers are json.Number.
func (w *Writer) Scan(f func(cells []any) error) error {
	var rows [][]any
	if err := decode(append(append([]byte{'['}, w.row.json...), ']'), &rows); err != nil {
		return fmt.Errorf("decoding the rows: %w", err)
	}
	for _, cells := range rows {
		if err := f(cells); err != nil {
			return err
		}
	}
	return nil
}
