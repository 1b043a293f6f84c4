package shellcmd_test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"callgate/internal/gate/shellcmd"
)

// patterns are those of testdata/patterns.txt.
func patterns(t testing.TB) (list []*shellcmd.Pattern) {
	t.Helper()
	text, err := os.ReadFile("testdata/patterns.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		p, err := shellcmd.CompilePattern(strings.TrimSuffix(line, "\n"))
		if err != nil {
			t.Fatalf("%s: write %v", line, err)
		}
		list = append(list, p)
	}
	return list
}

func allowedBy(list []*shellcmd.Pattern) func(*shellcmd.Command) bool {
	return func(c *shellcmd.Command) bool {
		return slices.ContainsFunc(list, func(p *shellcmd.Pattern) bool { return p.Allows(c) })
	}
}

// tableLines reads testdata/lines.txt: runs or asks, and a command line.
func tableLines(t testing.TB) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("testdata/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := make(map[string]bool)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		verdict, quoted, _ := strings.Cut(line, " ")
		command, err := strconv.Unquote(quoted)
		if err != nil || verdict != "runs" && verdict != "asks" {
			t.Fatalf("%s: %v", line, err)
		}
		lines[command] = verdict == "runs"
	}
	return lines
}

// No line runs unasked that should not, under a set of generous patterns.
func TestTable(t *testing.T) {
	t.Parallel()
	allows := allowedBy(patterns(t))
	lines := tableLines(t)
	if len(lines) < 150 {
		t.Fatalf("only %d lines", len(lines))
	}
	for command, want := range lines {
		line := shellcmd.Parse(command)
		if got := line.Allowed(allows); got != want {
			t.Errorf("%q: allowed %v, want %v (%s; refused %q)", command, got, want, line.Doubt, line.FirstRefused(allows))
		}
	}
}
