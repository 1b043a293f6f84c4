package filesystem_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestIgnoreFiles: what .gitignore and .ignore name is left out of grep, glob and
// list unless it is asked for, with ripgrep and without.
func TestIgnoreFiles(t *testing.T) {
	t.Parallel()
	for _, c := range searchers(t) {
		t.Run(c.name, func(t *testing.T) {
			g := newFixtureWith(t, c.config)
			g.put(".git/info/exclude", "excluded.txt\n")
			g.put(".gitignore", "node_modules/\n*.log\n!keep.log\n/build\ndocs/**/draft.md\n")
			g.put(".ignore", "fixtures/\n!debug.log\n")
			g.put("sub/.gitignore", "*.tmp\n!*.log\n")
			for _, path := range []string{
				"src/main.js", "node_modules/a/index.js", "src/node_modules/b/index.js", "x.log", "keep.log", "debug.log",
				"build/out.js", "src/build/in.js", "docs/a/b/draft.md", "docs/a/final.md", "fixtures/f.js", "sub/a.tmp", "sub/b.log",
				"excluded.txt", "other/.git/HEAD", "other/x.log", "other/node_modules/c.js", "other/fixtures/g.js",
			} {
				g.put(path, "needle\n")
			}
			kept := "debug.log docs/a/final.md keep.log other/node_modules/c.js other/x.log src/build/in.js src/main.js sub/b.log"
			for _, test := range []struct {
				args args
				want string
			}{
				{args{}, kept},
				{args{"path": "src"}, "src/build/in.js src/main.js"},
				{args{"path": "node_modules"}, "node_modules/a/index.js"},
				{args{"path": "node_modules/a"}, "node_modules/a/index.js"},
				{args{"path": "x.log"}, "x.log"},
				{args{"glob": "*.js"}, "other/node_modules/c.js src/build/in.js src/main.js"},
				{args{"glob": "node_modules/**"}, "node_modules/a/index.js"},
				{args{"glob": "**/node_modules/**/*.js"},
					"node_modules/a/index.js other/node_modules/c.js src/node_modules/b/index.js"},
				{args{"glob": "x.log"}, "other/x.log x.log"},
				{args{"path": "docs/a/b"}, ""},
				{args{"ignored": true, "glob": "*.tmp"}, "sub/a.tmp"},
			} {
				test.args["pattern"], test.args["mode"] = "needle", "files"
				r := g.call("grep", test.args)
				if got := strings.Join(data[struct{ Paths []string }](t, r).Paths, " "); got != test.want {
					t.Errorf("grep %v: %s\nwant %s", test.args, got, test.want)
				}
			}
			if r := g.call("grep", args{"pattern": "needle", "ignored": true, "mode": "count"}); !strings.Contains(r.Summary, "17 files") {
				t.Errorf("with ignored: %s", r.Summary)
			}
			r := g.call("glob", args{"pattern": "**"})
			if got := strings.Join(data[struct{ Paths []string }](t, r).Paths, " "); got != kept {
				t.Errorf("glob: %s", got)
			}
			r = g.call("list", args{"recursive": true})
			if got := text(r); strings.Contains(got, "index.js") || strings.Contains(got, "a.tmp") ||
				!strings.Contains(got, "src/main.js") || !strings.Contains(got, "(not listed, because ignore files name it: build/, ") {
				t.Errorf("list: %s", got)
			}
			if got := text(g.call("list", args{"path": "node_modules", "recursive": true})); !strings.Contains(got, "a/index.js") {
				t.Errorf("list of an ignored folder: %s", got)
			}
		})
	}
}

// TestLeftOutIsTold: a search that found little says what it did not look at.
func TestLeftOutIsTold(t *testing.T) {
	t.Parallel()
	for _, c := range searchers(t) {
		t.Run(c.name, func(t *testing.T) {
			g := newFixtureWith(t, c.config)
			g.put(".gitignore", "node_modules/\n*.log\n")
			g.put("node_modules/a/index.js", "needle\n")
			g.put("a.log", "needle\n")
			g.put("src/main.js", "hay\n")
			const told = "(not searched, because ignore files name it: a.log, node_modules/; ignored=true includes it)\n"
			if got := text(g.call("grep", args{"pattern": "needle"})); got != "nothing matches \"needle\"\n"+told {
				t.Errorf("grep: %s", got)
			}
			if got := text(g.call("glob", args{"pattern": "**/*.{js,log}"})); got != "src/main.js\n"+told {
				t.Errorf("glob: %s", got)
			}
			if got := text(g.call("grep", args{"pattern": "needle", "glob": "src/*"})); strings.Contains(got, "ignore files") {
				t.Errorf("what would not have been searched anyway is told: %s", got)
			}
		})
	}
}

