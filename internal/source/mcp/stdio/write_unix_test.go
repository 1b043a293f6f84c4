//go:build unix

package stdio_test

import (
	"bufio"
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"callgate/internal/source/mcp/stdio"
)

// TestLinesStayWhole has many write to a pipe whose reader is slow, so that it takes parts of lines.
func TestLinesStayWhole(t *testing.T) {
	t.Parallel()
	const senders, each = 8, 40
	in, other, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	read, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	c := stdio.New(stdio.Options{In: in, Out: out, OnClose: func() { _ = in.Close() }})
	defer c.Close()
	var all sync.WaitGroup
	for s := range senders {
		all.Go(func() {
			for i := range each {
				line := strings.Repeat(string(rune('a'+s)), 1+i*2500)
				if err := c.Send(context.Background(), []byte(line+"\n")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	lines := bufio.NewReaderSize(read, 512)
	var got [senders]int // lines of each sender, whose own are in order
	for range senders * each {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		line = strings.TrimSuffix(line, "\n")
		s := int(line[0] - 'a')
		if want := strings.Repeat(line[:1], 1+got[s]*2500); line != want {
			t.Fatalf("line %d of sender %d has %d bytes, want %d of one kind", got[s], s, len(line), len(want))
		}
		got[s]++
	}
	all.Wait()
}
