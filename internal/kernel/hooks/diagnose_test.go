package hooks_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
)

// A hook tells what a language server finds wrong in a file that was written.
func TestDiagnoseAfterAnEdit(t *testing.T) {
	t.Parallel()
	home, _ := os.UserHomeDir()
	if _, err := exec.LookPath("gopls"); err != nil {
		if _, err := exec.LookPath(filepath.Join(home, "go", "bin", "gopls")); err != nil {
			t.Skip("gopls is not installed: scripts/deps.sh")
		}
	}
	p := in(t, kerneltest.Open(t, kerneltest.StateDir(t)), map[string]string{"callgate.yaml": `
tools:
  modules: {filesystem: {}, lsp: {}}
runtime:
  hooks:
  - id: look
    on: tool_end
    condition:
      type: all_of
      conditions:
      - {type: tool_name, match: [Write, Edit]}
      - {type: expression, expr: tool.path endswith ".go"}
    action: {type: lsp_diagnose}
`, "go.mod": "module example.com/a\n\ngo 1.24\n"})
	r := p.call(t, "filesystem.write", `{"path":"a.go","content":"package a\n\nvar A int = \"text\"\n"}`)
	if said := told(r); !strings.Contains(said, "hook look: What follows is data") ||
		!strings.Contains(said, "a.go:3:13: error: cannot use") {
		t.Errorf("%q", said)
	}
	if said := told(p.call(t, "filesystem.write", `{"path":"a.txt","content":"x"}`)); strings.Contains(said, "hook look") {
		t.Errorf("%q", said)
	}
}
