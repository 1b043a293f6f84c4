package moving

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"callgate/internal/artifact"
	"callgate/internal/journal"
	"callgate/internal/storage/tables"
	"callgate/tool"
)

// Place is one side of a copy. Nobody else uses it meanwhile.
type Place struct {
	Tables  tables.Store
	Blobs   artifact.Blobs
	Journal journal.Store
}

// Copy is a copy of everything from one place to another.
type Copy struct {
	From, To Place
	// Anchor and Key are the files of the journal's anchor and key, with which its chain is verified on both sides.
	Anchor, Key string
	// Progress, unless nil, is told how far each store has come.
	Progress func(Progress)

	totals map[string]Line
	stage  Stage
}

// Stage is what a copy does.
type Stage string

// The stages, in their order.
const (
	Counting  Stage = "count"
	Copying   Stage = "copy"
	Comparing Stage = "compare"
)

// Progress is how far one store has come.
type Progress struct {
	Stage       Stage
	Store       string
	Done, Total int64 // rows; while they are counted, Total is 0
}

// Line is what a report says of one store.
type Line struct {
	Store  string `json:"store"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest,omitempty"` // of both sides
}

func (c *Copy) tell(store string, done int64) {
	if c.Progress != nil {
		c.Progress(Progress{c.stage, store, done, c.totals[store].Rows})
	}
}

// Count reads all rows of the source and counts them, and says what of them the target cannot take.
func (c *Copy) Count(ctx context.Context) ([]Line, error) {
	c.stage, c.totals = Counting, map[string]Line{}
	line := Line{Store: blobs}
	err := eachPage(ctx, c.From.Blobs, func(list []artifact.Blob) error {
		for _, b := range list {
			line.Rows++
			line.Bytes += b.Size
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	lines := []Line{line}
	for _, t := range tables.All() {
		line, err := c.countTable(ctx, t)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	for _, line := range lines {
		c.totals[line.Store] = line
	}
	return lines, nil
}

func (c *Copy) countTable(ctx context.Context, t *tables.Table) (Line, error) {
	line, rows := Line{Store: t.Name}, &reader{store: c.From.Tables, table: t}
	for {
		row, err := rows.row(ctx)
		if err != nil || row == nil {
			return line, err
		}
		if err := c.To.Tables.Fits(t, row); err != nil {
			return line, tool.Errorf("moving.Count", tool.Invalid, "%s: %s does not fit: %w", t.Name,
				tool.Truncate(printable(row[:max(t.Key, 1)])), err)
		}
		rows.take()
		line.Rows++
		line.Bytes += int64(len(tables.Encode(row)))
		if line.Rows%tables.PageRows == 0 {
			c.tell(t.Name, line.Rows)
		}
	}
}

// Empty reports whether the target has nothing that was added there.
func (c *Copy) Empty(ctx context.Context) (bool, error) {
	for _, t := range tables.All() {
		rows := &reader{store: c.To.Tables, table: t}
		for {
			row, err := rows.row(ctx)
			if err != nil {
				return false, err
			}
			if row == nil {
				break
			}
			if s, ok := c.To.Tables.(tables.Sharing); !ok || !s.Shared(t, row) {
				return false, nil
			}
			rows.take()
		}
	}
	list, err := c.To.Blobs.List(ctx, "", 1)
	return len(list) == 0, err
}

// Run copies everything that the target does not have yet, reads it back and compares it. When it returns without an
// error, the target has everything that the source has.
func (c *Copy) Run(ctx context.Context) ([]Line, error) {
	if c.totals == nil {
		if _, err := c.Count(ctx); err != nil {
			return nil, err
		}
	}
	c.stage = Copying
	numbers, err := c.From.Tables.Numbers(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.To.Tables.Raise(ctx, numbers); err != nil {
		return nil, err
	}
	if err := c.copyBlobs(ctx); err != nil {
		return nil, err
	}
	for _, t := range tables.All() {
		if err := c.copyTable(ctx, t); err != nil {
			return nil, err
		}
	}
	if p, ok := c.To.Tables.(tables.Planning); ok {
		if err := p.Learn(ctx); err != nil {
			return nil, err
		}
	}
	return c.compare(ctx, numbers)
}

// compare reads everything back.
func (c *Copy) compare(ctx context.Context, numbers tables.Numbers) ([]Line, error) {
	c.stage = Comparing
	line, err := c.compareBlobs(ctx)
	if err != nil {
		return nil, err
	}
	lines := []Line{line}
	for _, t := range tables.All() {
		line, err := c.compareTable(ctx, t)
		if err != nil {
			return nil, err
		}
		c.tell(t.Name, line.Rows)
		lines = append(lines, line)
	}
	raised, err := c.To.Tables.Numbers(ctx)
	switch {
	case err != nil:
		return nil, err
	case raised.Write < numbers.Write || raised.Fence < numbers.Fence:
		return nil, tool.Errorf("moving.Compare", tool.Internal, "the target counts from %v, and the source from %v",
			raised, numbers)
	}
	return lines, c.compareChains(ctx)
}

// compareChains verifies the journal on both sides. A journal that has a problem has it in its copy too, and no other.
func (c *Copy) compareChains(ctx context.Context) error {
	opts := journal.Options{Anchor: c.Anchor, KeyFile: c.Key}
	source, err := journal.Verify(ctx, c.From.Journal, opts, nil)
	if err != nil {
		return err
	}
	target, err := journal.Verify(ctx, c.To.Journal, opts, nil)
	if err == nil && !reflect.DeepEqual(source, target) {
		err = tool.Errorf("moving.Compare", tool.Internal, "the journal verifies as %+v, and its copy as %+v", source, target)
	}
	return err
}

// printable writes the cells that name a row for people.
func printable(cells tables.Row) string {
	var parts []string
	for _, cell := range cells {
		if text, ok := cell.(string); ok && strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			cell = fmt.Sprintf("%q", text)
		}
		parts = append(parts, fmt.Sprint(cell))
	}
	return strings.Join(parts, "/")
}
