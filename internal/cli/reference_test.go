package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"callgate/internal/cli/command"
)

var update = flag.Bool("update", false, "write the command reference in docs/CLI.md anew")

// The lines between which docs/CLI.md has the reference.
const (
	referenceBegin = "<!-- Made from the code: go test ./internal/cli -run TestReference -update -->\n"
	referenceEnd   = "<!-- End of what is made from the code. -->\n"
)

// TestReference holds docs/CLI.md against the commands as the code has them.
func TestReference(t *testing.T) {
	t.Parallel()
	file := filepath.Join("..", "..", "docs", "CLI.md")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), referenceBegin)
	old, after, ok2 := strings.Cut(rest, referenceEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the reference", file)
	}
	now := reference(newRoot(command.New(command.Host{Getenv: os.Getenv})))
	if *update {
		if err := os.WriteFile(file, []byte(before+referenceBegin+now+referenceEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(old, now); diff != "" {
		t.Errorf("%s is out of date; run this test with -update (-page +code):\n%s", file, diff)
	}
}

// reference writes every command with its flags as Markdown.
func reference(root *cobra.Command) string {
	root.InitDefaultCompletionCmd()
	var b strings.Builder
	fmt.Fprintf(&b, "\n### Flags of every command\n\n%s", flagTable(root.PersistentFlags()))
	for _, c := range root.Commands() {
		if c.Hidden || !c.IsAvailableCommand() {
			continue
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s.\n", c.Name(), strings.TrimSuffix(c.Short, "."))
		if len(c.Aliases) > 0 {
			fmt.Fprintf(&b, "Also called `%s`.\n", strings.Join(c.Aliases, "`, `"))
		}
		b.WriteByte('\n')
		leaves(&b, c)
	}
	return b.String() + "\n"
}

// leaves writes the commands below a command that do something, and the command
// itself where it has flags.
func leaves(b *strings.Builder, c *cobra.Command) {
	own := flagTable(c.LocalNonPersistentFlags())
	if !c.HasSubCommands() || own != "" {
		use := strings.TrimSuffix(c.UseLine(), " [flags]")
		fmt.Fprintf(b, "    %s\n", use)
		if c.HasParent() && c.Parent().HasParent() {
			fmt.Fprintf(b, "        %s\n", c.Short)
		}
		b.WriteString(own)
	}
	for _, child := range c.Commands() {
		if child.IsAvailableCommand() {
			leaves(b, child)
		}
	}
}

// flagTable writes the flags that are not hidden, indented as code.
func flagTable(set *pflag.FlagSet) string {
	shown := pflag.NewFlagSet("", pflag.ContinueOnError)
	shown.SortFlags = false
	set.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			shown.AddFlag(f)
		}
	})
	var b strings.Builder
	for line := range strings.Lines(shown.FlagUsagesWrapped(100)) {
		b.WriteString("        " + line)
	}
	return b.String()
}
