package hunks_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/module/filesystem/hunks"
	"callgate/internal/module/filesystem/patchfile"
)

const file = `package a

func A() {
	x := 1
	return x
}

func B() {
	x := 1
	return x
}
`

// inB replaces a text in the function B.
func inB(old, new string) string {
	a, b, _ := strings.Cut(file, "func B")
	return a + "func B" + strings.Replace(b, old, new, 1)
}

func TestApply(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, patch string // without *** Begin Patch and *** Update File
		old         string
		want        string // "": it is refused
		words       []string
	}{
		{"one line", "@@\n package a\n \n-func A() {\n+func C() {\n", file, strings.Replace(file, "A()", "C()", 1), nil},
		{"without @@", " package a\n+\n+import \"fmt\"\n", file, strings.Replace(file, "a\n", "a\n\nimport \"fmt\"\n", 1), nil},
		{"below a line", "@@ func B() {\n-\tx := 1\n+\tx := 2\n", file, inB("1", "2"), nil},
		{"two @@ lines", "@@ package a\n@@ func B() {\n \tx := 1\n-\treturn x\n+\treturn 0\n", file,
			inB("return x", "return 0"), nil},
		{"white space differs", "@@ func B() {\n-    x := 1  \n+\tx := 2\n", file,
			inB("1", "2"), nil},
		{"two hunks", "@@ func A() {\n-\tx := 1\n+\tx := 2\n@@ func B() {\n-\tx := 1\n+\tx := 3\n", file,
			strings.Replace(strings.Replace(file, "1", "2", 1), "1", "3", 1), nil},
		{"at the end", "@@\n+// end\n", file, file + "// end\n", nil},
		{"end of file", "@@\n-\treturn x\n-}\n+}\n*** End of File\n", file, file[:len(file)-12] + "}\n", nil},
		{"a blank line without its space", "@@\n package a\n\n-func A() {\n+func C() {\n", file,
			strings.Replace(file, "A()", "C()", 1), nil},
		{"CRLF", "@@\n a\n-b\n+c\n+d\n", "a\r\nb\r\n", "a\r\nc\r\nd\r\n", nil},
		{"CRLF without a newline at its end", "@@\n b\n+c\n", "a\r\nb", "a\r\nb\r\nc", nil},
		{"no newline at the end", "@@\n-b\n+c\n", "a\nb", "a\nc", nil},
		{"an empty file", "@@\n+a\n", "", "a\n", nil},
		{"several places", "@@\n-\tx := 1\n+\tx := 2\n", file, "", []string{"hunk 1 of 1", "2 places", "line 4, 9"}},
		{"a line that is not there", "@@ func D() {\n-\tx := 1\n+\tx := 2\n", file, "", []string{`"func D() {"`}},
		{"a line that differs", "@@\n func A() {\n \tx := 1\n-\treturn y\n+\treturn 2\n", file, "",
			[]string{`"a.go": hunk 1 of 1 (line 3 of the patch)`, `line 5 should be "\treturn y" and is "\treturn x"`, "begins at line 3", "nothing was changed"}},
		{"nothing of it", "@@\n-nowhere\n", file, "", []string{"none of its lines", `"nowhere"`}},
		{"past the end", "@@\n \treturn x\n }\n-more\n", "\treturn x\n}\n", "", []string{"ends after line 2", `"more"`}},
		{"the second in the wrong order", "@@\n-func B() {\n+func C() {\n@@\n-package a\n+package b\n", file, "", []string{"hunk 2 of 2"}},
	} {
		p, err := patchfile.Parse("*** Begin Patch\n*** Update File: a.go\n" + test.patch + "*** End Patch\n")
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		got, failure := hunks.Apply(&p.Files[0], []byte(test.old))
		switch {
		case test.words == nil && (failure != nil || string(got) != test.want):
			t.Errorf("%s: %q, %v\nwant %q", test.name, got, failure, test.want)
		case test.words != nil && failure == nil:
			t.Errorf("%s was not refused: %q", test.name, got)
		}
		for _, word := range test.words {
			if failure != nil && !strings.Contains(failure.Error(), word) {
				t.Errorf("%s: %q does not say %q", test.name, failure, word)
			}
		}
	}
}

// TestAsGitDiff: what git writes as the difference of two texts makes the one of the
// other.
func TestAsGitDiff(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed: apt-get install git")
	}
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(7, 8))
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	for range rounds {
		old, new := randomText(rng, nil), ""
		new = randomText(rng, strings.SplitAfter(old, "\n"))
		if old == new || old == "" || new == "" {
			continue
		}
		ok(t, os.WriteFile(filepath.Join(dir, "old"), []byte(old), 0o644))
		ok(t, os.WriteFile(filepath.Join(dir, "new"), []byte(new), 0o644))
		cmd := exec.Command("git", "diff", "--no-index", "--no-color", "old", "new")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		diff, err := cmd.Output()
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
			t.Fatal(err)
		}
		p, err := patchfile.Parse(string(diff))
		if err != nil {
			t.Fatalf("%v\n%s", err, diff)
		}
		got, failure := hunks.Apply(&p.Files[0], []byte(old))
		if failure != nil || string(got) != new {
			t.Fatalf("%v: %q\nwant %q\n%s", failure, got, new, diff)
		}
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// randomText makes a text, or changes one. Its lines repeat, and look like those of a
// diff.
func randomText(rng *rand.Rand, lines []string) string {
	words := []string{"a", "b", "c", "", "-- x", "++ y", "@@ z", "--- q", "\\ n", "*** End Patch", "\tindent", " "}
	var out []string
	if lines == nil {
		lines = make([]string, rng.IntN(40))
		for i := range lines {
			lines[i] = words[rng.IntN(len(words))] + "\n"
		}
	}
	for _, line := range lines {
		switch rng.IntN(12) {
		case 0:
		case 1:
			out = append(out, words[rng.IntN(len(words))]+"\n", line)
		default:
			out = append(out, line)
		}
	}
	text := strings.Join(out, "")
	if rng.IntN(3) == 0 {
		text = strings.TrimSuffix(text, "\n")
	}
	return text
}
