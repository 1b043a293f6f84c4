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

// TestNesting tests that a line nested too deeply is in doubt as a whole: it is never allowed, a rule
// that denies cannot rule out its command, and its reader learns that a part was not read.
func TestNesting(t *testing.T) {
	t.Parallel()
	allows := allowedBy(patterns(t))
	deny, err := shellcmd.CompilePattern("rm *")
	if err != nil {
		t.Fatal(err)
	}
	quote := func(line string) string { return "'" + strings.ReplaceAll(line, "'", `'\''`) + "'" }
	for _, test := range []struct {
		name string
		wrap func(line string) string
		most int // how often wrap may be applied
	}{
		{"wrapper", func(line string) string { return "nice " + line }, 6},
		{"eval", func(line string) string { return "eval " + quote(line) }, 3},
		{"sh -c", func(line string) string { return "sh -c " + quote(line) }, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			line := "git log"
			for n := range test.most + 3 {
				parsed := shellcmd.Parse(line)
				_, sure := parsed.Touches(deny)
				read := shellcmd.Use(line, nil).Unread == ""
				if want := n <= test.most; parsed.Allowed(allows) != want || sure != want || read != want {
					t.Errorf("%d levels: allowed %v, sure %v, read %v; want %v for all", n, parsed.Allowed(allows), sure, read, want)
				}
				line = test.wrap(line)
			}
		})
	}
}
