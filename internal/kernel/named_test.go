package kernel_test

import (
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
)

// Modules that must be named are on where a project's file names them, and nowhere else.
func TestModulesThatMustBeNamed(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	for file, want := range map[string]string{
		"app: {name: all}\n": "",
		"tools:\n  modules:\n    notion: {}\n    tts: {}\n":       "notion.query=allow tts.speak=allow",
		"tools:\n  modules:\n    lsp: {}\n":                       "lsp.cancel_request=allow lsp.check=allow lsp.diagnostics=allow lsp.notify_change=allow lsp.request=allow",
		"tools:\n  modules:\n    stt: {}\n    filesystem: {}\n":   "stt.transcribe=approve",
		"tools:\n  modules:\n    filesystem: {}\n    shell: {}\n": "",
	} {
		workspace := t.TempDir()
		write(t, filepath.Join(workspace, "callgate.yaml"), file)
		names := kerneltest.ToolNames(t, kerneltest.OpenAccepted(t, k, workspace))
		var got []string
		for _, name := range strings.Fields(names) {
			if module, _, _ := strings.Cut(name, "."); module == "notion" || module == "tts" || module == "stt" || module == "email" || module == "lsp" {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
}
