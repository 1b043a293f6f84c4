package serverlog_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/source/mcp/serverlog"
)

func texts(lines []serverlog.Line) []string {
	var all []string
	for _, l := range lines {
		all = append(all, l.Stream+": "+l.Text)
	}
	return all
}

func TestLinesOfAStream(t *testing.T) {
	t.Parallel()
	var b serverlog.Log
	w := &serverlog.Writer{Log: &b, Stream: "stderr"}
	for _, piece := range []string{"one\ntw", "o", "\r\n\n  \nthree\nfo", "ur"} {
		fmt.Fprint(w, piece)
	}
	w.Close()
	w.Close()
	b.Add("stdout", "stray \xff")
	want := []string{"stderr: one", "stderr: two", "stderr: three", "stderr: four", "stdout: stray \uFFFD"}
	if diff := cmp.Diff(want, texts(b.Last(-1, time.Time{}))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[3:], texts(b.Last(2, time.Time{}))); diff != "" {
		t.Error(diff)
	}
	if b.StrayLines() != 1 || len(b.Last(-1, time.Now().Add(time.Hour))) != 0 || len(b.Last(0, time.Time{})) != 0 {
		t.Error("it counts wrongly")
	}
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	t.Parallel()
	var b serverlog.Log
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			w := &serverlog.Writer{Log: &b, Stream: "stderr"}
			for i := range 2000 {
				fmt.Fprintf(w, "%d %s\n", i, strings.Repeat("x", 900))
			}
			fmt.Fprint(w, strings.Repeat("y", 1<<20), "\n")
		})
	}
	wg.Wait()
	b.Add("stderr", "last")
	size := 0
	lines := b.Last(-1, time.Time{})
	for _, l := range lines {
		size += len(l.Text)
		if len(l.Text) > 5<<10 {
			t.Errorf("a line of %d bytes", len(l.Text))
		}
	}
	if size > 256<<10 || size < 200<<10 || lines[len(lines)-1].Text != "last" {
		t.Errorf("%d bytes in %d lines are kept", size, len(lines))
	}
}
