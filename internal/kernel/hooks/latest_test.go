package hooks_test

import (
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

// A hook that refuses counts in an open session as soon as the file has it, and those that the session has already are
// run once.
func TestNewGuardCountsAtOnce(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	const seen = `id: seen
    on: tool_start
    on_error: block
    condition: {type: expression, expr: tool.params.path startswith "no"}
    action: {type: log, message: "seen {{tool.params.path}}"}`
	const closed = `
  - id: closed
    on: tool_start
    condition: {type: tool_name, match: "filesystem.write"}
    action: {type: block, reason: closed for today}`
	before := hooked(seen)
	p := in(t, k, before)
	note := func(name, args string, want tool.Status) string {
		t.Helper()
		r := p.call(t, name, args)
		if r.Status != want {
			t.Errorf("%s: %s %q, want %s", name, r.Status, r.Summary, want)
		}
		return p.notes(t, r.Call)
	}
	if notes := note("filesystem.write", `{"path":"notes.txt","content":"x"}`, tool.Success); strings.Count(notes, "seen notes.txt") != 1 {
		t.Errorf("before: %q", notes)
	}
	write(t, filepath.Join(p.folder, "callgate.yaml"), "# another\n"+hooked(seen + closed)["callgate.yaml"])
	note("filesystem.write", `{"path":"notes.txt","content":"y"}`, tool.Refused)
	if notes := note("filesystem.read", `{"path":"notes.txt"}`, tool.Success); strings.Count(notes, "seen notes.txt") != 1 {
		t.Errorf("what the session has is run again: %q", notes)
	}
	write(t, filepath.Join(p.folder, "callgate.yaml"), before["callgate.yaml"])
	note("filesystem.write", `{"path":"notes.txt","content":"z"}`, tool.Success)
}
