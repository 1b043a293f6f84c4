// Package tabletest tests a driver's tables.Store: that everything can be read as plain rows, and that another driver
// that is given these rows goes on as the first would have.
package tabletest

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/internal/artifact"
	"callgate/internal/document"
	"callgate/internal/journal"
	"callgate/internal/storage"
	"callgate/internal/storage/tables"
	"callgate/internal/task"
	"callgate/tool"
)

// Open opens a driver at a place.
type Open func(t *testing.T, place string) storage.Driver

// Driver is a driver that has tables.
type Driver interface {
	storage.Driver
	Tables() tables.Store
}

// Tables tests a driver's tables. One that has none passes.
func Tables(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, func() Driver){
		"Copies":     copiesEverything,
		"Odd":        keepsOddRows,
		"AllOrNone":  addsAllOrNone,
		"Pages":      readsInPages,
		"Numbers":    raisesNumbers,
		"Stored":     setsStored,
		"LogsOfNone": refusesLogsOfNone,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, func() Driver {
				d := open(t, t.TempDir())
				t.Cleanup(func() { ok(t, d.Close()) })
				tabled, is := d.(Driver)
				if !is {
					t.Skip("the driver has no tables")
				}
				return tabled
			})
		})
	}
}

// All reads all rows of a table.
func All(t *testing.T, s tables.Store, table *tables.Table) (all []tables.Row) {
	t.Helper()
	for page := (tables.Page{}); ; {
		var err error
		page, err = s.Rows(t.Context(), table, page.Last)
		ok(t, err)
		if len(page.Rows) == 0 {
			return all
		}
		all = append(all, page.Rows...)
	}
}

// copiesEverything: what was copied reads the same through the stores, and the next numbers are greater.
func copiesEverything(t *testing.T, open func() Driver) {
	from, to, dir := open(), open(), t.TempDir()
	Fill(t, from, dir)
	numbers, err := from.Tables().Numbers(t.Context())
	ok(t, err)
	ok(t, to.Tables().Raise(t.Context(), numbers))
	for _, table := range tables.All() {
		rows := All(t, from.Tables(), table)
		if len(rows) == 0 {
			t.Errorf("%s is empty", table.Name)
		}
		ok(t, to.Tables().Add(t.Context(), table, rows))
		if got := All(t, to.Tables(), table); !reflect.DeepEqual(got, rows) {
			t.Errorf("%s:\n%v\n%v", table.Name, got, rows)
		}
	}
	Same(t, from.Stores(), to.Stores())
	GoesOn(t, to, numbers, dir)
}

// Same checks that two drivers answer alike.
func Same(t *testing.T, a, b storage.Stores) {
	t.Helper()
	same := func(what string, read func(storage.Stores) (any, error)) {
		t.Helper()
		want, err := read(a)
		ok(t, err)
		if got, err := read(b); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v\nwant %+v", what, got, err, want)
		}
	}
	ctx := t.Context()
	same("tasks", func(s storage.Stores) (any, error) { return s.Tasks.List(ctx, task.Query{}) })
	same("logs", func(s storage.Stores) (any, error) { return s.TaskLogs.Entries(ctx, "told", 0) })
	same("approvals", func(s storage.Stores) (any, error) { return s.Approvals.List(ctx, "", 0) })
	same("conversations", func(s storage.Stores) (any, error) { return s.Conversations.List(ctx, 0) })
	same("events", func(s storage.Stores) (any, error) { return s.Conversations.Read(ctx, "two", 0) })
	same("documents", func(s storage.Stores) (any, error) { return s.Documents.List(ctx, "c/é", "", "", 0) })
	same("records", func(s storage.Stores) (any, error) { return s.Journal.Rows(ctx, journal.Query{}) })
	same("drops", func(s storage.Stores) (any, error) { return s.Journal.Drops(ctx) })
	same("doubts", func(s storage.Stores) (any, error) { return s.Journal.CountDoubts(ctx) })
}

