package filesystem_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func BenchmarkReadHeadOf10MB(b *testing.B) {
	g := newFixture(b)
	g.put("big.log", strings.Repeat("2026-01-02 03:04:05 a line of a log, as long as they are\n", 180_000))
	b.ReportAllocs()
	for b.Loop() {
		g.call("read", args{"path": "big.log", "head": 100})
	}
}

func BenchmarkReadTailOf10MB(b *testing.B) {
	g := newFixture(b)
	g.put("big.log", strings.Repeat("2026-01-02 03:04:05 a line of a log, as long as they are\n", 180_000))
	b.ReportAllocs()
	for b.Loop() {
		g.call("read", args{"path": "big.log", "tail": 100})
	}
}

func BenchmarkEditOf5MB(b *testing.B) {
	g := newFixture(b)
	filler := strings.Repeat("a line of a source file, as long as they are\n", 60_000)
	g.put("big.go", filler+"the one line\n"+filler)
	old, new := "the one line\n", "the two\nlines\n"
	b.ReportAllocs()
	for b.Loop() {
		g.call("edit", args{"path": "big.go", "old": old, "new": new})
		old, new = new, old
	}
}

func BenchmarkWriteOf4KB(b *testing.B) {
	g := newFixture(b)
	contents := []string{strings.Repeat("a", 4096), strings.Repeat("b", 4096)}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i++
		g.call("write", args{"path": "f", "content": contents[i%2]})
	}
}

// writeTree writes 50,000 source files of about 2 KB, in 500 directories.
func writeTree(b *testing.B, dir string) {
	b.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	words := strings.Fields("if err != nil { return } func for range := type struct import package string byte int " +
		"context open close read write file the and of to a in is it error value test")
	var text strings.Builder
	for i := range 50_000 {
		sub := filepath.Join(dir, fmt.Sprintf("pkg%02d/sub%02d", i%25, i/25%20))
		if i < 500 {
			check(b, os.MkdirAll(sub, 0o755))
		}
		text.Reset()
		for text.Len() < 1000+rng.IntN(2000) {
			for range 3 + rng.IntN(8) {
				text.WriteString(words[rng.IntN(len(words))])
				text.WriteByte(' ')
			}
			text.WriteByte('\n')
		}
		if i%251 == 0 {
			text.WriteString("func handleNeedle(w Writer) {\n")
		}
		check(b, os.WriteFile(filepath.Join(sub, fmt.Sprintf("f%05d.go", i)), []byte(text.String()), 0o644))
	}
}

// BenchmarkGrepOf50kFiles compares ripgrep itself, the tool with it, and the
// tool alone.
func BenchmarkGrepOf50kFiles(b *testing.B) {
	if testing.Short() {
		b.Skip("fifty thousand files take a while to write")
	}
	ways := searchers(b)
	g := newFixtureWith(b, ways[0].config)
	writeTree(b, g.dir)
	for _, q := range []struct {
		name, pattern string
		fold          bool
	}{
		{"literal", "handleNeedle", false},
		{"regexp", `func \w+Needle\(`, false},
		{"anycase", "HANDLEneedle", true},
		{"noliteral", `[A-Z]\w+\([a-z]`, false},
	} {
		if len(ways) == 2 {
			b.Run(q.name+"/rg", func(b *testing.B) {
				extra := []string{"--no-config", "--no-ignore", "--line-number", "--regexp=" + q.pattern}
				if q.fold {
					extra = append(extra, "--ignore-case")
				}
				for b.Loop() {
					cmd := exec.Command(ways[1].config.Ripgrep, append(extra, "./")...)
					cmd.Dir, cmd.Stdout = g.dir, io.Discard
					check(b, cmd.Run())
				}
			})
		}
		for _, way := range ways {
			tools := newFixtureWith(b, way.config).tools
			b.Run(q.name+"/"+way.name, func(b *testing.B) {
				one := *g
				one.t, one.tools = b, tools
				b.ReportAllocs()
				for b.Loop() {
					r := one.call("grep", args{"pattern": q.pattern, "ignore_case": q.fold, "limit": 10000})
					if !strings.HasPrefix(r.Summary, "200 matches in 200 files") {
						b.Fatal(r.Summary)
					}
				}
			})
		}
	}
}

// BenchmarkGlobOf20kFiles compares a walk that heeds ignore files, of the usual
// length and in several directories, with one that does not.
func BenchmarkGlobOf20kFiles(b *testing.B) {
	g := newFixture(b)
	for i := range 20_000 {
		sub := filepath.Join(g.dir, fmt.Sprintf("pkg%02d/sub%02d", i%20, i/20%20))
		if i < 400 {
			check(b, os.MkdirAll(sub, 0o755))
		}
		check(b, os.WriteFile(filepath.Join(sub, fmt.Sprintf("f%05d.go", i)), nil, 0o644))
	}
	rules := "node_modules/\n*.log\n*.tmp\n/dist\n/coverage/\n.env*\n!.env.example\nbuild/**/out\n*.py[co]\ndocs/*.pdf\n"
	g.put(".gitignore", strings.Repeat(rules, 3))
	for i := range 20 {
		g.put(fmt.Sprintf("pkg%02d/.gitignore", i), rules)
	}
	for name, ignored := range map[string]bool{"heeded": false, "not heeded": true} {
		b.Run(name, func(b *testing.B) {
			one := *g
			one.t = b
			b.ReportAllocs()
			for b.Loop() {
				one.call("glob", args{"pattern": "**/*.none", "ignored": ignored})
			}
		})
	}
}
