package vectorcache_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/search/vectorcache"
	"callgate/tool"
)

const dim = 5

// key and row make the n-th record of a test. A row follows from its key, so
// that a row under a wrong key shows.
func key(n int) [16]byte {
	sum := sha256.Sum256(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	return [16]byte(sum[:16])
}

func row(k [16]byte, dim int) ([]int8, float32) {
	r := make([]int8, dim)
	for i := range r {
		r[i] = int8(k[i%len(k)]) ^ int8(i/len(k))
	}
	return r, float32(k[0]) / 64
}

func open(t testing.TB, dir string) *vectorcache.Cache {
	t.Helper()
	c, err := vectorcache.Open(dir, "model", dim)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func put(c *vectorcache.Cache, from, to int) {
	for n := from; n < to; n++ {
		r, scale := row(key(n), dim)
		c.Put(key(n), r, scale)
	}
}

// held checks that what the cache has of the first n records is right, and
// returns which it has.
func held(t testing.TB, c *vectorcache.Cache, n int) (has []int) {
	t.Helper()
	for i := range n {
		r, scale, ok := c.Get(key(i))
		if !ok {
			continue
		}
		has = append(has, i)
		if want, wantScale := row(key(i), dim); scale != wantScale || !slices.Equal(r, want) {
			t.Fatalf("record %d is %v × %g, want %v × %g", i, r, scale, want, wantScale)
		}
	}
	if c.Len() != len(has) {
		t.Fatalf("%d rows, of which %d were ever put", c.Len(), len(has))
	}
	return has
}

func upTo(n int) []int {
	var all []int
	for i := range n {
		all = append(all, i)
	}
	return all
}

func wants(t testing.TB, c *vectorcache.Cache, want []int) {
	t.Helper()
	if diff := cmp.Diff(want, held(t, c, 1000)); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// file returns the only file of a folder, and what it holds.
func file(t testing.TB, dir string) (string, []byte) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 1 {
		t.Fatalf("files %v, %v, want one", names, err)
	}
	data, err := os.ReadFile(names[0])
	ok(t, err)
	return names[0], data
}

// filled makes a folder with n records, and returns its file.
func filled(t testing.TB, n int) (dir, name string, data []byte) {
	t.Helper()
	dir = t.TempDir()
	c := open(t, dir)
	put(c, 0, n)
	ok(t, c.Close())
	name, data = file(t, dir)
	return dir, name, data
}

func TestRestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "of", "vectors")
	c := open(t, dir)
	put(c, 0, 10)
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("something was written before a flush: %v", err)
	}
	ok(t, c.Flush())
	put(c, 5, 20)
	ok(t, c.Close())
	put(c, 20, 21) // stays in memory
	ok(t, c.Flush())
	wants(t, c, upTo(21))

	again := open(t, dir)
	wants(t, again, upTo(20))
	if _, _, found := again.Get([16]byte{}); found {
		t.Error("found what was never put")
	}
	name, before := file(t, dir)
	put(again, 0, 20) // all known: nothing to write
	ok(t, again.Close())
	if _, after := file(t, dir); !bytes.Equal(before, after) {
		t.Errorf("%d bytes became %d with nothing new", len(before), len(after))
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("others may read it: %v, %v", info.Mode(), err)
	}
}

func TestLastOfAKeyCounts(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir)
	r := []int8{-128, -1, 0, 1, 127}
	c.Put(key(1), []int8{1, 2, 3, 4, 5}, 1)
	c.Put(key(1), r, -2.5)
	r[0] = 9 // it was copied
	ok(t, c.Close())
	for name, c := range map[string]*vectorcache.Cache{"in memory": c, "on disk": open(t, dir)} {
		got, scale, _ := c.Get(key(1))
		if !slices.Equal(got, []int8{-128, -1, 0, 1, 127}) || scale != -2.5 || c.Len() != 1 {
			t.Errorf("%s: %v × %g, %d rows", name, got, scale, c.Len())
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		dir, model string
		dim        int
	}{
		"no folder":     {"", "m", 4},
		"no model":      {"x", "", 4},
		"a novel":       {"x", strings.Repeat("m", 5000), 4},
		"no numbers":    {"x", "m", 0},
		"below nothing": {"x", "m", -1},
		"too long":      {"x", "m", 1 << 20},
	} {
		if _, err := vectorcache.Open(c.dir, c.model, c.dim); tool.KindOf(err) != tool.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPutRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		row   []int8
		scale float32
	}{
		"short":    {make([]int8, dim-1), 1},
		"long":     {make([]int8, dim+1), 1},
		"none":     {nil, 1},
		"NaN":      {make([]int8, dim), float32(math.NaN())},
		"infinite": {make([]int8, dim), float32(math.Inf(-1))},
	} {
		dir := t.TempDir()
		v := open(t, dir)
		put(v, 0, 1)
		v.Put(key(1), c.row, c.scale)
		put(v, 2, 3)
		if tool.KindOf(v.Err()) != tool.Invalid {
			t.Errorf("%s: %v", name, v.Err())
		}
		ok(t, v.Close())
		wants(t, open(t, dir), []int{0, 2})
	}
}

