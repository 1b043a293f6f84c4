// Package kerneltest opens kernels, sessions and conversations for tests, and
// plays what stands around a kernel: a model's provider, MCP servers, and the
// human who answers.
package kerneltest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/session"
	_ "callgate/internal/sandbox/selfstart" // a test that opens a kernel may run commands in its sandbox
	"callgate/tool"
)

// OK ends a test that met an error.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Write writes a file, and makes its folder.
func Write(t testing.TB, path, text string) {
	t.Helper()
	OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
	OK(t, os.WriteFile(path, []byte(text), 0o600))
}

// StateDir makes a state directory, in memory where the system has a folder for
// that: no test here proves what a disk keeps.
func StateDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "callgate-test-")
	if err != nil {
		dir = t.TempDir()
		PrepareState(t, dir)
		return dir
	}
	PrepareState(t, dir)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Open opens a kernel with the built-in modules and some tools. It is closed at
// the end of the test at the latest.
func Open(t testing.TB, state string, tools ...*tool.Tool) *kernel.Kernel {
	t.Helper()
	return OpenWith(t, kernel.Config{State: state, Tools: tools})
}

// OpenWith opens a kernel. It is closed at the end of the test at the latest.
func OpenWith(t testing.TB, c kernel.Config) *kernel.Kernel {
	t.Helper()
	if c.UserFile == "" { // not that of whoever runs the test
		c.UserFile = filepath.Join(t.TempDir(), "none", "callgate.yaml")
	}
	if c.State != "" && c.Storage == "" {
		PrepareState(t, c.State)
		prepareSQLite(t, c.State)
	}
	if strings.HasPrefix(c.Storage, "postgres://") {
		PlaceKey(t, c.State)
	}
	k, err := kernel.Open(t.Context(), c)
	OK(t, err)
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

// OpenSession opens a session in a folder.
func OpenSession(t testing.TB, k *kernel.Kernel, workspace string) *session.Session {
	t.Helper()
	s, err := k.OpenSession(t.Context(), session.Spec{Workspace: workspace})
	OK(t, err)
	return s
}

// Call calls a tool in a session, and does not wait for a human.
func Call(t testing.TB, s *session.Session, name, args string) *tool.Result {
	t.Helper()
	return s.Call(t.Context(), session.CallRequest{Name: name, Args: []byte(args), NoWait: true})
}

// Human is a person outside of the kernel, with the human's key.
func Human(t testing.TB, k *kernel.Kernel) approval.Credential {
	t.Helper()
	key, err := k.State().HumanKey()
	OK(t, err)
	return approval.Credential{Key: key, By: "ada", PID: approval.Unknown}
}

// AcceptApp gives a human's yes to what the app of a session does by itself.
func AcceptApp(t testing.TB, k *kernel.Kernel, s *session.Session) {
	t.Helper()
	if shown := k.PendingConsent(s); shown != "" {
		OK(t, k.AcceptApp(Human(t, k), s, shown, ""))
	}
}

// OpenAccepted opens a session in a folder whose app a human has accepted.
func OpenAccepted(t testing.TB, k *kernel.Kernel, workspace string) *session.Session {
	t.Helper()
	s := OpenSession(t, k, workspace)
	AcceptApp(t, k, s)
	s.Close()
	return OpenSession(t, k, workspace)
}

// ToolNames lists what a session may call, as "name=verdict".
func ToolNames(t testing.TB, s *session.Session) string {
	t.Helper()
	tools, err := s.View().List(t.Context())
	OK(t, err)
	var all []string
	for _, v := range tools {
		all = append(all, v.ID.Dotted()+"="+string(v.Decision.Verdict))
	}
	return strings.Join(all, " ")
}

// Settle answers an approval as a human outside of the kernel.
func Settle(t testing.TB, k *kernel.Kernel, id string, a approval.Answer) {
	t.Helper()
	OK(t, k.Approvals.Answer(t.Context(), Human(t, k), id, a))
}

// Eventually waits until something holds, for what a background task of the kernel
// changes and nothing announces.
func Eventually(t testing.TB, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it does not come to hold")
		}
	}
}
