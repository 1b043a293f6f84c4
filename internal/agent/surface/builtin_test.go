package surface_test

import (
	"testing"

	"callgate/internal/agent/surface"
)

// TestIsCodingAgent has the names by which real clients introduce themselves.
func TestIsCodingAgent(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"claude-code", "Claude Code", "codex-mcp-client", "cursor-vscode", "Cursor", "Visual Studio Code", "vscode",
		"github-copilot-developer", "opencode", "gemini-cli-mcp-client", "qwen-cli-mcp-client", "Zed", "windsurf-client",
		"Cline", "Roo Code", "goose", "crush",
	} {
		if !surface.IsCodingAgent(name) {
			t.Errorf("%s is a coding agent", name)
		}
	}
	for _, name := range []string{"", "mcp client", "claude-ai", "mcp-inspector", "langchain", "n8n", "e2e"} {
		if surface.IsCodingAgent(name) {
			t.Errorf("%q is no coding agent", name)
		}
	}
}

// TestBuiltin holds what each choice gives whom.
func TestBuiltin(t *testing.T) {
	t.Parallel()
	known := []string{"shell", "database"}
	for _, c := range []struct {
		text                   string
		codingShell, codingDB  bool
		unknownShell, unknonDB bool
	}{
		{"", false, false, true, true},
		{"auto", false, false, true, true},
		{"all", true, true, true, true},
		{"none", false, false, false, false},
		{"database", false, true, false, true},
		{" database , shell ", true, true, true, true},
	} {
		b, err := surface.ParseBuiltin(c.text, known)
		if err != nil {
			t.Fatal(err)
		}
		got := [4]bool{
			b.Gives("shell", "claude-code"), b.Gives("database", "claude-code"),
			b.Gives("shell", "someone"), b.Gives("database", "someone"),
		}
		if want := [4]bool{c.codingShell, c.codingDB, c.unknownShell, c.unknonDB}; got != want {
			t.Errorf("%q: %v, want %v", c.text, got, want)
		}
	}
	for _, bad := range []string{"shel", "shell,", "none,shell"} {
		if _, err := surface.ParseBuiltin(bad, known); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}
