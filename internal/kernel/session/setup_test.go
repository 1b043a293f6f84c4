package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

// TestSetupStepsRunOnceAccepted opens a session whose app has setup steps: they run as the kernel
// does, past what is hidden from models, and a step that fails is a warning.
func TestSetupStepsRunOnceAccepted(t *testing.T) {
	t.Parallel()
	const secret = `a "quoted" secret, with \ in it`
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	ok(t, k.Secrets.Set(kerneltest.Human(t, k), "SETUP_TEST_SECRET", []byte(secret)))
	folder := t.TempDir()
	write(t, filepath.Join(folder, "callgate.yaml"), `
tools:
  modules:
    filesystem:
      constraints: {allowed_actions: [read]}
      setup:
      - {action: write, params: {path: "{{workdir}}/made.txt", content: "{{greeting}} from setup"}}
      - {action: write, params: {path: secret.txt, content: "{{secret.SETUP_TEST_SECRET}}"}}
      - {action: read, params: {path: none.txt}}
  capabilities: {default_policy: approve}
dev: {variables: {greeting: hello}}
`)
	stranger := kerneltest.OpenSession(t, k, folder)
	if len(stranger.Warnings()) != 1 || !strings.Contains(stranger.Warnings()[0], "filesystem.write") ||
		!strings.Contains(k.PendingConsent(stranger), "{{secret.SETUP_TEST_SECRET}}") {
		t.Errorf("before a human accepted it: %v", stranger.Warnings())
	}
	if _, err := os.Stat(filepath.Join(folder, "made.txt")); err == nil {
		t.Fatal("a stranger's steps ran")
	}
	if err := k.AcceptApp(kerneltest.Human(t, k), stranger, "something else", ""); tool.KindOf(err) != tool.Conflict {
		t.Errorf("accepting what was not shown: %v", err)
	}
	kerneltest.AcceptApp(t, k, stranger)
	s := kerneltest.OpenSession(t, k, folder)
	text, err := os.ReadFile(filepath.Join(folder, "made.txt"))
	if err != nil || string(text) != "hello from setup" {
		t.Errorf("the step wrote %q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(folder, "secret.txt")); err != nil || string(text) != secret {
		t.Errorf("the secret was written as %q, %v", text, err)
	}
	if len(s.Warnings()) != 1 || !strings.Contains(s.Warnings()[0], "filesystem.read failed") {
		t.Errorf("warnings: %v", s.Warnings())
	}
}
