package mcpserver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel"
)

// A client is told which app files are in force.
func TestInstructionsNameTheFiles(t *testing.T) {
	t.Parallel()
	own := filepath.Join(t.TempDir(), "callgate.yaml")
	s := newFixture(t, kernel.Config{UserFile: own})
	folder, err := filepath.EvalSymlinks(s.opt.Session.Workspace)
	ok(t, err)
	for _, file := range []string{own, filepath.Join(folder, "callgate.yaml")} {
		ok(t, os.WriteFile(file, []byte("tools: {modules: {filesystem: {}}}\n"), 0o600))
	}
	c := s.connect(t, way{}, "tester", nil)
	if got := c.InitializeResult().Instructions; !strings.Contains(got, "The rules are those of ./callgate.yaml, "+own+".") {
		t.Errorf("instructions: %s", got)
	}
}
