package moving

import (
	"bytes"
	"cmp"
	"context"

	"callgate/internal/storage/tables"
	"callgate/tool"
)

// reader reads the rows of a table one by one.
type reader struct {
	store tables.Store
	table *tables.Table
	page  tables.Page
	next  int
	ended bool
}

// row is the next row, which take passes over; nil: there is none.
func (r *reader) row(ctx context.Context) (tables.Row, error) {
	if r.next < len(r.page.Rows) {
		return r.page.Rows[r.next], nil
	}
	if r.ended {
		return nil, nil
	}
	page, err := r.store.Rows(ctx, r.table, r.page.Last)
	if err != nil {
		return nil, err
	}
	r.page, r.next, r.ended = page, 0, len(page.Rows) == 0
	if r.ended {
		return nil, nil
	}
	return page.Rows[0], nil
}

func (r *reader) take() { r.next++ }

// pair goes through one table of two stores at once.
type pair struct {
	table          *tables.Table
	from, to       *reader
	source, target tables.Digest // of what both have
}

func newPair(t *tables.Table, from, to tables.Store) *pair {
	return &pair{table: t, from: &reader{store: from, table: t}, to: &reader{store: to, table: t}}
}

// missing returns the next row that the target does not have; nil: it has all of them. A row of the target that the
// source does not have is a Conflict, unless others may have added it.
func (p *pair) missing(ctx context.Context) (tables.Row, error) {
	for {
		row, err := p.from.row(ctx)
		if err != nil {
			return nil, err
		}
		there, err := p.to.row(ctx)
		if err != nil || row == nil && there == nil {
			return nil, err
		}
		switch order := p.compare(row, there); {
		case order < 0:
			p.from.take()
			p.source.Add(row)
			return row, nil
		case order > 0:
			if s, ok := p.to.store.(tables.Sharing); !ok || !s.Shared(p.table, there) {
				return nil, p.different(there)
			}
			p.to.take()
		case !bytes.Equal(tables.Encode(row), tables.Encode(there)):
			return nil, p.different(there)
		default:
			p.from.take()
			p.to.take()
			p.source.Add(row)
			p.target.Add(there)
		}
	}
}

// compare says which row comes first. One that is nil comes after all others.
func (p *pair) compare(a, b tables.Row) int {
	switch {
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	for i := range p.table.Key {
		var order int
		switch left := a[i].(type) {
		case int64:
			order = cmp.Compare(left, b[i].(int64))
		case string:
			order = cmp.Compare(left, b[i].(string))
		}
		if order != 0 {
			return order
		}
	}
	return 0
}

// different is the error of a target that is no copy of the source.
func (p *pair) different(row tables.Row) error {
	return tool.Errorf("moving.Copy", tool.Conflict, "%s: the target has %v, and the source has not",
		p.table.Name, tool.Truncate(printable(row[:max(p.table.Key, 1)]))).
		WithHint("it is no copy of what this state directory has now: if the kernel ran since a copy was broken off, " +
			"remove the file node in the state directory and move everything anew")
}

// copyTable adds to the target what it does not have.
func (c *Copy) copyTable(ctx context.Context, t *tables.Table) error {
	p := newPair(t, c.From.Tables, c.To.Tables)
	var batch []tables.Row
	size := 0
	add := func() error {
		if len(batch) == 0 {
			return nil
		}
		if err := c.To.Tables.Add(ctx, t, batch); err != nil {
			return err
		}
		batch, size = batch[:0], 0
		c.tell(t.Name, p.source.Rows())
		return nil
	}
	for {
		row, err := p.missing(ctx)
		if err != nil {
			return err
		}
		if row == nil {
			return add()
		}
		batch = append(batch, row)
		if size += row.Size(); size >= tables.PageBytes || len(batch) >= tables.PageRows {
			if err := add(); err != nil {
				return err
			}
		}
	}
}

// compareTable reads a table of both sides, and reports what differs as an error.
func (c *Copy) compareTable(ctx context.Context, t *tables.Table) (Line, error) {
	p := newPair(t, c.From.Tables, c.To.Tables)
	row, err := p.missing(ctx)
	switch {
	case err != nil:
		return Line{}, err
	case row != nil:
		return Line{}, tool.Errorf("moving.Compare", tool.Internal, "%s: %v was copied, and is not in the target",
			t.Name, tool.Truncate(printable(row[:max(t.Key, 1)])))
	}
	line := Line{Store: t.Name, Rows: p.target.Rows(), Bytes: p.target.Bytes(), Digest: p.target.String()}
	if p.source.String() != line.Digest { // the rows were equal one by one
		return line, tool.Errorf("moving.Compare", tool.Internal, "%s: the digests differ", t.Name)
	}
	return line, nil
}
