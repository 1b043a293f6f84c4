package filesystem_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module/filesystem"
	"callgate/tool"
)

type searcher struct {
	name   string
	config filesystem.Config
}

// searchers are the configurations of grep: alone, and with ripgrep if it is
// installed.
func searchers(t testing.TB) []searcher {
	t.Helper()
	ways := []searcher{{"alone", filesystem.Config{Ripgrep: "none"}}}
	if rg, err := exec.LookPath("rg"); err == nil && runtime.GOOS == "linux" {
		ways = append(ways, searcher{"with ripgrep", filesystem.Config{Ripgrep: rg}})
	} else {
		t.Log("ripgrep is not here, so only the search without it is tested")
	}
	return ways
}

// corpus writes files of every kind that a search may find, always the same ones.
func (g *fixture) corpus() {
	rng := rand.New(rand.NewPCG(1, 2))
	words := []string{
		"foo", "Foo", "FOO", "bar", "func main() {", "straße", "STRASSE", "café", "K", "kelvin", "Kelvin", "ſtop", "stop",
		"_x1", "x-y", "日本", "\t", "  ", "a.b", "[x]", "caf\xe9 au lait", "\xff\xfe", "�", "12", "é", "\r", "",
	}
	line := func() string {
		var b strings.Builder
		for range rng.IntN(6) {
			b.WriteString(words[rng.IntN(len(words))])
			b.WriteString([]string{" ", "", ", "}[rng.IntN(3)])
		}
		return b.String()
	}
	body := func(end string) string {
		var b strings.Builder
		for range rng.IntN(30) {
			b.WriteString(line() + end)
		}
		return b.String()
	}
	dirs := []string{"", "a/", "a/b/", "a-b/", "日本/", ".hidden/", ".git/", "a/.git/", "z/y/x/"}
	for i := range 80 {
		name := fmt.Sprintf("%sf%03d.%s", dirs[rng.IntN(len(dirs))], i, []string{"go", "txt", "md", "TXT"}[rng.IntN(4)])
		if rng.IntN(10) == 0 {
			name = filepath.Join(filepath.Dir(name), "."+filepath.Base(name))
		}
		content := body("\n")
		switch rng.IntN(9) {
		case 0:
			content = body("\r\n")
		case 1:
			content = "\xef\xbb\xbf" + content
		case 2:
			content = wide(binary.LittleEndian, "\ufeff"+body("\r\n"))
		case 3:
			content = wide(binary.BigEndian, "\ufeff"+content)
		case 4:
			content += "foo\x00foo\n" + body("\n")
		case 5:
			content = strings.Repeat("no such thing here\n", 440+rng.IntN(100)) + content + "foo\x00foo\n"
		case 6:
			content += "foo" // no newline at the end
		case 7:
			content += strings.Repeat("long ", 500) + "foo" + strings.Repeat(" long", 500) + "\n" + body("\n")
		}
		g.put(name, content)
	}
	g.put("empty", "")
	g.put("late.txt", strings.Repeat("no such thing here\n", 4000)+"foo\n\x00foo\n") // past a buffer of ripgrep's
	g.put("huge.txt", strings.Repeat("x", 40<<10)+"\nfoo\n"+strings.Repeat("y", 9<<10)+" foo")
	g.link("a", "link-to-dir")
	g.link("empty", "link-to-file")
}

func wide(order binary.AppendByteOrder, text string) string {
	var raw []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		raw = order.AppendUint16(raw, unit)
	}
	return string(raw)
}

func TestGrepIsTheSameWithAndWithoutRipgrep(t *testing.T) {
	t.Parallel()
	ways := searchers(t)
	if len(ways) < 2 {
		t.Skip("ripgrep is not installed: apt-get install ripgrep")
	}
	g := newFixtureWith(t, ways[0].config)
	g.corpus()
	other := *g
	other.tools = newFixtureWith(t, ways[1].config).tools
	patterns := []string{
		"foo", "^foo", "foo$", "^$", "^foo$", "o{2,}", "(foo|bar)", "foo|^bar$", `\bfoo\b`, `foo\b`, `\Bo`, `foo$\b`, "caf.",
		"caf. au", `\w+-\w`,
		`\s`, `\S+$`, `\W`, `\D\d`, "[^a-z ]", ".", "x?", "a*", "stra.*e", "STRASSE", "kelvin", "stop", "日",
		`\p{Han}`, `[[:upper:]]{3}`,
		"a\\.b", `\[x\]`, "�", "\\xff", "(?i)foo", "(?s).", "(?m)^foo", `\Afoo`, `foo\z`, "(f(o)(o))",
		"(?P<n>foo)", `[\x{D800}-\x{DFFF}a]`, `\r`, "\t", "no such thing", "nowhere to be found",
	}
	for i, pattern := range patterns {
		for j, a := range []args{
			{}, {"ignore_case": true}, {"literal": true}, {"mode": "files", "hidden": true}, {"mode": "count", "limit": 10000},
			{"context": 2, "limit": 7}, {"glob": "*.go"}, {"glob": "*.{md,txt}", "mode": "files"}, {"glob": ".*",
				"mode": "files"},
			{"glob": "a/**/f0*", "mode": "count"}, {"path": "a", "mode": "files"}, {"path": ".hidden",
				"context": 1}, {"glob": "**/.hidden/*", "mode": "files"},
		} {
			if (i+j)%4 != 0 {
				continue // each pattern meets a fourth of the options
			}
			a["pattern"] = pattern
			alone, err := g.try("grep", a)
			with, err2 := other.try("grep", a)
			if (err == nil) != (err2 == nil) {
				t.Fatalf("%v: %v and %v", a, err, err2)
			}
			if diff := cmp.Diff(alone, with); diff != "" {
				t.Errorf("%v: without and with ripgrep differ:\n%s", a, diff)
			}
		}
	}
}

