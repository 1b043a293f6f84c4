package filesystem_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"callgate/tool"
)

// TestLargeWritesStream: beside the arguments and their decoding a write takes no copy
// of its content.
func TestLargeWritesStream(t *testing.T) {
	g := newFixture(t)
	content := strings.Repeat("a line of a large file\n", 1<<20)
	raw, err := json.Marshal(args{"path": "big.txt", "content": content})
	if err != nil {
		t.Fatal(err)
	}
	write := g.tools["write"]
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = write.Handler.Execute(t.Context(), tool.Call{Args: raw}, g.grant)
	runtime.ReadMemStats(&after)
	if err != nil || g.get("big.txt") != content {
		t.Fatalf("it was not written: %v", err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > uint64(2*len(raw)+1<<20) {
		t.Errorf("%d bytes were allocated to write %d", took, len(raw))
	}
}
