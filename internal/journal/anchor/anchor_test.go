package anchor_test

import (
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/journal/anchor"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// written is an anchor that was given points in turn.
func written(t testing.TB, points ...anchor.Point) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal [1]*.anchor")
	f := anchor.At(path)
	ok(t, f.Open(true))
	for _, p := range points {
		f.Set(p)
	}
	ok(t, f.Close())
	return path
}

func read(t testing.TB, path string) *anchor.Point {
	t.Helper()
	p, err := anchor.At(path).Read()
	ok(t, err)
	return p
}

func TestTheNewestPointIsRead(t *testing.T) {
	one, two, three := anchor.Point{Seq: 1, Hash: [32]byte{1}}, anchor.Point{Seq: 2, Hash: [32]byte{2}}, anchor.Point{Seq: 3}
	for n, points := range [][]anchor.Point{{}, {one}, {one, two}, {one, two, three}, {three, one}} {
		want := anchor.Point{}
		if len(points) > 0 {
			want = points[len(points)-1]
		}
		if got := read(t, written(t, points...)); got == nil || *got != want {
			t.Errorf("%d: got %v, want %v", n, got, want)
		}
	}
	if got := read(t, filepath.Join(t.TempDir(), "none")); got != nil {
		t.Errorf("without a file: %v", got)
	}
}

// An anchor that is opened again goes on where it was.
func TestOpenedAgain(t *testing.T) {
	path := written(t, anchor.Point{Seq: 7}, anchor.Point{Seq: 8})
	f := anchor.At(path)
	if _, err := f.Read(); err != nil {
		t.Fatal(err)
	}
	ok(t, f.Open(false))
	f.Set(anchor.Point{Seq: 9})
	ok(t, f.Sync())
	if got := read(t, path); got == nil || got.Seq != 9 {
		t.Errorf("got %v", got)
	}
	ok(t, f.Close())
}

// A torn write spoils one slot; the other one is still believed.
func TestATornSlot(t *testing.T) {
	path := written(t, anchor.Point{Seq: 1}, anchor.Point{Seq: 2})
	whole, err := os.ReadFile(path)
	ok(t, err)
	seen := map[uint64]bool{}
	for at := 0; at < len(whole); at += 7 {
		torn := append([]byte(nil), whole...)
		torn[at] ^= 1
		ok(t, os.WriteFile(path, torn, 0o600))
		got := read(t, path)
		if got == nil {
			t.Fatalf("with byte %d changed nothing is read", at)
		}
		seen[got.Seq] = true
	}
	if len(seen) != 2 || !seen[1] || !seen[2] {
		t.Errorf("read the records %v", seen)
	}
	for _, short := range []int{0, 1, 511, 512, 700} {
		ok(t, os.WriteFile(path, whole[:short], 0o600))
		read(t, path)
	}
}

func TestPreserve(t *testing.T) {
	path := written(t, anchor.Point{Seq: 22})
	f := anchor.At(path)
	ok(t, f.Preserve(22))
	ok(t, f.Preserve(22)) // once is enough
	ok(t, os.WriteFile(path+".other", []byte("x"), 0o600))
	points, err := f.Preserved()
	if err != nil || len(points) != 1 || points[0].Seq != 22 {
		t.Errorf("%v, %v", points, err)
	}
	ok(t, anchor.At(filepath.Join(t.TempDir(), "none")).Preserve(1))
}

// Without a path no anchor is kept, and nothing fails.
func TestNone(t *testing.T) {
	f := anchor.At("")
	if f.Kept() || !f.Opened() {
		t.Error("it is kept")
	}
	ok(t, f.Open(true))
	f.Set(anchor.Point{Seq: 1})
	ok(t, f.Sync())
	ok(t, f.Close())
	if p, err := f.Read(); p != nil || err != nil {
		t.Errorf("%v, %v", p, err)
	}
}

func FuzzRead(f *testing.F) {
	whole, err := os.ReadFile(written(f, anchor.Point{Seq: 1}, anchor.Point{Seq: 2}))
	ok(f, err)
	f.Add(whole)
	f.Add(whole[:600])
	f.Add([]byte{})
	path := filepath.Join(f.TempDir(), "anchor")
	f.Fuzz(func(t *testing.T, data []byte) {
		ok(t, os.WriteFile(path, data, 0o600))
		read(t, path)
	})
}
