//go:build !race

package cli_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// residentMemory is the memory of a process, in kilobytes.
func residentMemory(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(status), "VmRSS:")
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
	const most = 18 << 10
	a := newAgent(t, newState(t), newFolder(t, plainApp), "agent")
	a.ask("tools/list", `{}`)
	if r := a.hear(); len(r.Result.Tools) == 0 {
		t.Fatalf("there are no tools: %s", r.text())
	}
	small := func(when string) {
		t.Helper()
		size := 0
		if !poll(30*time.Second, func() bool {
			size = residentMemory(t, a.Process.Pid)
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
	t.Logf("%d kB", residentMemory(t, a.Process.Pid))
}
