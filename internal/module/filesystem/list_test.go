package filesystem_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/tool"
)

func tree(g *fixture) {
	g.put("b.txt", "12345")
	g.put("a/x.go", "x")
	g.put("a/deep/er/y.go", "y")
	g.put("a-b/z.go", "z")
	g.put(".env", "secret")
	g.put(".git/HEAD", "ref")
	g.put("a/.cache/c.go", "c")
	g.put("日本.md", "n")
}

func TestList(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	tree(g)
	g.link("b.txt", "link")
	for _, test := range []struct {
		name, summary string
		args          args
		text          string
	}{
		{"the workspace", ".: 5 entries", args{}, "a/\na-b/\nb.txt  5 bytes\nlink -> b.txt\n日本.md  1 byte\n"},
		{"hidden too", ".: 7 entries", args{"path": ".", "all": true},
			".env  6 bytes\n.git/\na/\na-b/\nb.txt  5 bytes\nlink -> b.txt\n日本.md  1 byte\n"},
		{"below", "a: 4 entries", args{"path": "a", "recursive": true},
			"deep/\ndeep/er/\ndeep/er/y.go  1 byte\nx.go  1 byte\n"},
		{"two levels", ".: 8 entries", args{"depth": 2},
			"a/\na/deep/\na/x.go  1 byte\na-b/\na-b/z.go  1 byte\nb.txt  5 bytes\nlink -> b.txt\n日本.md  1 byte\n"},
		{"cut", ".: the first 2 entries; there are more", args{"recursive": true, "limit": 2}, "a/\na/deep/\n"},
		{"just enough", "a/deep: 2 entries", args{"path": "a/deep", "recursive": true, "limit": 2}, "er/\ner/y.go  1 byte\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g.t = t
			r := g.call("list", test.args)
			if diff := cmp.Diff(test.text, text(r)); diff != "" {
				t.Error(diff)
			}
			if len(r.Summary) < len(test.summary) || r.Summary[:len(test.summary)] != test.summary {
				t.Errorf("summary %q, want %q", r.Summary, test.summary)
			}
		})
	}
	g.t = t
	g.refused(tool.Invalid, "list", args{"path": "b.txt"}, "not a directory", "filesystem.read")
	g.refused(tool.NotFound, "list", args{"path": "aa"}, `"a"`)
}

func TestListDescribesEntries(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	g.put("f", "12345")
	when := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	check(t, os.Chtimes(filepath.Join(g.dir, "f"), when, when))
	type entry struct {
		Name, Type, Modified string
		Size                 int
	}
	got := data[struct {
		Path      string
		Entries   []entry
		Truncated bool
	}](t, g.call("list", args{}))
	diff := cmp.Diff([]entry{{"f", "file", "2020-01-02T03:04:05Z", 5}}, got.Entries)
	if diff != "" || got.Truncated || got.Path != "." {
		t.Errorf("%+v\n%s", got, diff)
	}
}

type globData struct {
	Paths     []string `json:"paths"`
	Truncated bool     `json:"truncated"`
}

func TestGlob(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	tree(g)
	g.link("a", "link")
	for _, test := range []struct {
		name  string
		args  args
		paths []string
	}{
		{"everywhere", args{"pattern": "**/*.go"}, []string{"a/deep/er/y.go", "a/x.go", "a-b/z.go"}},
		{"here", args{"pattern": "*"}, []string{"b.txt", "link", "日本.md"}},
		{"from a directory", args{"pattern": "**/*.go", "path": "a"}, []string{"a/deep/er/y.go", "a/x.go"}},
		{"everything below", args{"pattern": "a/**"}, []string{"a/deep/er/y.go", "a/x.go"}},
		{"directories", args{"pattern": "**", "type": "dir"}, []string{"a", "a/deep", "a/deep/er", "a-b"}},
		{"any", args{"pattern": "a/*", "type": "any"}, []string{"a/deep", "a/x.go"}},
		{"either", args{"pattern": "{a,a-b}/*.{go,txt}"}, []string{"a/x.go", "a-b/z.go"}},
		{"a dot that is spelt", args{"pattern": ".e*"}, []string{".env"}},
		{"a dot in a directory", args{"pattern": "a/.*/*.go"}, []string{"a/.cache/c.go"}},
		{"hidden, never .git", args{"pattern": "**", "hidden": true},
			[]string{".env", "a/.cache/c.go", "a/deep/er/y.go", "a/x.go", "a-b/z.go", "b.txt", "link", "日本.md"}},
		{"absolute", args{"pattern": g.dir + "/a/*.go"}, []string{"a/x.go"}},
		{"a dot in front", args{"pattern": "./a/*.go"}, []string{"a/x.go"}},
		{"nothing", args{"pattern": "*.rs"}, []string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g.t = t
			if diff := cmp.Diff(globData{Paths: test.paths}, data[globData](t, g.call("glob", test.args))); diff != "" {
				t.Error(diff)
			}
		})
	}
	g.t = t
	g.refused(tool.Invalid, "glob", args{"pattern": "a{b"}, "not closed")
	g.refused(tool.Invalid, "glob", args{"pattern": "*", "path": "b.txt"}, "not a directory")
}

func TestGlobOrderAndLimit(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	for i := range 5 {
		name := fmt.Sprintf("f%d", i)
		g.put(name, "")
		when := time.Unix(int64(1000+(i*3)%5), 0)
		check(t, os.Chtimes(filepath.Join(g.dir, name), when, when))
	}
	for _, test := range []struct {
		args args
		want globData
	}{
		{args{"pattern": "*", "limit": 2}, globData{[]string{"f0", "f1"}, true}},
		{args{"pattern": "*", "limit": 5}, globData{[]string{"f0", "f1", "f2", "f3", "f4"}, false}},
		{args{"pattern": "*", "sort": "modified"}, globData{[]string{"f3", "f1", "f4", "f2", "f0"}, false}},
		{args{"pattern": "*", "sort": "modified", "limit": 1}, globData{[]string{"f3"}, true}},
	} {
		if diff := cmp.Diff(test.want, data[globData](t, g.call("glob", test.args))); diff != "" {
			t.Errorf("%v\n%s", test.args, diff)
		}
	}
}
