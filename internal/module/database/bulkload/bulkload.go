// Package bulkload inserts many rows into a table, all of them or none.
package bulkload

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module/database/catalog"
	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/rowset"
	"callgate/internal/module/database/sqltext"
	"callgate/tool"
)

// Insert holds the rows to insert, as the arguments of a call.
type Insert struct {
	Rows       []json.RawMessage `json:"rows"`        // objects, or lists in the order of Columns
	Columns    []string          `json:"columns"`     // of rows that are lists
	OnConflict string            `json:"on_conflict"` // error, ignore or update; "" is error
	Key        []string          `json:"key"`         // the columns that identify a row; none is the primary key
}

const (
	ignore = "ignore"
	update = "update"

	minCopy   = 50     // rows from which on a Copier is worth its setup
	chunkRows = 500    // rows of one statement
	maxValues = 30_000 // values of one statement, in the strictest of the databases
)

// Run inserts the rows into a table, whose columns are loaded. It returns the
// number of rows that the database reports as changed.
func (in *Insert) Run(ctx context.Context, e engine.Engine, t *catalog.Table) (affected int64, err error) {
	batches, err := in.batches(t)
	if err != nil {
		return 0, err
	}
	d := e.Info().Dialect
	if copier, ok := e.(engine.Copier); ok && in.copyable(t, batches) {
		return copier.Copy(ctx, t.Quoted(d), batches[0].columns, batches[0].rows)
	}
	conflict, err := in.conflictClause(d, t)
	if err != nil {
		return 0, err
	}
	err = e.Transact(ctx, "", func(exec engine.ExecFunc) error {
		for _, b := range batches {
			for chunk := range slices.Chunk(b.rows, max(1, min(chunkRows, maxValues/len(b.columns)))) {
				done, err := exec(insertion(d, t, b.columns, chunk, conflict(b.columns)), rowset.New(rowset.Limits{Rows: 1}))
				if err != nil {
					return err
				}
				affected += max(0, done.Affected)
			}
		}
		return nil
	})
	return affected, err
}

// batch holds rows with the same columns, all of which exist.
type batch struct {
	columns []string
	rows    [][]any
}

// batches decodes the rows and groups neighbours with the same columns.
func (in *Insert) batches(t *catalog.Table) ([]batch, error) {
	var all []batch
	for i, raw := range in.Rows {
		columns, values, err := in.row(raw)
		if err != nil {
			return nil, tool.Errorf("", tool.Invalid, "row %d: %w", i+1, err).
				WithHint("a row is an object, or a list with a value for each of columns")
		}
		if n := len(all); n == 0 || !slices.Equal(all[n-1].columns, columns) {
			for _, name := range columns {
				if _, err := t.Column(name); err != nil {
					return nil, err
				}
			}
			all = append(all, batch{columns: columns})
		}
		last := &all[len(all)-1]
		last.rows = append(last.rows, values)
	}
	return all, nil
}

func (in *Insert) row(raw json.RawMessage) (columns []string, values []any, err error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return nil, nil, errors.New("it is neither an object nor a list")
		}
		if len(list) != len(in.Columns) {
			return nil, nil, fmt.Errorf("it has %s, and columns has %s",
				amount.Of(len(list), "value"), amount.Of(len(in.Columns), "name"))
		}
		if len(list) == 0 {
			return nil, nil, errors.New("it has no values")
		}
		values, err = sqltext.ParseValues(list)
		return in.Columns, values, err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, nil, errors.New("it is neither an object nor a list")
	}
	if len(object) == 0 {
		return nil, nil, errors.New("it has no values")
	}
	columns = slices.Sorted(maps.Keys(object))
	values = make([]any, len(columns))
	for i, name := range columns {
		if values[i], err = sqltext.ParseValue(object[name]); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", tool.Truncate(name), err)
		}
	}
	return columns, values, nil
}

// copyable reports whether a Copier may insert the rows: there are enough of
// them, in one batch, without a rule for conflicts, and every value means the
// same to it. A list would have to become an array, and only the server knows
// whether the column is one.
func (in *Insert) copyable(t *catalog.Table, batches []batch) bool {
	if len(batches) != 1 || len(in.Rows) < minCopy || in.OnConflict == ignore || in.OnConflict == update {
		return false
	}
	for _, row := range batches[0].rows {
		for i, v := range row {
			if _, ok := v.(json.RawMessage); ok {
				c, err := t.Column(batches[0].columns[i])
				if err != nil || !strings.HasPrefix(c.Type, "json") {
					return false
				}
			}
		}
	}
	return true
}
