package cli_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/cli"
	"callgate/internal/cli/command"
	"callgate/internal/kernel/modules"
)

const manualBegins = `# Modules and tools

<!-- Made from the code: go test ./internal/cli -run TestManual -update -->

Every module that comes with the program: what an app file may set under ` + "`tools.modules.NAME`" + `
([apps.md](../guides/apps.md)), and its tools. A policy is the one without ` + "`tools.capabilities`" + `:
` + "`allow`" + ` runs, ` + "`approve`" + ` asks a human first ([approvals.md](../guides/approvals.md)). What a call claims
is locked while it runs ([calls.md](../guides/calls.md)). ` + "`callgate tools docs`" + ` writes the same of the tools
that are in force where you are, with those of MCP servers and APIs.

`

// TestManual holds docs/reference/tool-reference.md against the modules as the code has them.
func TestManual(t *testing.T) {
	t.Parallel()
	folder, app := t.TempDir(), "tools:\n  modules:\n"
	for _, name := range modules.Names() {
		app += "    " + name + ": {}\n"
	}
	if err := os.WriteFile(filepath.Join(folder, "callgate.yaml"), []byte(app), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	state := filepath.Join(t.TempDir(), "s")
	if code := cli.Run(context.WithoutCancel(t.Context()), command.Host{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &said,
		Getenv: func(name string) string { return map[string]string{"CALLGATE_STATE": state}[name] },
	}, []string{"-C", folder, "tools", "docs"}); code != 0 {
		t.Fatalf("it ends with %d and says %s", code, said.String())
	}
	file, now := filepath.Join("..", "..", "docs", "reference", "tool-reference.md"), manualBegins+out.String()
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(file, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(page), now); diff != "" {
		t.Errorf("%s is out of date; run this test with -update (-page +code):\n%s", file, diff)
	}
}
