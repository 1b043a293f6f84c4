package vectorcache_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"callgate/internal/search/vectorcache"
)

// A file cut anywhere still opens, with every record that is whole, and takes
// more.
func TestTruncatedAnywhere(t *testing.T) {
	const n = 4
	dir, name, data := filled(t, n)
	header := bytes.Index(data, []byte("model")) + len("model")
	size := (len(data) - header) / n
	for cut := range len(data) + 1 {
		ok(t, os.WriteFile(name, data[:cut], 0o600))
		c := open(t, dir)
		whole := max(0, cut-header) / size
		if has := held(t, c, n); len(has) != whole || c.Err() != nil {
			t.Fatalf("cut at %d: has %v, want %d, %v", cut, has, whole, c.Err())
		}
		put(c, n, n+1)
		ok(t, c.Flush())
		if got := held(t, open(t, dir), n+1); len(got) != whole+1 {
			t.Fatalf("cut at %d, one more put: has %v", cut, got)
		}
		put(c, 0, n) // as a reader that misses them does
		ok(t, c.Close())
		wants(t, open(t, dir), upTo(n+1))
	}
}

// A changed byte costs its record, or all when it is in the header; never a
// wrong row.
func TestFlippedAnywhere(t *testing.T) {
	const n = 3
	dir, name, data := filled(t, n)
	header := bytes.Index(data, []byte("model")) + len("model")
	for at := range data {
		for _, flip := range []byte{0x01, 0xff} {
			bad := bytes.Clone(data)
			bad[at] ^= flip
			ok(t, os.WriteFile(name, bad, 0o600))
			want := n - 1
			if at < header {
				want = 0
			}
			c := open(t, dir)
			if has := held(t, c, n); len(has) != want || c.Err() != nil {
				t.Fatalf("byte %d ^ %#x: has %v, want %d, %v", at, flip, has, want, c.Err())
			}
			put(c, 0, n)
			ok(t, c.Close())
			wants(t, open(t, dir), upTo(n))
		}
	}
}

// Bytes that came in or went missing shift what follows; it is found again.
func TestShifted(t *testing.T) {
	const n = 6
	dir, name, data := filled(t, n)
	header := bytes.Index(data, []byte("model")) + len("model")
	size := (len(data) - header) / n
	second := header + size
	for what, c := range map[string]struct {
		data []byte
		want []int
	}{
		"a byte more between": {slices.Concat(data[:second], []byte{7}, data[second:]), upTo(n)},
		"a mark more between": {slices.Concat(data[:second], data[header:header+4], data[second:]), upTo(n)},
		"a header between":    {slices.Concat(data[:second], data[:header], data[second:]), upTo(n)},
		"a byte less":         {slices.Concat(data[:second+9], data[second+10:]), []int{0, 2, 3, 4, 5}},
		"a torn record":       {slices.Concat(data[:second+size/2], data[second+size:]), []int{0, 2, 3, 4, 5}},
		"zeros at the end":    {slices.Concat(data, make([]byte, 1000)), upTo(n)},
		"zeros in the middle": {slices.Concat(data[:second], make([]byte, 1000), data[second:]), upTo(n)},
		"nothing but zeros":   {make([]byte, 1000), nil},
		"twice":               {slices.Concat(data, data), upTo(n)},
		"without a header":    {data[header:], nil},
		"a line before":       {slices.Concat([]byte("\n"), data), nil},
	} {
		t.Run(what, func(t *testing.T) {
			ok(t, os.WriteFile(name, c.data, 0o600))
			v := open(t, dir)
			wants(t, v, c.want)
			put(v, 0, n+1)
			ok(t, v.Close())
			wants(t, open(t, dir), upTo(n+1))
		})
	}
}

// What was written for another length, model or version is not read, and the
// file begins anew.
func TestForeign(t *testing.T) {
	dir, name, data := filled(t, 3)
	wider := filepath.Join(t.TempDir(), "wider")
	other, err := vectorcache.Open(wider, "model", dim+1)
	ok(t, err)
	other.Put(key(0), make([]int8, dim+1), 1)
	ok(t, other.Close())
	_, widerData := file(t, wider)
	renamed := filepath.Join(t.TempDir(), "renamed")
	other, err = vectorcache.Open(renamed, "MODEL", dim)
	ok(t, err)
	put(other, 0, 3)
	ok(t, other.Close())
	_, renamedData := file(t, renamed)
	newer := bytes.Clone(data)
	newer[len("callgate vectors")]++
	header := bytes.Index(data, []byte("model")) + len("model")

	for what, c := range map[string]struct {
		data []byte
		want []int
	}{
		"length":         {widerData, nil},
		"model":          {renamedData, nil},
		"version":        {newer, nil},
		"its records":    {slices.Concat(data[:header], renamedData[header:]), nil},
		"among our own":  {slices.Concat(data, renamedData), upTo(3)},
		"an empty file":  {nil, nil},
		"somebody's own": {[]byte("a shopping list"), nil},
	} {
		t.Run(what, func(t *testing.T) {
			ok(t, os.WriteFile(name, c.data, 0o600))
			v := open(t, dir)
			wants(t, v, c.want)
			put(v, 7, 8)
			ok(t, v.Close())
			wants(t, open(t, dir), append(c.want, 7))
			if _, err := os.Stat(name); err != nil {
				t.Error(err)
			}
			file(t, dir) // nothing is left beside it
		})
	}
}

func FuzzLoad(f *testing.F) {
	_, name, data := filled(f, 4)
	header := bytes.Index(data, []byte("model")) + len("model")
	f.Add(data)
	f.Add(data[:header])
	f.Add(data[:len(data)-3])
	f.Add(slices.Concat(data[:header+20], data[header:]))
	f.Add(slices.Concat(data[:header], bytes.Repeat(data[header:header+4], 50)))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		ok(t, os.WriteFile(filepath.Join(dir, filepath.Base(name)), data, 0o600))
		c := open(t, dir)
		held(t, c, 4)
		put(c, 0, 6)
		ok(t, c.Flush())
		ok(t, c.Compact(func([16]byte) bool { return true }))
		ok(t, c.Close())
		wants(t, open(t, dir), upTo(6))
	})
}
