package library

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/internal/doctext"
	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/rowset"
	"callgate/internal/module/database/sqlite"
	"callgate/internal/module/rag/chunkstore"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

// Table is rows of a SQLite file of the workspace.
type Table struct {
	Path, Table, Query, IDColumn, Name string
}

// The bounds of what is read of a table.
const (
	maxRows = 200_000
	maxCell = 64 << 10
)

// IngestTable ingests rows as one document. Citations name rows by the numbers of the ID column,
// or by their order.
func (l *Library) IngestTable(ctx context.Context, base chunkstore.Base, t Table) (*Report, error) {
	shown, rows, err := l.readTable(ctx, t)
	if err != nil {
		return nil, err
	}
	part := t.Table
	if part == "" {
		part = t.Name
	}
	if part == "" {
		part = "query"
	}
	content := rows.AppendJSON([]byte{'{'})
	d, err := tableDocument(append(content, '}'), part, t.IDColumn, rows.Cut())
	if err != nil {
		return nil, tool.Errorf(l.op, tool.Invalid, "%v", err).
			WithHint("choose a column of whole numbers that no two rows share")
	}
	read := func(context.Context) (*doctext.Document, error) { return d, nil }
	return l.ingestOne(ctx, base, chunkstore.Rows, sourceOf(shown+":"+part, content, read))
}

func (l *Library) readTable(ctx context.Context, t Table) (shown string, rows *rowset.Writer, err error) {
	workspace, err := workfile.New(l.op, l.grant)
	if err != nil {
		return "", nil, err
	}
	at, err := workspace.Existing(t.Path, true)
	if err == nil {
		err = workspace.CheckRegular(at.Shown, at.Info)
	}
	if err != nil {
		return "", nil, err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(l.grant.Workspace, at.Name))
	if err != nil {
		return "", nil, workspace.Fail(at.Shown, err)
	}
	verify := func(opened string) error {
		allowed, err1 := l.grant.Root.Stat(at.Name)
		found, err2 := os.Stat(opened)
		if err1 != nil || err2 != nil || !os.SameFile(allowed, found) {
			return workspace.OutsideError(t.Path, "is not the file that it was")
		}
		return nil
	}
	db, err := sqlite.Open(ctx, sqlite.Config{Path: real, Shown: at.Shown, Verify: verify})
	if err != nil {
		return "", nil, named(l.op, err)
	}
	defer db.Close()
	query := t.Query
	if query == "" {
		query = `SELECT * FROM "` + strings.ReplaceAll(t.Table, `"`, `""`) + `"`
	}
	limits := rowset.Limits{Rows: maxRows, Bytes: l.settings.MaxFile, Text: maxCell, Blob: 1}
	rows, err = l.query(ctx, sqlite.Config{Path: real, Shown: at.Shown, Verify: verify}, query, limits)
	return at.Shown, rows, err
}

// Select runs one SELECT over what is stored of the knowledge bases.
func (l *Library) Select(ctx context.Context, sql string, limits rowset.Limits) (*rowset.Writer, error) {
	if l.Path() == "" {
		return nil, tool.Errorf(l.op, tool.NotFound, "there is no knowledge base yet").WithHint("ingest documents first")
	}
	return l.query(ctx, sqlite.Config{Path: l.Path(), Shown: "the knowledge bases"}, sql, limits)
}

// queryTime bounds a query. A view of a file may be made to yield rows without end, and SQLite
// sorts those in files that grow as long as the query runs.
const queryTime = 10 * time.Second

// query reads rows of a file.
func (l *Library) query(
	ctx context.Context, file sqlite.Config, sql string, limits rowset.Limits,
) (*rowset.Writer, error) {
	limited, cancel := context.WithTimeout(ctx, l.service.queryTime)
	defer cancel()
	db, err := sqlite.Open(limited, file)
	if err != nil {
		return nil, named(l.op, err)
	}
	defer db.Close()
	rows := rowset.New(limits)
	err = db.Read(limited, engine.Statement{SQL: sql}, rows)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, tool.Errorf(l.op, tool.Timeout, "the query took longer than %v", l.service.queryTime).
			WithHint("choose fewer rows, and sort and join less")
	}
	if err != nil {
		return nil, named(l.op, err)
	}
	return rows, nil
}

// named names the operation in an error of the engine.
func named(op string, err error) error {
	if e, ok := err.(*tool.Error); ok && e.Op == "" {
		e.Op = op
	}
	return err
}

// tableDocument makes a document of rows: a block for each, with the names of the columns.
func tableDocument(content []byte, part, idColumn string, cut bool) (*doctext.Document, error) {
	var table struct {
		Columns []struct{ Name string }
		Rows    [][]any
	}
	decoder := json.NewDecoder(strings.NewReader(string(content)))
	decoder.UseNumber()
	if err := decoder.Decode(&table); err != nil {
		return nil, err
	}
	id := -1
	for i, c := range table.Columns {
		if strings.EqualFold(c.Name, idColumn) {
			id = i
		}
	}
	if id < 0 && idColumn != "" {
		return nil, fmt.Errorf("there is no column %s", tool.Truncate(idColumn))
	}
	s := doctext.Section{Headings: []string{part}, Part: part, Unit: doctext.Record}
	for i, row := range table.Rows {
		number := i + 1
		if id >= 0 {
			n, err := strconv.Atoi(fmt.Sprint(row[id]))
			if err != nil || n < 0 {
				return nil, fmt.Errorf("row %d has no number in %s", i+1, tool.Truncate(idColumn))
			}
			number = n
		}
		s.Blocks = append(s.Blocks, doctext.Block{Text: rowText(table.Columns, row), First: number, Last: number})
	}
	slices.SortStableFunc(s.Blocks, func(a, b doctext.Block) int { return cmp.Compare(a.First, b.First) })
	d := &doctext.Document{Title: part, Format: "table", Sections: []doctext.Section{s}}
	if cut {
		d.Warnings = append(d.Warnings, fmt.Sprintf("only the first %d rows were read", len(table.Rows)))
	}
	return d, nil
}

func rowText(columns []struct{ Name string }, row []any) string {
	var parts []string
	for i, cell := range row {
		if text := strings.TrimSpace(fmt.Sprint(cell)); cell != nil && text != "" && i < len(columns) {
			parts = append(parts, columns[i].Name+": "+text)
		}
	}
	return strings.Join(parts, "; ")
}
