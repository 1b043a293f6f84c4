package ignorefile_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/module/filesystem/ignorefile"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		file, path string // a path that ends in a slash is a directory
		want       ignorefile.Verdict
	}{
		{"node_modules", "node_modules/", ignorefile.Ignored},
		{"node_modules", "a/node_modules/", ignorefile.Ignored},
		{"node_modules", "node_modules2", ignorefile.Silent},
		{"build/", "build", ignorefile.Silent},
		{"build/", "a/build/", ignorefile.Ignored},
		{"/build", "a/build", ignorefile.Silent},
		{"/build", "build", ignorefile.Ignored},
		{"a/b", "a/b", ignorefile.Ignored},
		{"a/b", "x/a/b", ignorefile.Silent},
		{"*.log", "deep/er/x.log", ignorefile.Ignored},
		{"*.log\n!keep.log", "keep.log", ignorefile.Kept},
		{"!keep.log\n*.log", "keep.log", ignorefile.Ignored},
		{"**/foo", "foo", ignorefile.Ignored},
		{"**/foo", "a/b/foo", ignorefile.Ignored},
		{"foo/**", "foo/", ignorefile.Silent},
		{"foo/**", "foo/a/b", ignorefile.Ignored},
		{"a/**/b", "a/b", ignorefile.Ignored},
		{"a/**/b", "a/x/y/b", ignorefile.Ignored},
		{"a/*/b", "a/x/y/b", ignorefile.Silent},
		{"a**b/c", "axxb/c", ignorefile.Ignored},
		{"*", "anything", ignorefile.Ignored},
		{"/*\n!/src", "src/", ignorefile.Kept},
		{"/*\n!/src", "src/a", ignorefile.Silent},
		{"# a comment", "# a comment", ignorefile.Silent},
		{`\#x`, "#x", ignorefile.Ignored},
		{`\!x`, "!x", ignorefile.Ignored},
		{"x  ", "x", ignorefile.Ignored},
		{`x\ `, "x ", ignorefile.Ignored},
		{" x", "x", ignorefile.Silent},
		{"x\r\ny\r\n", "x", ignorefile.Ignored},
		{"\xef\xbb\xbfx", "x", ignorefile.Ignored},
		{"[a-c].txt", "b.txt", ignorefile.Ignored},
		{"[!a-c].txt", "b.txt", ignorefile.Silent},
		{"[[:digit:]]x", "7x", ignorefile.Ignored},
		{"[]-]", "]", ignorefile.Ignored},
		{"x[a/]y", "xay", ignorefile.Ignored},
		{"[a", "[a", ignorefile.Silent},
		{`x\`, `x\`, ignorefile.Silent},
		{"{a,b}", "a", ignorefile.Silent},
		{"{a,b}", "{a,b}", ignorefile.Ignored},
		{"/", "a", ignorefile.Silent},
		{"", "a", ignorefile.Silent},
	} {
		path, dir := strings.CutSuffix(test.path, "/")
		if got := ignorefile.Parse([]byte(test.file)).Match(path, dir); got != test.want {
			t.Errorf("%q of %q: %v, want %v", test.file, test.path, got, test.want)
		}
	}
}

// randomLine makes a line of an ignore file out of pieces that meet the names in a
// tree often. Two stars stand beside slashes or inside names, but not after a text
// without wildcards: there Git does not do what its manual says.
func randomLine(rng *rand.Rand) string {
	pick := func(from ...string) string { return from[rng.IntN(len(from))] }
	var b strings.Builder
	if rng.IntN(4) == 0 {
		b.WriteByte('!')
	}
	if rng.IntN(4) == 0 {
		b.WriteByte('/')
	}
	for i := range 1 + rng.IntN(3) {
		if i > 0 {
			b.WriteString(pick("/", "/", "/", "/", `\/`, "//"))
		}
		if rng.IntN(5) == 0 {
			b.WriteString(pick("**", "**", "***"))
			continue
		}
		for range 1 + rng.IntN(3) {
			b.WriteString(pick("a", "b", "ab", "c", "*", "?", "[ab]", "[!a]", "[a-b]", `\a`, ".", "[[:alpha:]]", "[]a]",
				`[\]b]`, "[a/]", "x", " "))
		}
	}
	b.WriteString(pick("", "", "", "/", " ", `\ `, "\r"))
	return b.String()
}

// TestAsGit asks git which paths a file ignores.
func TestAsGit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed: apt-get install git")
	}
	dir := t.TempDir()
	var paths []string
	names := []string{"a", "b", "ab", "ba", ".a", "a b", "x", "c.x"}
	var fill func(at string, depth int)
	fill = func(at string, depth int) {
		for i, name := range names {
			path := filepath.Join(at, name)
			if depth < 3 && i%2 == depth%2 {
				paths = append(paths, path+"/")
				fill(path, depth+1)
				continue
			}
			paths = append(paths, path)
		}
	}
	fill("", 0)
	for _, path := range paths {
		full := filepath.Join(dir, path)
		if strings.HasSuffix(path, "/") {
			check(t, os.MkdirAll(full, 0o755))
			continue
		}
		check(t, os.MkdirAll(filepath.Dir(full), 0o755))
		check(t, os.WriteFile(full, nil, 0o644))
	}
	git(t, dir, "", "init", "-q")
	rng := rand.New(rand.NewPCG(1, 2))
	rounds := 200
	if testing.Short() {
		rounds = 30
	}
	for range rounds {
		lines := make([]string, 1+rng.IntN(4))
		for i := range lines {
			lines[i] = randomLine(rng)
		}
		file := strings.Join(lines, "\n")
		check(t, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(file), 0o644))
		asked := strings.ReplaceAll(strings.Join(paths, "\x00"), "/\x00", "\x00")
		want := strings.Split(git(t, dir, asked, "check-ignore", "--no-index", "-z", "--stdin"), "\x00")
		want = slices.DeleteFunc(want, func(s string) bool { return s == "" })
		rules := ignorefile.Parse([]byte(file))
		var got []string
		for _, path := range paths {
			if ignored(rules, strings.TrimSuffix(path, "/"), strings.HasSuffix(path, "/")) {
				got = append(got, strings.TrimSuffix(path, "/"))
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q ignores\n%s\nfor git\n%s", lines, difference(got, want), difference(want, got))
		}
	}
}

// ignored asks about each directory on the way first.
func ignored(r *ignorefile.Rules, path string, dir bool) bool {
	for i := range len(path) {
		if path[i] == '/' && r.Match(path[:i], true) == ignorefile.Ignored {
			return true
		}
	}
	return r.Match(path, dir) == ignorefile.Ignored
}

func difference(a, b []string) string {
	return fmt.Sprint(slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) }))
}

func git(t *testing.T, dir, input string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir)
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() == 1 && args[0] == "check-ignore" {
		err = nil // it found nothing
	}
	check(t, err)
	return string(out)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// FuzzParse: no file and no path makes trouble, and a negated pattern takes back just
// what the pattern ignores.
func FuzzParse(f *testing.F) {
	f.Add("*.log\n!a/**/b/\n[[:alpha:]]*", "a/x/b", true)
	f.Add(`\`, "a", false)
	f.Add("a[", "a/b", false)
	f.Add(strings.Repeat("*a", 40)+"b", strings.Repeat("a", 200), false)
	f.Add(strings.Repeat("**/a/", 40)+"b", strings.Repeat("a/", 200)+"c", false)
	f.Fuzz(func(t *testing.T, file, path string, dir bool) {
		rules := ignorefile.Parse([]byte(file))
		rules.Match(path, dir)
		if strings.ContainsAny(file, "\n\r!#\ufeff") || strings.HasPrefix(file, " ") {
			return
		}
		kept := ignorefile.Parse([]byte("!"+file)).Match(path, dir)
		if (rules.Match(path, dir) == ignorefile.Ignored) != (kept == ignorefile.Kept) {
			t.Fatalf("%q of %q: %v, negated %v", file, path, rules.Match(path, dir), kept)
		}
	})
}
