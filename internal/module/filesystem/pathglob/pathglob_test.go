package pathglob_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"callgate/internal/module/filesystem/pathglob"
)

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		pattern string
		yes, no string // paths, separated by spaces
	}{
		{"*.go", "a.go x.y.go", "a/b.go a.gox .a.go go"},
		{"**/*.go", "a.go a/b.go a/b/c.go", "a/.b/c.go .a.go a.go/b"},
		{"a/**", "a/b a/b/c", "a b/a a/.b a/.b/c"},
		{"**", "a a/b", ".a .a/b"},
		{"a/**/b", "a/b a/x/b a/x/y/b", "a/xb ab a/b/c"},
		{"**/a/**/b", "a/b x/a/y/z/b", "b a"},
		{"a/**/**/b", "a/b a/x/b", "ab"},
		{"?", "a é 日", "ab / .a"},
		{"[a-c]x", "ax bx cx", "dx x"},
		{"[!a-c]x", "dx éx", "ax"},
		{"[^a-c]x", "dx", "ax"},
		{"[]a]", "] a", "b"},
		{"[a-]", "a -", "b"},
		{`[\]]`, "]", `\`},
		{"{a,b}.go", "a.go b.go", "ab.go c.go {a,b}.go"},
		{"{a,b/{c,d}}", "a b/c b/d", "b c"},
		{"x{,y}", "x xy", "xyy"},
		{"{a}", "a", "{a}"},
		{"a{b,c}{d,e}", "abd abe acd ace", "ab abde"},
		{`\*`, "*", "a"},
		{`\{a,b\}`, "{a,b}", "a b"},
		{"a}b", "a}b", "ab"},
		{".*", ".a .a.b", "a"},
		{".github/**/*.yml", ".github/a.yml .github/x/a.yml", "github/a.yml .github/.x/a.yml"},
		{"a**b", "ab axb", "a/b"},
		{"a[!b]c", "axc", "a/c abc"},
		{"./a//b/", "a/b", "a b"},
		{"*a*b*c", "abc xaxbxc aabbcc", "acb ab"},
		{"日*", "日 日本", "本"},
	} {
		p, err := pathglob.Parse(test.pattern)
		if err != nil {
			t.Errorf("%q: %v", test.pattern, err)
			continue
		}
		for _, path := range strings.Fields(test.yes) {
			if !p.Matches(path, false) {
				t.Errorf("%q does not match %q", test.pattern, path)
			}
		}
		for _, path := range strings.Fields(test.no) {
			if p.Matches(path, false) {
				t.Errorf("%q matches %q", test.pattern, path)
			}
		}
	}
}

func TestHiddenNames(t *testing.T) {
	p, err := pathglob.Parse("**/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{".a.go", ".x/a.go", "x/.y/.a.go"} {
		if p.Matches(path, false) || !p.Matches(path, true) {
			t.Errorf("%q: %v, %v", path, p.Matches(path, false), p.Matches(path, true))
		}
	}
}

func TestBadPatterns(t *testing.T) {
	for pattern, why := range map[string]string{
		"[a":                         "not closed",
		"a{b":                        "not closed",
		`a\`:                         "escapes nothing",
		"../a":                       "goes up",
		"a/../b":                     "goes up",
		strings.Repeat("a/", 100):    "more than 60 names",
		strings.Repeat("{a,b}", 9):   "alternatives",
		strings.Repeat("x", 5000):    "longer",
		strings.Repeat("{a,b}", 200): "alternatives",
		strings.Repeat("{a,b", 800):  "not closed",
	} {
		if _, err := pathglob.Parse(pattern); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%.20q: %v", pattern, err)
		}
	}
}

// TestWalk: a walk that follows Step and CanMatchBelow finds exactly the paths that
// Matches accepts.
func TestWalk(t *testing.T) {
	for _, pattern := range []string{"a/*/c", "**/c", "{a,b/**}/c", "a/b"} {
		p, err := pathglob.Parse(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"a", "a/b", "a/b/c", "b/c", "b/x/y/c", "c", "x/y/c", "a/b/c/d"} {
			at, names := p.Start(), strings.Split(path, "/")
			entered := true
			for i, name := range names {
				at = p.Step(at, name, false)
				entered = entered && (i == len(names)-1 || p.CanMatchBelow(at))
			}
			if found := entered && p.Matched(at); found != p.Matches(path, false) {
				t.Errorf("%q and %q: the walk says %v", pattern, path, found)
			}
		}
	}
}

// asRegexp translates a pattern into a regular expression, as another opinion.
func asRegexp(pattern string) string {
	names := strings.Split(pattern, "/")
	var kept []string
	for _, n := range names {
		if n != "" && n != "." && (n != "**" || len(kept) == 0 || kept[len(kept)-1] != "**") {
			kept = append(kept, n)
		}
	}
	if len(kept) == 0 {
		return `[^\x00-\x{10FFFF}]`
	}
	var b strings.Builder
	for i, n := range kept {
		last := i == len(kept)-1
		switch {
		case n == "**" && last:
			b.WriteString("(?:[^/]+/)*[^/]+")
		case n == "**":
			b.WriteString("(?:[^/]+/)*")
		default:
			for _, r := range n {
				switch r {
				case '*':
					b.WriteString("[^/]*")
				case '?':
					b.WriteString("[^/]")
				default:
					b.WriteString(regexp.QuoteMeta(string(r)))
				}
			}
			if !last {
				b.WriteString("/")
			}
		}
	}
	return "^(?s:" + b.String() + ")$"
}

func FuzzPattern(f *testing.F) {
	f.Add("**/a*?", "x/y/ab")
	f.Add("a/**/b", "a/b")
	f.Add("{a,b}[!c-d]", "ae")
	f.Add("*a*a*a*b", "aaaaaaaaaaaaaaaa")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		p, err := pathglob.Parse(pattern)
		if err != nil {
			return
		}
		got := p.Matches(path, true)
		if strings.ContainsAny(pattern, `[]{}\`) || !utf8.ValidString(pattern+path) || strings.Contains("/"+path+"/", "//") {
			return // asRegexp does not translate these
		}
		if want := regexp.MustCompile(asRegexp(pattern)).MatchString(path); got != want {
			t.Fatalf("%q and %q: %v, want %v", pattern, path, got, want)
		}
	})
}
