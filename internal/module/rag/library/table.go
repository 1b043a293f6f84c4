package library

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/rowset"
	"callgate/internal/module/database/sqlite"
	"callgate/internal/module/database/sqltext"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

// readFile reads rows of a SQLite file of the workspace.
// An app that has a rule against reading databases has it for files, too.
func (l *Library) readFile(ctx context.Context, r Rows) (*readRows, error) {
	if permits := l.service.host.Permits; permits != nil {
		name := tableTool
		if r.Query != "" {
			name = queryTool
		}
		if err := permits(ctx, l.call, name); err != nil {
			return nil, err
		}
	}
	file, err := l.sqliteFile(r.Path)
	if err != nil {
		return nil, err
	}
	query := engine.Statement{SQL: r.Query}
	if r.Query == "" {
		query.SQL = "SELECT * FROM " + sqltext.SQLite.Quote(r.Table)
		if len(r.Key) == 0 {
			if r.Key, err = l.primaryKey(ctx, file, r.Table); err != nil {
				return nil, err
			}
		}
	}
	rows, err := l.query(ctx, file, query,
		rowset.Limits{Rows: maxRows, Bytes: l.settings.MaxFile, Text: maxCell, Blob: 1 << 10})
	if err != nil {
		return nil, err
	}
	read := &readRows{place: file.Shown, cut: rows.Cut()}
	page, err := pageOf(append(rows.AppendJSON([]byte{'{'}), '}'))
	if err != nil {
		return nil, err
	}
	return read, read.add(l.op, page, r.Key)
}

// sqliteFile finds a file of the workspace. What is opened must be that file.
func (l *Library) sqliteFile(path string) (file sqlite.Config, err error) {
	workspace, err := workfile.New(l.op, l.grant)
	if err != nil {
		return file, err
	}
	at, err := workspace.Existing(path, true)
	if err == nil {
		err = workspace.CheckRegular(at.Shown, at.Info)
	}
	if err != nil {
		return file, err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(l.grant.Workspace, at.Name))
	if err != nil {
		return file, workspace.Fail(at.Shown, err)
	}
	verify := func(opened string) error {
		allowed, err1 := l.grant.Root.Stat(at.Name)
		found, err2 := os.Stat(opened)
		if err1 != nil || err2 != nil || !os.SameFile(allowed, found) {
			return workspace.OutsideError(path, "is not the file that it was")
		}
		return nil
	}
	return sqlite.Config{Path: real, Shown: at.Shown, Verify: verify}, nil
}

// primaryKey lists the columns of a table's primary key.
func (l *Library) primaryKey(ctx context.Context, file sqlite.Config, table string) (key []string, err error) {
	rows, err := l.query(ctx, file, engine.Statement{
		SQL: "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", Args: []any{table},
	}, rowset.Limits{})
	if err != nil {
		return nil, err
	}
	err = rows.Scan(func(cells []any) error {
		key = append(key, rowset.Plain(cells[0]))
		return nil
	})
	return key, err
}

// Select runs one SELECT over what is stored of the knowledge bases.
func (l *Library) Select(ctx context.Context, sql string, limits rowset.Limits) (*rowset.Writer, error) {
	if l.Path() == "" {
		return nil, tool.Errorf(l.op, tool.NotFound, "there is no knowledge base yet").WithHint("ingest documents first")
	}
	file := sqlite.Config{Path: l.Path(), Shown: "the knowledge bases"}
	return l.query(ctx, file, engine.Statement{SQL: sql}, limits)
}

// queryTime bounds a query. A view of a file may be made to yield rows without end, and SQLite
// sorts those in files that grow as long as the query runs.
const queryTime = 10 * time.Second

// query reads rows of a file.
func (l *Library) query(
	ctx context.Context, file sqlite.Config, query engine.Statement, limits rowset.Limits,
) (*rowset.Writer, error) {
	limited, cancel := context.WithTimeout(ctx, l.service.queryTime)
	defer cancel()
	rows := rowset.New(limits)
	db, err := sqlite.Open(limited, file)
	if err == nil {
		defer db.Close()
		err = db.Read(limited, query, rows)
	}
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
