package process_test

import (
	"os"
	"strings"
	"testing"

	"callgate/internal/module/browser/process"
	"callgate/internal/sandbox/sandboxtest"
	"callgate/tool"
)

// Where neither Chromium nor Callgate has a sandbox for root, the browser does not start
// before a human accepted it without one; and then it does.
func TestRootIsAskedWhereThereIsNoSandbox(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("another user's browser has Chromium's own sandbox")
	}
	if !sandboxtest.Inside(t, sandboxtest.NoNamespaces) {
		return
	}
	o := process.Options{Executable: program(t, "cat <&3 >/dev/null"), Temp: t.TempDir()}
	for name, start := range map[string]func() error{
		"Start": func() error { _, err := process.Start(o); return err },
		"Try":   func() error { return process.Try(t.Context(), o) },
	} {
		if err := start(); tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "unsandboxed to true") {
			t.Errorf("%s: %v", name, err)
		}
	}
	o.Unsandboxed = true
	p, err := process.Start(o)
	if err != nil || p.Sandboxed {
		t.Fatalf("accepted: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// A window is outside of Callgate's sandbox: root is asked for it too.
func TestRootIsAskedForAWindow(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("another user's browser has Chromium's own sandbox")
	}
	_, err := process.Start(process.Options{Executable: program(t, "exit 0"), Temp: t.TempDir(), Visible: true})
	if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "headless to true") {
		t.Error(err)
	}
}
