package library

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/doctext"
	"callgate/internal/module/database/rowset"
	"callgate/internal/module/rag/chunkstore"
	"callgate/tool"
)

// Rows says which rows of a database are ingested: of a table, or those that a query gives.
type Rows struct {
	Path         string // a SQLite file of the workspace; "": the connection
	Connection   string // of the module database, in the call's session
	Table, Query string
	Key          []string // the columns that tell one row from another; nil: a table's primary key
	Name         string   // what the rows of a query are called
}

// The bounds of what is read of a database.
const (
	maxRows = 200_000
	maxCell = 64 << 10
)

// readRows is what was read of a database.
type readRows struct {
	place    string // the file, or the connection
	rows     []keyedRow
	cut      bool // there are more
	warnings []string
}

// keyedRow is a row as it is searched. One without a key goes by its number.
type keyedRow struct {
	key  []string
	text string
}

// IngestRows ingests rows, each as a document of its own, and removes those that are gone. Rows that
// have not changed are not divided and compared anew.
func (l *Library) IngestRows(ctx context.Context, base chunkstore.Base, r Rows) (*Report, error) {
	read, err := l.readRows(ctx, r)
	if err != nil {
		return nil, err
	}
	what := "table " + r.Table
	name := r.Table
	if r.Query != "" {
		sum := sha256.Sum256([]byte(r.Query))
		name = r.Name
		if name == "" {
			name = "query " + hex.EncodeToString(sum[:4])
		}
		what = name
	}
	table := read.place + ":" + name
	documents, seen := make([]source, len(read.rows)), map[string]bool{}
	for i, row := range read.rows {
		documents[i] = row.document(table, name, read.place+", "+what, i+1)
		if seen[documents[i].name] {
			return nil, tool.Errorf(l.op, tool.Invalid, "two rows have the key %s", tool.Truncate(strings.Join(row.key, ", "))).
				WithHint("name a column with id_column in which no two rows are alike")
		}
		seen[documents[i].name] = true
	}
	w, release, err := l.writer(ctx, base, chunkstore.Rows)
	defer release()
	if err != nil {
		return nil, err
	}
	w.report.unit, w.report.Warnings = "row", read.warnings
	if read.cut {
		w.report.Warnings = append(w.report.Warnings,
			fmt.Sprintf("%s has more rows than the %d that were read; those that are gone stay", table, len(read.rows)))
	} else if err := w.removeRows(ctx, table, seen); err != nil {
		return nil, err
	}
	for _, d := range documents {
		if err := w.add(ctx, d); err != nil {
			return nil, err
		}
	}
	return &w.report, w.finish(ctx)
}

func (l *Library) readRows(ctx context.Context, r Rows) (*readRows, error) {
	switch {
	case r.Path != "":
		return l.readFile(ctx, r)
	case r.Query != "":
		return l.readQuery(ctx, r)
	default:
		return l.readTable(ctx, r)
	}
}

// document is a row as it is stored. Its name has the key of the row in it, and tells apart whatever
// two keys differ in.
func (k keyedRow) document(table, title, place string, number int) source {
	which := fmt.Sprintf("row %d", number)
	parts := []string{table, which}
	if len(k.key) > 0 {
		which, parts = "key "+strings.Join(k.key, ", "), parts[:1]
		for _, value := range k.key {
			parts = append(parts, escaped(value))
		}
	}
	read := func(context.Context) (*doctext.Document, error) {
		s := doctext.Section{Part: place + ", " + tool.Truncate(which), Unit: doctext.Key}
		if k.text != "" {
			s.Blocks = []doctext.Block{{Text: k.text, First: 1, Last: 1}}
		}
		return &doctext.Document{Title: title, Format: "table", Sections: []doctext.Section{s}}, nil
	}
	return sourceOf(strings.Join(parts, "/"), []byte(k.text), read)
}

// escaped writes a value as one part of a path.
func escaped(value string) string {
	var b strings.Builder
	for _, r := range value {
		if r == '/' || r == '%' || r < ' ' || r == 0x7f {
			fmt.Fprintf(&b, "%%%02X", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// removeRows removes what is stored of a table and was not seen in it.
func (w *writer) removeRows(ctx context.Context, table string, seen map[string]bool) error {
	return w.removeKnown(ctx, func(name string, d chunkstore.Document) bool {
		of := name == table || strings.HasPrefix(name, table+"/")
		return of && d.Origin == chunkstore.Rows && !seen[name]
	})
}

// page is some rows of a query.
type page struct {
	Columns []struct{ Name string }
	Rows    [][]any
	Count   int  `json:"row_count"`
	Cut     bool `json:"truncated"`
}

func pageOf(data []byte) (p page, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	err = decoder.Decode(&p)
	return p, err
}

// add adds the rows of a page. The key's columns are among those of the page.
func (r *readRows) add(op string, p page, key []string) error {
	names := make([]string, len(p.Columns))
	for i, c := range p.Columns {
		names[i] = c.Name
	}
	var at []int
	for _, name := range key {
		i := slices.IndexFunc(names, func(have string) bool { return strings.EqualFold(have, name) })
		if i < 0 {
			return tool.Errorf(op, tool.Invalid, "there is no column %s", tool.Truncate(name)).
				WithHint("there is %s", tool.Truncate(strings.Join(names, ", ")))
		}
		at = append(at, i)
	}
	for _, cells := range p.Rows {
		row := keyedRow{text: rowset.Text(names, cells)}
		for i, column := range at {
			if cells[column] == nil {
				return noKey(op, len(r.rows)+1, key[i])
			}
			row.key = append(row.key, rowset.Plain(cells[column]))
		}
		r.rows = append(r.rows, row)
	}
	return nil
}

func noKey(op string, number int, column string) error {
	return tool.Errorf(op, tool.Invalid, "row %d has nothing in %s", number, tool.Truncate(column)).
		WithHint("name another column with id_column, or choose rows that have it")
}

// full reports whether no more rows are read, and says so.
func (r *readRows) full(size, most int) bool {
	if len(r.rows) < maxRows && size < most {
		return false
	}
	r.cut = true
	r.warnings = append(r.warnings, fmt.Sprintf("%s were read, %s", amount.Of(len(r.rows), "row"), amount.Bytes(size)))
	return true
}