// GoesOn checks that a driver that Fill has filled, or a copy of one, counts on: no number comes twice, whoever holds a
// version or a fence can use it, and the journal's chain is whole.
func GoesOn(t *testing.T, d storage.Driver, last tables.Numbers, dir string) {
	t.Helper()
	s := d.Stores()
	held, err := s.Documents.Get(t.Context(), "c/é", "a")
	ok(t, err)
	version, err := s.Documents.Write(t.Context(),
		document.Change{Collection: "c/é", Key: "a", If: held.Version, Data: []byte("x")})
	if err != nil || version <= last.Write {
		t.Errorf("the next write is number %d after %d, %v", version, last.Write, err)
	}
	running, err := s.Tasks.Get(t.Context(), "runs")
	ok(t, err)
	if err := s.Leases.End(t.Context(), "runs", running.Lease.Fence, task.Outcome{State: task.Done}); err != nil {
		t.Errorf("the holder of a fence ends its task: %v", err)
	}
	leased, _, err := s.Queue.Lease(t.Context(), task.Request{Holder: "other", For: time.Hour})
	if err != nil || len(leased) != 1 || int64(leased[0].Lease.Fence) <= last.Fence {
		t.Errorf("the next lease after fence %d: %+v, %v", last.Fence, leased, err)
	}
	j, err := journal.Open(t.Context(), s.Journal, Journal(dir))
	ok(t, err)
	_, err = j.Commit(t.Context(), journal.Record{Kind: journal.Asked, Call: "after"})
	ok(t, err)
	if report, err := j.Verify(t.Context()); err != nil || !report.OK() || !report.Anchored || report.Dropped == 0 {
		t.Errorf("the journal: %+v, %v", report, err)
	}
	ok(t, j.Close())
}

// keepsOddRows: rows that no store would write, as they may be in a database that was changed by hand.
func keepsOddRows(t *testing.T, open func() Driver) {
	d := open()
	const odd = "\x00 \xff é \n"
	rows := map[*tables.Table][]tables.Row{
		tables.Documents: {
			{"", "", int64(-1), []byte{}, int64(0)},
			{"c", "", int64(1), []byte(odd), int64(1)},
			{"c", odd, int64(1), []byte(odd), int64(1)},
			{"c", "\xff", int64(1), []byte(odd), int64(1)},
			{odd + "c", "", int64(1), []byte(odd), int64(1)},
		},
		tables.Approvals: {
			{odd, "?", []byte("{"), []byte{}},
			{"a", "", []byte{}, nil},
		},
		tables.Records: {{int64(7), int64(0), "other", strings.Repeat(odd, 1000), []byte{}, []byte{}}},
		tables.Doubts:  {{strings.Repeat(odd, 1000), int64(7), ""}},
		tables.Drops:   {{int64(3), []byte("no summary")}, {int64(5), []byte{}}},
	}
	slices.SortFunc(rows[tables.Documents], func(a, b tables.Row) int {
		return strings.Compare(fmt.Sprint(a[0], "\x00", a[1]), fmt.Sprint(b[0], "\x00", b[1]))
	})
	for _, table := range tables.All() {
		if len(rows[table]) == 0 {
			continue
		}
		ok(t, d.Tables().Add(t.Context(), table, rows[table]))
		if got := All(t, d.Tables(), table); !reflect.DeepEqual(got, rows[table]) {
			t.Errorf("%s:\n%q\n%q", table.Name, got, rows[table])
		}
	}
	// What was dropped is not read, though it was not deleted.
	ok(t, d.Tables().Add(t.Context(), tables.Records, []tables.Row{{int64(5), int64(0), "x", "", []byte{}, []byte{}}}))
	if got := All(t, d.Tables(), tables.Records); len(got) != 1 {
		t.Errorf("a dropped record is read: %v", got)
	}
}