func TestGrep(t *testing.T) {
	t.Parallel()
	for _, c := range searchers(t) {
		t.Run(c.name, func(t *testing.T) {
			g := newFixtureWith(t, c.config)
			g.put("b.go", "package b\n\nfunc Open() {}\nfunc Close() {}\n")
			g.put("a/c.go", "one\ntwo\nthree\nfour Open\nfive\nsix\nseven\neight Open\n")
			g.put("a-z.txt", "Open\r\nopen\r\n")
			g.put(".hidden/h.go", "Open\n")
			g.put(".git/config", "Open\n")
			g.put("bin", "Open\x00\n")
			for _, test := range []struct {
				name    string
				args    args
				summary string
				text    string
			}{
				{"lines in the order of paths", args{"pattern": "Open"}, "4 matches in 3 files",
					"a/c.go\n4:four Open\n8:eight Open\n\na-z.txt\n1:Open\n\nb.go\n3:func Open() {}\n"},
				{"context", args{"pattern": "Open", "path": "a", "context": 1}, "2 matches in 1 file",
					"a/c.go\n3-three\n4:four Open\n5-five\n--\n7-seven\n8:eight Open\n"},
				{"contexts that meet", args{"pattern": "two|four", "path": "a", "context": 1}, "2 matches in 1 file",
					"a/c.go\n1-one\n2:two\n3-three\n4:four Open\n5-five\n"},
				{"files", args{"pattern": "Open", "mode": "files"}, "3 files with a match", "a/c.go\na-z.txt\nb.go\n"},
				{"count", args{"pattern": "Open", "mode": "count"}, "4 matches in 3 files", "a/c.go:2\na-z.txt:1\nb.go:1\n"},
				{"case", args{"pattern": "OPEN", "ignore_case": true, "glob": "*.txt"}, "2 matches in 1 file",
					"a-z.txt\n1:Open\n2:open\n"},
				{"end of a CRLF line", args{"pattern": "^open$"}, "1 match in 1 file", "a-z.txt\n2:open\n"},
				{"literal", args{"pattern": "Open()", "literal": true}, "1 match in 1 file", "b.go\n3:func Open() {}\n"},
				{"hidden", args{"pattern": "Open", "hidden": true, "mode": "files"}, "4 files with a match",
					".hidden/h.go\na/c.go\na-z.txt\nb.go\n"},
				{"limit", args{"pattern": "Open", "limit": 1}, "the first 1 match in 1 file; there are more",
					"a/c.go\n4:four Open\n"},
				{"limit with context", args{"pattern": "Open", "limit": 1, "context": 1}, "the first 1 match",
					"a/c.go\n3-three\n4:four Open\n5-five\n"},
				{"limit of files", args{"pattern": "Open", "limit": 2, "mode": "files"},
					"the first 2 files with a match; there are more", "a/c.go\na-z.txt\n"},
				{"limit just met", args{"pattern": "Open", "limit": 4}, "4 matches in 3 files",
					"a/c.go\n4:four Open\n8:eight Open\n\na-z.txt\n1:Open\n\nb.go\n3:func Open() {}\n"},
				{"one file", args{"pattern": "func", "path": "b.go"}, "2 matches in 1 file",
					"b.go\n3:func Open() {}\n4:func Close() {}\n"},
				{"one hidden file", args{"pattern": "Open", "path": ".hidden/h.go"}, "1 match in 1 file", ".hidden/h.go\n1:Open\n"},
				{"nothing", args{"pattern": "nowhere"}, `nothing matches "nowhere"`,
					"nothing matches \"nowhere\"\n"},
				{"glob with a directory", args{"pattern": "Open", "glob": "a/*.go", "mode": "files"}, "1 file with a match",
					"a/c.go\n"},
			} {
				t.Run(test.name, func(t *testing.T) {
					g.t = t
					r := g.call("grep", test.args)
					if !strings.HasPrefix(r.Summary, test.summary) {
						t.Errorf("summary %q, want %q", r.Summary, test.summary)
					}
					if diff := cmp.Diff(test.text, text(r)); diff != "" {
						t.Error(diff)
					}
				})
			}
			g.t = t
			g.refused(tool.Invalid, "grep", args{"pattern": "a(?=b)"}, "RE2", "literal")
			g.refused(tool.Invalid, "grep", args{"pattern": `a\nb`}, "newline")
			g.refused(tool.Invalid, "grep", args{"pattern": "x", "path": "bin"}, "binary")
			g.refused(tool.Invalid, "grep", args{"pattern": "x", "glob": "a[b"}, "pattern")
			g.refused(tool.NotFound, "grep", args{"pattern": "x", "path": "b.gp"}, "b.go")
		})
	}
}

func TestGrepCutsLongLinesAroundTheMatch(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	g.put("min.js", strings.Repeat("é", 5000)+"needle"+strings.Repeat("ü", 5000)+"\n")
	g.put("bad.txt", "caf\xe9 needle\n")
	got := text(g.call("grep", args{"pattern": "needle"}))
	if !strings.Contains(got, "caf� needle") || !strings.Contains(got, "ééneedleü") || len(got) > 1200 ||
		!utf8.ValidString(got) {
		t.Errorf("grep gave %d bytes: %.300q", len(got), got)
	}
}

func TestGrepStopsWhenTheCallIsCancelled(t *testing.T) {
	t.Parallel()
	for _, c := range searchers(t) {
		g := newFixtureWith(t, c.config)
		g.put("a", "x\n")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := g.tools["grep"].Handler.Execute(ctx, tool.Call{Args: []byte(`{"pattern":"x"}`)}, g.grant)
		if tool.KindOf(err) != tool.Cancelled {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