// Models share a folder, and each has a file of its own.
func TestModels(t *testing.T) {
	dir := t.TempDir()
	put(open(t, dir), 0, 1)
	for n, model := range []string{"a", "b", "a/b", "../a", "http://models.example/v1 a 0"} {
		c, err := vectorcache.Open(dir, model, dim)
		ok(t, err)
		put(c, n, n+1)
		ok(t, c.Close())
		again, err := vectorcache.Open(dir, model, dim)
		ok(t, err)
		wants(t, again, []int{n})
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 5 {
		t.Errorf("%v, %v", entries, err)
	}
}

// What stands in the way of the disk leaves a cache in memory, with a reason.
func TestMemoryOnly(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "file")
	ok(t, os.WriteFile(plain, nil, 0o600))
	folder, name, _ := filled(t, 1)
	ok(t, os.Remove(name))
	ok(t, os.Mkdir(name, 0o700))
	locked, _, _ := filled(t, 3)
	ok(t, os.Chmod(locked, 0o000))
	readOnly := t.TempDir()
	ok(t, os.Chmod(readOnly, 0o500))
	unreadable, name, _ := filled(t, 3)
	ok(t, os.Chmod(name, 0o000))
	settled, name, _ := filled(t, 3)
	ok(t, os.Chmod(name, 0o400))
	for what, c := range map[string]struct {
		dir   string
		modes bool // it is about file modes, which not every user and system heeds
		want  []int
	}{
		"the folder is a file":       {plain, false, nil},
		"the file is a folder":       {folder, false, nil},
		"the folder cannot be read":  {locked, true, nil},
		"the folder takes no files":  {readOnly, true, nil},
		"the file cannot be read":    {unreadable, true, nil},
		"the file cannot be written": {settled, true, upTo(3)},
	} {
		t.Run(what, func(t *testing.T) {
			if c.modes && (os.Getuid() <= 0) {
				t.Skip("needs an ordinary user: scripts/users.sh runs it")
			}
			t.Cleanup(func() { _ = os.Chmod(c.dir, 0o700) })
			v := open(t, c.dir)
			wants(t, v, c.want)
			had := v.Err() != nil
			put(v, 3, 10)
			if err := v.Flush(); !had && tool.KindOf(err) != tool.Unavailable {
				t.Errorf("flush: %v", err)
			}
			if tool.KindOf(v.Err()) != tool.Unavailable || !strings.Contains(v.Err().Error(), "computes its vectors again") {
				t.Errorf("reason: %v", v.Err())
			}
			put(v, 10, 12)
			ok(t, v.Flush()) // said once
			ok(t, v.Compact(func([16]byte) bool { return true }))
			wants(t, v, append(c.want, 3, 4, 5, 6, 7, 8, 9, 10, 11))
			ok(t, v.Compact(func(k [16]byte) bool { return k == key(3) }))
			wants(t, v, []int{3})
			ok(t, v.Close())
		})
	}
}

// One cache, used from everywhere.
func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	caches := []*vectorcache.Cache{open(t, dir), open(t, dir)}
	var wg sync.WaitGroup
	for w := range 8 {
		c := caches[w%2]
		wg.Go(func() {
			for n := w * 50; n < w*50+50; n++ {
				put(c, n, n+1)
				if _, _, found := c.Get(key(n)); !found {
					t.Errorf("%d was put and is not there", n)
				}
				if n%10 == 9 {
					if err := c.Flush(); err != nil {
						t.Error(err)
					}
				}
				if n%25 == 24 {
					if err := c.Compact(func(k [16]byte) bool { _, _, _ = c.Get(k); return true }); err != nil {
						t.Error(err)
					}
				}
				_, _ = c.Len(), c.Err()
			}
		})
	}
	wg.Wait()
	for _, c := range caches {
		ok(t, c.Close())
	}
	wants(t, open(t, dir), upTo(400))
}

func BenchmarkOpen(b *testing.B) {
	for _, c := range []struct{ n, dim int }{{1000, 256}, {13000, 256}, {13000, 1024}} {
		b.Run(fmt.Sprintf("%dx%d", c.n, c.dim), func(b *testing.B) {
			dir := large(b, c.n, c.dim)
			b.ReportAllocs()
			for b.Loop() {
				v, err := vectorcache.Open(dir, "model", c.dim)
				if err != nil || v.Len() != c.n {
					b.Fatal(v.Len(), err)
				}
			}
		})
	}
}

// A file with a byte too many in front makes every record be looked for.
func BenchmarkOpenShifted(b *testing.B) {
	dir := large(b, 13000, 256)
	name, data := file(b, dir)
	at := bytes.Index(data, []byte("model")) + len("model")
	ok(b, os.WriteFile(name, slices.Insert(data, at, 0), 0o600))
	b.ReportAllocs()
	for b.Loop() {
		if v, err := vectorcache.Open(dir, "model", 256); err != nil || v.Len() != 13000 {
			b.Fatal(v.Len(), err)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	v, err := vectorcache.Open(large(b, 13000, 256), "model", 256)
	ok(b, err)
	k := key(77)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, found := v.Get(k); !found {
			b.Fatal("lost")
		}
	}
}

func BenchmarkPutAndFlush(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		large(b, 13000, 256)
	}
}

func large(b *testing.B, n, dim int) string {
	dir := b.TempDir()
	v, err := vectorcache.Open(dir, "model", dim)
	ok(b, err)
	for i := range n {
		r, scale := row(key(i), dim)
		v.Put(key(i), r, scale)
	}
	ok(b, v.Close())
	return dir
}