// TestIgnoreFilesAboveTheWorkspace: a workspace that is a folder of a repository obeys
// the files above it, and one that is in no repository does not.
func TestIgnoreFilesAboveTheWorkspace(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	g.put("../.gitignore", "node_modules/\n/work/out/\n")
	g.put("node_modules/a.js", "x\n")
	g.put("out/b.js", "x\n")
	g.put("sub/node_modules/c.js", "x\n")
	paths := func(a args) string {
		a["pattern"] = "**/*.js"
		return strings.Join(data[struct{ Paths []string }](t, g.call("glob", a)).Paths, " ")
	}
	if got := paths(args{}); got != "node_modules/a.js out/b.js sub/node_modules/c.js" {
		t.Errorf("in no repository: %s", got)
	}
	check(t, os.Mkdir(filepath.Join(g.dir, "../.git"), 0o755))
	if got := paths(args{}); got != "" {
		t.Errorf("in a repository: %s", got)
	}
	if got := paths(args{"path": "sub"}); got != "" {
		t.Errorf("in a folder of it: %s", got)
	}
	if got := paths(args{"path": "out"}); got != "out/b.js" {
		t.Errorf("in a folder that is ignored: %s", got)
	}
}

// TestIgnoresAsGit compares what is found in random trees with what git lists.
func TestIgnoresAsGit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed: apt-get install git")
	}
	rng := rand.New(rand.NewPCG(5, 6))
	rounds := 25
	if testing.Short() {
		rounds = 6
	}
	for range rounds {
		ways := searchers(t)
		g := newFixtureWith(t, ways[0].config)
		g.randomTree(rng)
		cmd := exec.Command("git", "-c", "init.templateDir=", "init", "-q")
		cmd.Dir = g.dir
		check(t, cmd.Run())
		g.put(".git/info/exclude", randomRules(rng))
		cmd = exec.Command("git", "ls-files", "--others", "--exclude-standard", "-z")
		cmd.Dir = g.dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "HOME="+g.dir)
		out, err := cmd.Output()
		check(t, err)
		want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		slices.Sort(want)
		for _, way := range ways {
			g.tools = newFixtureWith(t, way.config).tools
			r := g.call("grep", args{"pattern": "needle", "mode": "files", "hidden": true, "limit": 10000})
			got := data[struct{ Paths []string }](t, r).Paths
			slices.Sort(got)
			if strings.Join(got, "\n") != strings.TrimPrefix(strings.Join(want, "\n"), "\n") {
				t.Fatalf("%s finds %q\ngit lists %q\n%s", way.name, got, want, g.rulesText())
			}
		}
	}
}

func (g *fixture) randomTree(rng *rand.Rand) {
	dirs := []string{"."}
	for range 12 {
		dirs = append(dirs, filepath.Join(dirs[rng.IntN(len(dirs))], []string{"a", "b", "lib", ".c", "out"}[rng.IntN(5)]))
	}
	for i := range 60 {
		name := fmt.Sprintf("%s.%s", []string{"a", "b", "x", "main", ".eve"}[rng.IntN(5)], []string{"go", "js", "log"}[i%3])
		g.put(filepath.Join(dirs[rng.IntN(len(dirs))], name), "needle\n")
	}
	for range 4 {
		g.put(filepath.Join(dirs[rng.IntN(len(dirs))], ".gitignore"), "# needle\n"+randomRules(rng))
	}
}

func randomRules(rng *rand.Rand) string {
	var b strings.Builder
	for range rng.IntN(5) {
		b.WriteString([]string{"", "", "!"}[rng.IntN(3)] + []string{"", "", "/", "**/"}[rng.IntN(4)])
		b.WriteString([]string{"a", "b", "lib", "*", "*.log", "a.*", "a/b", "a/*", "out/**", "a/**/x.go", "[ab]", "?", ".eve*",
			"{a,b}", "lib/*.js"}[rng.IntN(15)])
		b.WriteString([]string{"", "", "/"}[rng.IntN(3)] + "\n")
	}
	return b.String()
}

func (g *fixture) rulesText() string {
	var b strings.Builder
	_ = filepath.WalkDir(g.dir, func(path string, _ os.DirEntry, _ error) error {
		if name := filepath.Base(path); name == ".gitignore" || name == "exclude" {
			text, _ := os.ReadFile(path)
			fmt.Fprintf(&b, "%s: %q\n", path, text)
		}
		return nil
	})
	return b.String()
}
