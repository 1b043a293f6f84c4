//go:build !race

package cli_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// ownMemory is the memory that a process has for itself, in kilobytes. Pages of the program
// are not counted: every process of it shares them, and how many the system has mapped for
// one changes from run to run by more than a bridge has.
func ownMemory(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(status), "RssAnon:")
	var size int
	if _, err := fmt.Sscan(after, &size); !found || err != nil {
		t.Fatalf("no memory in %s: %v", status, err)
	}
	return size
}

// A bridge only copies bytes, and there is one for every client. It is small at rest,
// and again in the first pause after it has carried much.
func TestBridgeIsSmall(t *testing.T) {
	t.Parallel()
	const most = 12 << 10
	a := newAgent(t, newState(t), newFolder(t, plainApp), "agent")
	a.ask("tools/list", `{}`)
	if r := a.hear(); len(r.Result.Tools) == 0 {
		t.Fatalf("there are no tools: %s", r.text())
	}
	small := func(when string) {
		t.Helper()
		size := 0
		if !poll(30*time.Second, func() bool {
			size = ownMemory(t, a.Process.Pid)
			return size <= most
		}) {
			t.Errorf("%s a bridge takes %d kB, want at most %d", when, size, most)
		}
	}
	small("at rest")
	for range 200 {
		if got := a.call("filesystem.list", `{"path":"."}`); got == "" { // and still works
			t.Fatal("after that it does not answer")
		}
	}
	a.call("filesystem.write", `{"path":"large.txt","content":"`+strings.Repeat("x", 16<<20)+`"}`)
	small("after its calls")
	t.Logf("%d kB", ownMemory(t, a.Process.Pid))
}
