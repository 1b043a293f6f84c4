// Package rowset writes the rows of a result as they come from a database:
// once as JSON, for programs and for models that are given data, and once as a
// plain table, for eyes. Nothing is kept in between, so a result costs little
// more than reading it.
//
// # Values
//
// NULL is null. Whole numbers are JSON numbers to their last digit; decimals
// are texts, since most readers of JSON would round them. A time is written as
// RFC 3339 has it, without a zone where the database keeps none. Bytes become
// {"base64": …, "bytes": n}, a JSON column the JSON it holds, and whatever else
// its text. A long text or a long run of bytes is cut, and says so.
//
// # Limits
//
// A result ends at a number of rows or bytes, whichever comes first, and then
// says that it was cut. A row is written whole or not at all.
package rowset

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Limits bound a result; each zero is a default.
type Limits struct {
	Rows   int // at most these; default 200
	Offset int // rows that are passed over first
	Bytes  int // of all rows as JSON; default 1 MiB
	Text   int // of one text; default 16 KiB
	Blob   int // of one run of bytes, as they are in the database; default 1 KiB
}

func (l Limits) orDefaults() Limits {
	pick := func(n *int, d int) {
		if *n <= 0 {
			*n = d
		}
	}
	pick(&l.Rows, 200)
	pick(&l.Bytes, 1<<20)
	pick(&l.Text, 16<<10)
	pick(&l.Blob, 1<<10)
	return l
}

// Column is one column of a result.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"` // as the database calls it; may be empty
}

// RowAction is what to do with a row that a database has.
type RowAction uint8

// The answers.
const (
	KeepRow RowAction = iota + 1 // write its cells, then call End
	SkipRow                      // it lies before the offset
	Stop                         // there is no room for it, nor for any after it
)

// Writer takes the rows of one result. Its zero value is not of use: see New.
// It may be used again for another one, after Reset: what it gave away before
// is not touched.
type Writer struct {
	limits  Limits
	columns []Column
	json    []byte
	text    []byte
	scratch []byte
	rows    int
	passed  int
	clipped int
	cut     bool
	first   bool // the next cell is the first of its row
	mark    struct{ json, text, clipped int }
}

// New makes a writer with these limits.
func New(l Limits) *Writer {
	return &Writer{limits: l.orDefaults()}
}

// maxKept bounds the memory that a writer brings from one result to the next.
const maxKept = 4 << 20

// Reset makes w a new writer that has its memory already.
func (w *Writer) Reset(l Limits) {
	json, text, scratch := w.json[:0], w.text[:0], w.scratch[:0]
	if cap(json)+cap(text) > maxKept {
		json, text = nil, nil
	}
	*w = Writer{limits: l.orDefaults(), json: json, text: text, scratch: scratch}
}

// Columns says what columns the rows have. Without it there is no table at
// all, as after a statement that returns nothing.
func (w *Writer) Columns(columns []Column) {
	w.columns = columns
	w.text = w.text[:0]
	for i, c := range columns {
		if i > 0 {
			w.text = append(w.text, " | "...)
		}
		w.text = appendPlain(w.text, c.Name)
	}
}

// SetType mends the type of a column, for a database that tells it late.
func (w *Writer) SetType(i int, name string) { w.columns[i].Type = name }

// Next says what to do with the next row.
func (w *Writer) Next() RowAction {
	switch {
	case w.cut:
		return Stop
	case w.passed < w.limits.Offset:
		w.passed++
		return SkipRow
	case w.rows >= w.limits.Rows:
		w.cut = true
		return Stop
	}
	w.mark.json, w.mark.text, w.mark.clipped = len(w.json), len(w.text), w.clipped
	if w.rows > 0 {
		w.json = append(w.json, ',')
	}
	w.json = append(w.json, '[')
	w.text = append(w.text, '\n')
	w.first = true
	return KeepRow
}

// End ends a row. One that does not fit any more is taken back.
func (w *Writer) End() {
	w.json = append(w.json, ']')
	if len(w.json) > w.limits.Bytes && w.rows > 0 {
		w.json, w.text, w.clipped = w.json[:w.mark.json], w.text[:w.mark.text], w.mark.clipped
		w.cut = true
		return
	}
	w.rows++
}

// Rows is how many rows were written.
func (w *Writer) Rows() int { return w.rows }

// Cut reports whether there were more rows than were written.
func (w *Writer) Cut() bool { return w.cut }

// Clipped is how many cells were cut.
func (w *Writer) Clipped() int { return w.clipped }

// HasColumns reports whether there was a table, be it without rows.
func (w *Writer) HasColumns() bool { return len(w.columns) > 0 }

// Table is the rows for eyes: a line of names, and a line for each row.
func (w *Writer) Table() string { return string(w.text) }

// AppendJSON appends "columns":[…],"rows":[…],"row_count":n,"truncated":b to an
// object that somebody else opens and closes.
func (w *Writer) AppendJSON(b []byte) []byte {
	b = append(b, `"columns":`...)
	columns, err := json.Marshal(w.columns)
	if err != nil || w.columns == nil {
		columns = []byte("[]") // names are texts, so there is no error
	}
	b = append(b, columns...)
	b = append(b, `,"rows":[`...)
	b = append(b, w.json...)
	b = append(b, `],"row_count":`...)
	b = strconv.AppendInt(b, int64(w.rows), 10)
	b = append(b, `,"truncated":`...)
	return strconv.AppendBool(b, w.cut)
}

// Size is about how long AppendJSON's part will be.
func (w *Writer) Size() int { return len(w.json) + 64*(len(w.columns)+2) }

// Scan reads the rows back, for who asked the database for its own sake.
// Numbers are json.Number.
func (w *Writer) Scan(row func(cells []any) error) error {
	var rows [][]any
	if err := decode(append(append([]byte{'['}, w.json...), ']'), &rows); err != nil {
		return fmt.Errorf("reading back the rows: %w", err)
	}
	for _, cells := range rows {
		if err := row(cells); err != nil {
			return err
		}
	}
	return nil
}
