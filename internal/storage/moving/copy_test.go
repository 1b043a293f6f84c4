package moving_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/artifact"
	"callgate/internal/storage/moving"
	"callgate/internal/storage/sqlite"
	"callgate/internal/storage/storagetest/tabletest"
	"callgate/internal/storage/tables"
	"callgate/tool"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openSQLite(t *testing.T, dir string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "callgate.db"))
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	return db
}

func placeOf(d tabletest.Driver) moving.Place {
	s := d.Stores()
	return moving.Place{Tables: d.Tables(), Blobs: s.Blobs, Journal: s.Journal}
}

// newCopy is a copy of what Fill leaves, to a place of which nothing is known.
func newCopy(t *testing.T, from, to tabletest.Driver, dir string) *moving.Copy {
	t.Helper()
	opts := tabletest.Journal(dir)
	return &moving.Copy{From: placeOf(from), To: placeOf(to), Anchor: opts.Anchor, Key: opts.KeyFile}
}

// copied checks that one driver has what another had.
func copied(t *testing.T, from, to tabletest.Driver, dir string) {
	t.Helper()
	numbers, err := from.Tables().Numbers(t.Context())
	ok(t, err)
	tabletest.Same(t, from.Stores(), to.Stores())
	tabletest.GoesOn(t, to, numbers, dir)
}

func TestCopy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := openSQLite(t, dir), openSQLite(t, t.TempDir())
	tabletest.Fill(t, from, dir)
	c := newCopy(t, from, to, dir)
	if empty, err := c.Empty(t.Context()); err != nil || !empty {
		t.Errorf("a fresh target: %v, %v", empty, err)
	}
	stages := map[moving.Stage]bool{}
	c.Progress = func(p moving.Progress) { stages[p.Stage] = true }
	counted, err := c.Count(t.Context())
	ok(t, err)
	lines, err := c.Run(t.Context())
	ok(t, err)
	if len(lines) != len(counted) || len(lines) != 1+len(tables.All()) {
		t.Fatalf("counted %v, copied %v", counted, lines)
	}
	for i, line := range lines {
		if line.Rows != counted[i].Rows || line.Bytes != counted[i].Bytes || line.Rows == 0 || len(line.Digest) != 64 {
			t.Errorf("counted %+v, copied %+v", counted[i], line)
		}
	}
	if !stages[moving.Copying] || !stages[moving.Comparing] {
		t.Errorf("told of %v", stages)
	}
	if empty, err := c.Empty(t.Context()); err != nil || empty {
		t.Errorf("a copy: %v, %v", empty, err)
	}
	copied(t, from, to, dir)
}

var errBroken = errors.New("broken off")

// breaking is a target that fails after some writes, before or after one was made.
type breaking struct {
	tabletest.Driver
	left *int
}

func (b breaking) Tables() tables.Store { return breakingTables{b.Driver.Tables(), b.left} }

type breakingTables struct {
	tables.Store
	left *int
}

func (b breakingTables) Add(ctx context.Context, t *tables.Table, rows []tables.Row) error {
	if *b.left--; *b.left == 0 {
		return errBroken
	}
	err := b.Store.Add(ctx, t, rows)
	if *b.left--; err == nil && *b.left == 0 {
		return errBroken
	}
	return err
}

func (b breakingTables) SetStored(ctx context.Context, blobs []artifact.Blob) error {
	if *b.left--; *b.left == 0 {
		return errBroken
	}
	return b.Store.(tables.BlobTimes).SetStored(ctx, blobs)
}

// TestContinue breaks a copy off at each write, before it and after it, and continues it.
func TestContinue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := openSQLite(t, dir), openSQLite(t, t.TempDir())
	tabletest.Fill(t, from, dir)
	for at, whole := 1, false; !whole; at++ {
		left := at
		_, err := newCopy(t, from, breaking{to, &left}, dir).Run(t.Context())
		if whole = err == nil; !whole && !errors.Is(err, errBroken) {
			t.Fatalf("broken off at write %d: %v", at, err)
		}
	}
	copied(t, from, to, dir)
}

// TestRefuses: a target that is no copy of the source is not mixed with it.
func TestRefuses(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		table *tables.Table
		row   tables.Row
	}{
		"Another":       {tables.Documents, tables.Row{"c/é", "another", int64(1), []byte{}, int64(1)}},
		"OtherContent":  {tables.Documents, tables.Row{"c/é", "a", int64(1), []byte{}, int64(1)}},
		"OtherOrder":    {tables.Approvals, tables.Row{"m", "pending", []byte("{}"), nil}},
		"AfterTheLast":  {tables.Records, tables.Row{int64(9999), int64(1), "x", "", []byte{}, []byte{}}},
		"BeforeTheLast": {tables.Conversations, tables.Row{"a", int64(1), int64(0), []byte("{}")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			from, to := openSQLite(t, dir), openSQLite(t, t.TempDir())
			tabletest.Fill(t, from, dir)
			ok(t, to.Tables().Add(t.Context(), row.table, []tables.Row{row.row}))
			_, err := newCopy(t, from, to, dir).Run(t.Context())
			if tool.KindOf(err) != tool.Conflict || !strings.Contains(err.Error(), row.table.Name) {
				t.Errorf("%v", err)
			}
		})
	}
}

// corrupting is a target that keeps something else than it was given.
type corrupting struct {
	tabletest.Driver
	table *tables.Table
}

func (c corrupting) Tables() tables.Store { return corruptingTables{c.Driver.Tables(), c.table} }

type corruptingTables struct {
	tables.Store
	table *tables.Table
}

func (c corruptingTables) Add(ctx context.Context, t *tables.Table, rows []tables.Row) error {
	if t == c.table {
		rows = rows[:len(rows)-1]
	}
	return c.Store.Add(ctx, t, rows)
}

// TestProves: a row that the target did not keep is found, whichever table it is of.
func TestProves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := openSQLite(t, dir)
	tabletest.Fill(t, from, dir)
	for _, table := range tables.All() {
		to := openSQLite(t, t.TempDir())
		if _, err := newCopy(t, from, corrupting{to, table}, dir).Run(t.Context()); err == nil {
			t.Errorf("nobody missed the last row of %s", table.Name)
		}
	}
}

// losing is a store of blobs that gives other bytes than it took.
type losing struct{ artifact.Blobs }

func (l losing) Put(ctx context.Context, ref string, size int64, content io.Reader) error {
	return l.Blobs.Put(ctx, ref, size, io.MultiReader(strings.NewReader("?"), skipOne(content)))
}

func skipOne(r io.Reader) io.Reader {
	_, _ = io.ReadFull(r, make([]byte, 1))
	return r
}

// TestProvesBlobs: a blob with other bytes is found, unless it was so in the source.
func TestProvesBlobs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := openSQLite(t, dir)
	_, err := artifact.New(from.Stores().Blobs).Put(t.Context(), []byte("bytes"))
	ok(t, err)
	damaged := "sha256:" + strings.Repeat("a", 64)
	ok(t, from.Stores().Blobs.Put(t.Context(), damaged, 3, strings.NewReader("odd")))
	c := newCopy(t, from, openSQLite(t, t.TempDir()), dir)
	c.To.Blobs = losing{c.To.Blobs}
	if _, err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "other bytes") {
		t.Errorf("nobody missed the bytes: %v", err)
	}
	lines, err := newCopy(t, from, openSQLite(t, t.TempDir()), dir).Run(t.Context())
	if err != nil || lines[0].Rows != 2 {
		t.Errorf("%+v, %v", lines, err)
	}
}
