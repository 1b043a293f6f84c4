package vectorcache_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"callgate/tool"
)

func TestCompact(t *testing.T) {
	dir, _, full := filled(t, 100)
	c := open(t, dir)
	below := func(n int) func([16]byte) bool {
		live := map[[16]byte]bool{}
		for i := range n {
			live[key(i)] = true
		}
		return func(k [16]byte) bool { return live[k] }
	}
	ok(t, c.Compact(below(50))) // half is live: not worth it
	if _, data := file(t, dir); !bytes.Equal(data, full) {
		t.Error("compacted a file that is half live")
	}
	wants(t, c, upTo(100))
	put(c, 100, 101) // is flushed, and is dead
	ok(t, c.Compact(below(30)))
	_, small := file(t, dir)
	if len(small) >= len(full)/3 {
		t.Errorf("%d bytes of %d are left for 30 of 100 records", len(small), len(full))
	}
	wants(t, c, upTo(30))
	wants(t, open(t, dir), upTo(30))
	put(c, 30, 40)
	ok(t, c.Close())
	wants(t, open(t, dir), upTo(40))
	c = open(t, dir)
	ok(t, c.Compact(func([16]byte) bool { return false }))
	wants(t, open(t, dir), nil)
	ok(t, open(t, t.TempDir()).Compact(below(1))) // of nothing
}

// Records that were put over and over are dead but for the last.
func TestCompactOverwritten(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir)
	for i := range 50 {
		c.Put(key(0), []int8{int8(i), 0, 0, 0, 0}, 1)
		ok(t, c.Flush())
	}
	all := func([16]byte) bool { return true }
	_, before := file(t, dir)
	ok(t, c.Compact(all))
	_, after := file(t, dir)
	if got, _, _ := open(t, dir).Get(key(0)); len(after) >= len(before)/10 || len(got) == 0 || got[0] != 49 {
		t.Errorf("%d bytes became %d, with the row %v", len(before), len(after), got)
	}
}

// What another process added is kept, and a cache whose file was replaced
// under it goes on in the new one.
func TestTwoAtOnce(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	put(a, 0, 10)
	put(b, 10, 20)
	ok(t, a.Flush())
	ok(t, b.Flush())
	wants(t, open(t, dir), upTo(20))
	put(a, 100, 200)
	ok(t, a.Flush())
	small := func(k [16]byte) bool { return slices.ContainsFunc(upTo(30), func(n int) bool { return key(n) == k }) }
	ok(t, a.Compact(small)) // a does not know 10 to 19, but keeps them
	put(b, 20, 25)
	ok(t, b.Flush())
	wants(t, open(t, dir), upTo(25))
	name, _ := file(t, dir)
	ok(t, os.Remove(name))
	put(a, 25, 26)
	ok(t, a.Flush()) // with all that a knows
	wants(t, open(t, dir), append(upTo(10), 25))
}

// What a process left aside when it was killed is swept away in time.
func TestSweep(t *testing.T) {
	dir, name, _ := filled(t, 10)
	left := func(random string) string { return filepath.Join(dir, "."+filepath.Base(name)+"."+random+".partial") }
	old, fresh, foreign := left("123"), left("456"), filepath.Join(dir, ".mine.123.partial")
	for _, left := range []string{old, fresh, foreign} {
		ok(t, os.WriteFile(left, nil, 0o600))
		if left != fresh {
			past := time.Now().Add(-2 * time.Hour)
			ok(t, os.Chtimes(left, past, past))
		}
	}
	ok(t, open(t, dir).Compact(func([16]byte) bool { return false }))
	for left, want := range map[string]bool{old: false, fresh: true, foreign: true, name: true} {
		if _, err := os.Stat(left); (err == nil) != want {
			t.Errorf("%s: %v", filepath.Base(left), err)
		}
	}
}

// A compaction that cannot be is said, and changes nothing.
func TestCompactFails(t *testing.T) {
	if os.Getuid() <= 0 {
		t.Skip("needs an ordinary user: scripts/users.sh runs it")
	}
	dir, _, _ := filled(t, 10)
	c := open(t, dir)
	ok(t, os.Chmod(dir, 0o500))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	if err := c.Compact(func([16]byte) bool { return false }); tool.KindOf(err) != tool.Unavailable || c.Err() != nil {
		t.Errorf("%v, %v", err, c.Err())
	}
	wants(t, c, upTo(10))
	put(c, 10, 11) // the file itself can still be written
	ok(t, c.Close())
	wants(t, open(t, dir), upTo(11))
}

// Writers lose nothing to one who compacts beside them, though each knows the
// file by its name only.
func TestCompactBesideWriters(t *testing.T) {
	const writers, each = 3, 150
	dir := t.TempDir()
	marked := func(n int, last byte) [16]byte {
		k := key(n)
		k[15] = last
		return k
	}
	const live, dead = 0, 1
	keep := func(k [16]byte) bool { return k[15] == live }
	var writing sync.WaitGroup
	for w := range writers {
		c := open(t, dir)
		writing.Go(func() {
			for n := range each {
				for i := range 6 { // one that is live
					k := marked(w+writers*(6*n+i), byte(min(i, dead)))
					r, scale := row(k, dim)
					c.Put(k, r, scale)
				}
				if err := c.Flush(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	written := make(chan struct{})
	go func() { writing.Wait(); close(written) }()
	for over := false; !over; {
		select {
		case <-written:
			over = true // and once more
		default:
		}
		if err := open(t, dir).Compact(keep); err != nil {
			t.Error(err)
		}
	}
	c := open(t, dir)
	for n := range writers * each {
		if _, _, found := c.Get(marked(n%writers+writers*6*(n/writers), live)); !found {
			t.Errorf("record %d of writer %d is lost", n/writers, n%writers)
		}
	}
	if all := writers * each * 6; c.Len() >= all/2 {
		t.Errorf("%d rows of %d are left: it was not compacted", c.Len(), all)
	}
}