func addsAllOrNone(t *testing.T, open func() Driver) {
	d := open()
	row := func(key string) tables.Row { return tables.Row{"c", key, int64(1), []byte{}, int64(1)} }
	ok(t, d.Tables().Add(t.Context(), tables.Documents, []tables.Row{row("a")}))
	err := d.Tables().Add(t.Context(), tables.Documents, []tables.Row{row("b"), row("a")})
	if tool.KindOf(err) != tool.Conflict {
		t.Errorf("a key that is there: %v", err)
	}
	if got := All(t, d.Tables(), tables.Documents); len(got) != 1 {
		t.Errorf("%d rows", len(got))
	}
}

// readsInPages: a page ends before it is too large, and the next one begins after it.
func readsInPages(t *testing.T, open func() Driver) {
	d := open()
	var rows []tables.Row
	for i := range tables.PageRows + 10 {
		size := 1
		if i >= tables.PageRows {
			size = tables.PageBytes/2 + 1
		}
		rows = append(rows, tables.Row{fmt.Sprintf("id %04d", i), "pending", bytes.Repeat([]byte("x"), size), nil})
	}
	ok(t, d.Tables().Add(t.Context(), tables.Approvals, rows))
	var sizes []int
	var got []tables.Row
	for page := (tables.Page{}); ; sizes = append(sizes, len(page.Rows)) {
		var err error
		page, err = d.Tables().Rows(t.Context(), tables.Approvals, page.Last)
		ok(t, err)
		if len(page.Rows) == 0 {
			break
		}
		got = append(got, page.Rows...)
	}
	if !reflect.DeepEqual(got, rows) {
		t.Errorf("%d rows of %d, or others", len(got), len(rows))
	}
	if !reflect.DeepEqual(sizes, []int{tables.PageRows, 2, 2, 2, 2, 2}) {
		t.Errorf("pages of %v rows", sizes)
	}
}

func raisesNumbers(t *testing.T, open func() Driver) {
	d := open()
	for _, n := range []tables.Numbers{{Write: 70, Fence: 50}, {Write: 7, Fence: 5}} {
		ok(t, d.Tables().Raise(t.Context(), n))
	}
	got, err := d.Tables().Numbers(t.Context())
	if err != nil || got.Write < 70 || got.Fence < 50 {
		t.Errorf("%+v, %v", got, err)
	}
	version, err := d.Stores().Documents.Write(t.Context(), document.Change{Collection: "c", Key: "k", Data: []byte{}})
	if err != nil || version <= 70 {
		t.Errorf("version %d, %v", version, err)
	}
}

func setsStored(t *testing.T, open func() Driver) {
	d := open()
	times, is := d.Tables().(tables.BlobTimes)
	if !is {
		t.Fatal("the times of blobs cannot be set")
	}
	store := artifact.New(d.Stores().Blobs)
	ref, err := store.Put(t.Context(), []byte("x"))
	ok(t, err)
	for _, want := range []time.Time{
		time.Date(2025, 3, 4, 5, 6, 7, 891234567, time.UTC), time.Date(2020, 3, 4, 5, 6, 7, 0, time.UTC),
	} {
		absent := "sha256:" + strings.Repeat("0", 64)
		ok(t, times.SetStored(t.Context(), []artifact.Blob{{Ref: absent, Stored: want}, {Ref: ref, Stored: want}}))
		list, err := d.Stores().Blobs.List(t.Context(), "", 10)
		if err != nil || len(list) != 1 || list[0].Stored.Before(want) || list[0].Stored.Sub(want) >= time.Microsecond {
			t.Errorf("stored at %v: %v, %v", want, list, err)
		}
	}
}

func refusesLogsOfNone(t *testing.T, open func() Driver) {
	d := open()
	err := d.Tables().Add(t.Context(), tables.TaskLogs, []tables.Row{{"none", int64(1), "x", nil}})
	if tool.KindOf(err) != tool.Conflict {
		t.Errorf("a log of no task: %v", err)
	}
}
