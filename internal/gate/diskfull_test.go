//go:build linux

package gate_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"callgate/internal/gate"
	"callgate/internal/journal"
	"callgate/tool"
)

// A disk that fills up under the kernel, for real: a small file system of its
// own. The caller is told, nothing that was acknowledged is lost, and the door
// works again when space returns.
func TestDiskFullDuringCalls(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	if err := unix.Mount("tmpfs", state, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(state, unix.MNT_DETACH) })
	h := openIn(t, state, gate.Limits{})
	ran := 0
	fill := func() { fillDisk(t, filepath.Join(state, "filler")) }
	h.add(t, "t:write@1.0.0", anyObject, writes, func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
		ran++
		return tool.OK("written", nil)
	})
	h.add(t, "t:fill@1.0.0", anyObject, writes, func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
		fill() // the disk is full by the time its end is to be recorded
		return tool.OK("filled", nil)
	})
	payload := `{"x":"` + strings.Repeat("x", 4000) + `"}`
	acknowledged := map[string]bool{}
	say := func() *tool.Result {
		r := h.Call(t.Context(), h.caller(), gate.CallRequest{Name: "t.write", Args: json.RawMessage(payload)})
		if r.Status == tool.Success {
			acknowledged[r.Call] = true
		}
		return r
	}
	if r := say(); r.Status != tool.Success {
		t.Fatalf("with space left: %+v", r)
	}

	filled := h.call(t, "t.fill", `{}`)
	var refused *tool.Result
	for range 200 { // until what the store had in hand is used up
		if r := say(); r.Status != tool.Success {
			refused = r
			break
		}
	}
	if refused == nil {
		t.Fatal("the disk is full and every call still succeeds")
	}
	if refused.Error.Kind != tool.Unavailable || !strings.Contains(strings.ToLower(refused.Summary), "disk") {
		t.Errorf("told %s: %q", refused.Error.Kind, refused.Summary)
	}
	before := ran
	for range 3 {
		if r := say(); r.Status == tool.Success {
			t.Errorf("a call succeeded on a full disk")
		}
	}
	if ran != before {
		t.Error("a handler ran whose begun record could not be written")
	}

	ok(t, os.Remove(filepath.Join(state, "filler")))
	if r := say(); r.Status != tool.Success {
		t.Fatalf("space is back: %+v", r)
	}
	ok(t, h.Journal.Flush(t.Context()))
	ended := map[string]bool{}
	records, err := h.Journal.Read(t.Context(), journal.Query{Kind: journal.Ended})
	ok(t, err)
	for _, r := range records {
		ended[r.Call] = true
	}
	for call := range acknowledged {
		if !ended[call] {
			t.Errorf("call %s was acknowledged and is not on record", call)
		}
	}
	if !ended[filled.Call] {
		t.Errorf("the call during which the disk filled (%s: %q) was never ended", filled.Status, filled.Summary)
	}
	report, err := h.Journal.Verify(t.Context())
	ok(t, err)
	if !report.OK() {
		t.Errorf("the journal does not verify: %+v", report)
	}
}

// fillDisk writes until nothing more fits.
func fillDisk(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	ok(t, err)
	defer f.Close()
	for size := 64 << 10; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
}
