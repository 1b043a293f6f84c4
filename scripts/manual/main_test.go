package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"callgate/internal/cli"
	"callgate/internal/cli/command"
)

// Every command that a person is shown has a page, twice the same, which groff reads
// without a complaint.
func TestPages(t *testing.T) {
	t.Parallel()
	one, two := t.TempDir(), t.TempDir()
	for _, folder := range []string{one, two} {
		if err := write(folder, "1700000000"); err != nil {
			t.Fatal(err)
		}
	}
	pages, err := filepath.Glob(filepath.Join(one, "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		a, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(two, filepath.Base(page)))
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s is not twice the same: %v", page, err)
		}
		if !bytes.Contains(a, []byte(`.TH "CALLGATE`)) || !bytes.Contains(a, []byte("Nov 2023")) {
			t.Errorf("%s begins with %.120q", page, a)
		}
	}
	var missing []string
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		if _, err := os.Stat(filepath.Join(one, name)); err != nil {
			missing = append(missing, name)
		}
		for _, child := range c.Commands() {
			if child.IsAvailableCommand() && !child.IsAdditionalHelpTopicCommand() {
				walk(child)
			}
		}
	}
	walk(cli.Root(os.Getenv))
	if len(missing) > 0 || len(pages) < 100 {
		t.Errorf("%d pages; there is none for %q", len(pages), missing)
	}
	if groff, err := exec.LookPath("groff"); err == nil {
		cmd := exec.Command(groff, append([]string{"-k", "-man", "-Tutf8", "-ww", "-z"}, pages...)...)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("groff says %v: %.2000s", err, out)
		}
	}
}

// The completions are what callgate completion prints.
func TestCompletions(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := complete(folder); err != nil {
		t.Fatal(err)
	}
	for shell, name := range map[string]string{"bash": "callgate", "zsh": "_callgate", "fish": "callgate.fish"} {
		var out bytes.Buffer
		code := cli.Run(t.Context(), command.Host{
			Stdin: strings.NewReader(""), Stdout: &out, Stderr: os.Stderr, Getenv: func(string) string { return "" },
		}, []string{"completion", shell})
		if file, err := os.ReadFile(filepath.Join(folder, name)); err != nil || code != 0 || !bytes.Equal(file, out.Bytes()) {
			t.Errorf("%s: %v", shell, err)
		}
	}
}

func TestWrongDate(t *testing.T) {
	t.Parallel()
	if err := write(t.TempDir(), "yesterday"); err == nil {
		t.Error("a date that is none is taken")
	}
}
