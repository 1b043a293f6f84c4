package journal_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/journal"
)

// FuzzReader gives arbitrary bytes to what verifies: as an export, as rows of a
// store, as an anchor. None may panic, and a summary nobody signed may not pass.
func FuzzReader(f *testing.F) {
	store, opts := written(f)
	j := open(f, store, opts)
	var lines bytes.Buffer
	if err := j.Export(f.Context(), &lines, journal.Query{Limit: 3}); err != nil {
		f.Fatal(err)
	}
	anchored, err := os.ReadFile(opts.Anchor)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(lines.Bytes())
	f.Add(anchored)
	f.Add(store.rows[0].Body)
	f.Add([]byte(`{"hash":"","prev":"","raw":""}`))
	f.Add([]byte(`{"seq":1,"kind":"opened","epoch":1,"opening":{"cut":{"anchor":1}}}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := journal.VerifyExport(bytes.NewReader(data), journal.ExportOptions{}); err != nil {
			t.Skip() // a line longer than any record
		}

		path := filepath.Join(dir, "anchor")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		tampered := &memory{rows: arbitraryRows(data), drops: []journal.PruneSummary{{LastSeq: uint64(len(data)), Head: data}}}
		report, err := journal.Verify(t.Context(), tampered, journal.Options{Anchor: path}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if report.OK() {
			t.Fatalf("an unsigned summary passed: %+v", report)
		}
	})
}

// FuzzTampered opens a journal on a store that holds arbitrary rows. It must
// read what it can, write on, and never panic.
func FuzzTampered(f *testing.F) {
	f.Add([]byte("\x00\x02\x00\x00{}\x00\x02\x01\x01{}"))
	f.Add([]byte(`\x00\x60\x00\x00{"seq":1,"kind":"opened","epoch":1,"opening":{"since":7,"cut":{"anchor":1}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		store := &memory{rows: arbitraryRows(data)}
		j := open(t, store, journal.Options{})
		if _, err := j.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		commit(t, j, asked("a"))
		if err := j.Export(t.Context(), &bytes.Buffer{}, journal.Query{}); err != nil {
			t.Fatal(err)
		}
		for range j.Refs(t.Context()) {
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		n := 0
		for range j.Follow(t.Context(), 0) {
			n++
		}
		if want := len(store.rows); n != want {
			t.Fatalf("followed %d of %d rows", n, want)
		}
	})
}

// arbitraryRows cuts data into rows that are in order, and nothing else.
func arbitraryRows(data []byte) (rows []journal.Row) {
	kinds := []journal.Kind{journal.Opened, journal.Begun, journal.Ended, "strange"}
	var seq uint64
	for len(data) >= 4 && len(rows) < 16 {
		n := min(int(binary.BigEndian.Uint16(data)), len(data)-4)
		seq += uint64(data[2]%4) + 1
		row := journal.Row{Seq: seq, Epoch: uint64(data[3] % 4), Kind: kinds[data[3]%4], Call: string(data[2:3]), Body: data[4 : 4+n]}
		copy(row.Hash[:], data)
		rows = append(rows, row)
		data = data[4+n:]
	}
	return rows
}
