package vectorcache_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"callgate/internal/search/vectorcache"
)

// killDir names the folder in which a child of TestKilled writes; what it does
// there stands before a colon.
const killDir = "CALLGATE_VECTORCACHE_KILL"

const (
	killDim   = 256
	killBatch = 200
)

// TestKilled kills processes that write, as hard as can be, and looks for
// every record that they had flushed.
func TestKilled(t *testing.T) {
	if job := os.Getenv(killDir); job != "" {
		doUntilKilled(t, job)
		return
	}
	for name, jobs := range map[string][]string{
		"one that writes":              {"0"},
		"two that write":               {"0", "1000000"},
		"one that compacts as it goes": {"compact"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for range 4 {
				var children sync.WaitGroup
				told := make([]int, len(jobs))
				for i, job := range jobs {
					children.Go(func() { told[i] = killAfter(t, job+":"+dir, 3+2*i) })
				}
				children.Wait()
				c, err := vectorcache.Open(dir, "model", killDim)
				ok(t, err)
				if c.Err() != nil {
					t.Fatal(c.Err())
				}
				for i, job := range jobs {
					first, _ := strconv.Atoi(job)
					checkTold(t, c, first, told[i])
				}
			}
		})
	}
}

// killAfter runs a child, kills it once it has told of some flushes, and
// returns how many records it had flushed by then.
func killAfter(t *testing.T, job string, flushes int) (told int) {
	child := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	child.Env = append(os.Environ(), killDir+"="+job)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Error(err)
		return 0
	}
	if err := child.Start(); err != nil {
		t.Error(err)
		return 0
	}
	lines := bufio.NewScanner(out)
	for n := 1; lines.Scan(); n++ {
		if told, err = strconv.Atoi(lines.Text()); err != nil {
			t.Errorf("the child says %q", lines.Text())
			break
		}
		if n == flushes {
			_ = child.Process.Kill()
		}
	}
	_ = child.Process.Kill()
	_ = child.Wait() // killed
	return told
}

func checkTold(t *testing.T, c *vectorcache.Cache, first, told int) {
	t.Helper()
	if told == 0 {
		t.Fatal("the child was killed before it told of anything")
	}
	for n := first; n < first+told; n++ {
		r, scale, found := c.Get(key(n))
		want, wantScale := row(key(n), killDim)
		if !found || scale != wantScale || !slices.Equal(r, want) {
			t.Fatalf("record %d of %d was flushed; there is %v × %g, %v", n-first, told, r, scale, found)
		}
	}
}

// doUntilKilled puts and flushes, and tells how many records it has flushed.
// It starts with what an earlier process had written already, so a file that was
// begun again grows.
func doUntilKilled(t *testing.T, job string) {
	what, dir, _ := strings.Cut(job, ":")
	c, err := vectorcache.Open(dir, "model", killDim)
	ok(t, err)
	n, _ := strconv.Atoi(what)
	first := n
	live := map[[16]byte]bool{}
	for {
		for range killBatch {
			r, scale := row(key(n), killDim)
			c.Put(key(n), r, scale)
			live[key(n)] = true
			if what == "compact" { // twice as much that is dead
				for dead := range 2 {
					k := key(-2*n - dead - 1)
					r, scale := row(k, killDim)
					c.Put(k, r, scale)
				}
			}
			n++
		}
		ok(t, c.Flush())
		fmt.Println(n - first)
		if what == "compact" {
			ok(t, c.Compact(func(k [16]byte) bool { return live[k] }))
		}
	}
}
