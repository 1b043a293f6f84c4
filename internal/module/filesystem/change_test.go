package filesystem_test

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/tool"
)

type writeData struct {
	Path      string `json:"path"`
	Bytes     int    `json:"bytes"`
	Lines     int    `json:"lines"`
	Created   bool   `json:"created"`
	Unchanged bool   `json:"unchanged"`
	Added     int    `json:"added"`
	Removed   int    `json:"removed"`
	FirstLine int    `json:"first_changed_line"`
}

func TestWrite(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	for _, step := range []struct {
		name    string
		args    args
		summary string
		data    writeData
		file    string
		text    string
	}{
		{"create", args{"path": "a/b/c.txt", "content": "one\ntwo\n"}, "created a/b/c.txt: 2 lines, 8 bytes",
			writeData{Bytes: 8, Lines: 2, Created: true}, "one\ntwo\n", ""},
		{"overwrite", args{"path": "a/b/c.txt", "content": "one\n2\nthree\n", "mode": "overwrite"},
			"wrote a/b/c.txt: 3 lines, 12 bytes; +2 −1 lines, from line 2 on",
			writeData{Bytes: 12, Lines: 3, Added: 2, Removed: 1, FirstLine: 2}, "one\n2\nthree\n",
			"@@ line 2 @@\n-two\n+2\n+three\n"},
		{"the same again", args{"path": "a/b/c.txt", "content": "one\n2\nthree\n"},
			"a/b/c.txt already held exactly that; left as it was", writeData{Bytes: 12, Lines: 3, Unchanged: true},
			"one\n2\nthree\n", ""},
		{"append", args{"path": "a/b/c.txt", "content": "four", "mode": "append"},
			"appended 1 line to a/b/c.txt, which now has 16 bytes", writeData{Bytes: 16, Lines: 1}, "one\n2\nthree\nfour", ""},
		{"append to nothing", args{"path": "a/b/c.txt", "content": "!\n", "mode": "append"},
			"appended 1 line to a/b/c.txt, which now has 18 bytes", writeData{Bytes: 18, Lines: 1}, "one\n2\nthree\nfour!\n",
			""},
		{"empty", args{"path": "a/b/c.txt", "content": ""},
			"wrote a/b/c.txt: 0 lines, 0 bytes; +0 −4 lines, from line 1 on", writeData{Removed: 4, FirstLine: 1}, "",
			"@@ line 1 @@\n-one\n-2\n-three\n-four!\n"},
	} {
		g.t = t
		r := g.call("write", step.args)
		if r.Summary != step.summary {
			t.Errorf("%s: summary %q, want %q", step.name, r.Summary, step.summary)
		}
		step.data.Path = "a/b/c.txt"
		if diff := cmp.Diff(step.data, data[writeData](t, r)); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
		if step.text == "" {
			step.text = step.summary // there is nothing else to show
		}
		if diff := cmp.Diff(step.file+step.text, g.get("a/b/c.txt")+text(r)); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
	}
	g.call("write", args{"path": "new", "content": "x", "mode": "append"})
	g.call("write", args{"path": "ünï/日本", "content": "x"})
	g.noLitter()
}

// A write at a line is an edit: the rest of the file stays.
func TestWriteAtLines(t *testing.T) {
	for _, c := range []struct {
		name string
		in   args
		want string // "": refused as Invalid
	}{
		{"insert", args{"mode": "insert", "line": 2, "content": "new\n"}, "a\nnew\nb\nc\n"},
		{"insert at the end", args{"mode": "insert", "line": 4, "content": "new\n"}, "a\nb\nc\nnew\n"},
		{"replace a range", args{"mode": "replace", "line": 1, "end_line": 2, "content": "new\n"}, "new\nc\n"},
		{"replace a line", args{"mode": "replace", "line": 3, "content": ""}, "a\nb\n"},
		{"no line", args{"mode": "insert", "content": "x"}, ""},
		{"no mode", args{"line": 1, "content": "x"}, ""},
		{"append at a line", args{"mode": "append", "line": 1, "content": "x"}, ""},
		{"insert into a range", args{"mode": "insert", "line": 1, "end_line": 2, "content": "x"}, ""},
		{"past the end", args{"mode": "replace", "line": 9, "content": "x"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newFixture(t)
			g.put("f", "a\nb\nc\n")
			c.in["path"] = "f"
			if c.want == "" {
				g.refused(tool.Invalid, "write", c.in)
				c.want = "a\nb\nc\n"
			} else {
				g.call("write", c.in)
			}
			if got := g.get("f"); got != c.want {
				t.Errorf("the file has %q, want %q", got, c.want)
			}
		})
	}
}

func TestWriteRefusals(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	g.put("dir/file", "x\n")
	g.refused(tool.Invalid, "write", args{"path": "dir", "content": "x"}, "is a directory")
	g.refused(tool.Invalid, "write", args{"path": ".", "content": "x"}, "is a directory")
	g.refused(tool.Invalid, "write", args{"path": "new/", "content": "x"}, "names a directory")
	g.refused(tool.NotFound, "write", args{"path": "no/such/file", "content": "x", "create_dirs": false},
		`"no/such"`, "create_dirs")
	g.refused(tool.NotFound, "write", args{"path": "dir/file/below", "content": "x"}, "not a directory")
	g.noLitter()
	if got := text(g.call("list", args{"recursive": true, "all": true})); got != "dir/\ndir/file  2 bytes\n" {
		t.Errorf("a refused write left something:\n%s", got)
	}
}

// While a file is overwritten a thousand times, no reader sees half of one.
func TestAReaderNeverSeesHalfAFile(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	contents := []string{strings.Repeat("a", 20_000) + "\n", strings.Repeat("b", 10_000) + "\n"}
	g.put("file", contents[0])
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			got, err := os.ReadFile(filepath.Join(g.dir, "file"))
			if err != nil || string(got) != contents[0] && string(got) != contents[1] {
				t.Errorf("a reader saw %d bytes, %v", len(got), err)
				return
			}
		}
	})
	rounds := 1000
	if testing.Short() {
		rounds = 100
	}
	for i := range rounds {
		g.call("write", args{"path": "file", "content": contents[(i+1)%2]})
	}
	close(done)
	wg.Wait()
	g.noLitter()
}

func TestACancelledWriteLeavesTheOldFile(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	g.put("file", "old\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, raw := range map[string]string{
		"write": `{"path":"file","content":"new"}`,
		"edit":  `{"path":"file","old":"old","new":"new"}`,
	} {
		_, err := g.tools[name].Handler.Execute(ctx, tool.Call{Args: []byte(raw)}, g.grant)
		if tool.KindOf(err) != tool.Cancelled {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := g.get("file"); got != "old\n" {
		t.Errorf("the file holds %q", got)
	}
	g.noLitter()
}

func TestEdit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, before, after string
		args                args
		summary, diff       string
	}{
		{"replace", "a\nb\nc\n", "a\nB\nc\n", args{"old": "b", "new": "B"},
			"edited f: 1 change, +1 −1 lines, from line 2 on", "@@ line 2 @@\n-b\n+B\n"},
		{"replace all", "x x\ny\nx\n", "z z\ny\nz\n", args{"old": "x", "new": "z", "all": true},
			"edited f: 3 changes, +2 −2 lines, from line 1 on", "@@ line 1 @@\n-x x\n+z z\n@@ line 3 @@\n-x\n+z\n"},
		{"replace so many", "x x\n", "z z\n", args{"old": "x", "new": "z", "count": 2},
			"edited f: 2 changes, +1 −1 lines, from line 1 on", "@@ line 1 @@\n-x x\n+z z\n"},
		{"delete text", "a b c\n", "a c\n", args{"old": " b", "new": ""},
			"edited f: 1 change, +1 −1 lines, from line 1 on", "@@ line 1 @@\n-a b c\n+a c\n"},
		{"delete lines", "a\nb\nc\nd\n", "a\nd\n", args{"op": "replace_lines", "line": 2, "end_line": 3, "new": ""},
			"edited f: 1 change, +0 −2 lines, from line 2 on", "@@ line 2 @@\n-b\n-c\n"},
		{"insert", "a\nb\n", "a\nnew\nb\n", args{"op": "insert", "line": 2, "new": "new"},
			"edited f: 1 change, +1 −0 lines, from line 2 on", "@@ line 2 @@\n+new\n"},
		{"append", "a\n", "a\nb\n", args{"op": "append", "new": "b\n"}, "edited f: 1 change, +1 −0 lines, from line 2 on",
			"@@ line 2 @@\n+b\n"},
		{"CRLF", "a\r\nb\r\nc\r\n", "a\r\nx\r\ny\r\nc\r\n", args{"old": "b\n", "new": "x\ny\n"},
			"edited f: 1 change, +2 −1 lines, from line 2 on", "@@ line 2 @@\n-b\n+x\n+y\n"},
		{"mark", "\xef\xbb\xbfa\nb\n", "\xef\xbb\xbfx\nb\n", args{"op": "replace_lines", "line": 1, "new": "x"},
			"edited f: 1 change, +1 −1 lines, from line 1 on", "@@ line 1 @@\n-a\n+x\n"},
		{"UTF-16", wide(binary.LittleEndian, "\ufeffhé\r\n日\r\n"), wide(binary.LittleEndian, "\ufeffhé\r\n本!\r\n"),
			args{"old": "日", "new": "本!"}, "edited f: 1 change, +1 −1 lines, from line 2 on", "@@ line 2 @@\n-日\n+本!\n"},
		{"bytes that are not UTF-8 stay", "caf\xe9\nb\n", "caf\xe9\nB\n", args{"old": "b", "new": "B"},
			"edited f: 1 change, +1 −1 lines, from line 2 on", "@@ line 2 @@\n-b\n+B\n"},
		{"several", "a\nb\nc\n", "0\na\nC\nd\n",
			args{"edits": []args{{"op": "append", "new": "d"}, {"old": "c", "new": "C"}, {"op": "insert", "line": 1, "new": "0"}, {"line": 2, "end_line": 2, "new": ""}}},
			"edited f: 4 changes, +3 −2 lines, from line 1 on",
			"@@ line 1 @@\n+0\n@@ line 2 @@\n-b\n@@ line 3 @@\n-c\n+C\n@@ line 4 @@\n+d\n"},
		{"nothing new", "a\nb\n", "a\nb\n", args{"op": "replace_lines", "line": 1, "new": "a"},
			"f already held exactly that; left as it was", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := newFixture(t)
			g.put("f", test.before)
			test.args["path"] = "f"
			r := g.call("edit", test.args)
			if diff := cmp.Diff(test.after, g.get("f")); diff != "" {
				t.Error(diff)
			}
			if r.Summary != test.summary {
				t.Errorf("summary %q, want %q", r.Summary, test.summary)
			}
			if diff := cmp.Diff(test.diff, text(r)); diff != "" {
				t.Error(diff)
			}
			g.noLitter()
		})
	}
}

func TestEditRefusals(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	g.put("f", "func Open() error {\n\treturn nil\n}\n\nx = 1\nx = 1\n")
	g.put("bin", "a\x00b")
	g.put("torn", "\xff\xfea\x00\xd8")
	before := g.get("f")
	for _, test := range []struct {
		name  string
		args  args
		kind  tool.Kind
		words []string
	}{
		{"not there", args{"old": "func Opne() error {", "new": "x"}, tool.NotFound,
			[]string{`"f"`, "does not occur", "line 1: func Open() error {"}},
		{"other white space", args{"old": "func Open() error {\n    return nil\n}", "new": "x"}, tool.NotFound,
			[]string{"white space", "line 1"}},
		{"twice there", args{"old": "x = 1", "new": "x = 2"}, tool.Ambiguous, []string{"2 times", "at line 5, 6", "all"}},
		{"not so often", args{"old": "x = 1", "new": "x = 2", "count": 3}, tool.Conflict, []string{"2 times, not 3"}},
		{"no lines like that", args{"op": "replace_lines", "line": 5, "end_line": 9, "new": "x"}, tool.Invalid,
			[]string{"lines 5 to 9", "6 lines"}},
		{"no line like that", args{"op": "insert", "line": 9, "new": "x"}, tool.Invalid, []string{"line 9", "1 to 7"}},
		{"nothing to do", args{}, tool.Invalid, []string{"no edit"}},
		{"nothing to insert", args{"op": "append"}, tool.Invalid, []string{"empty"}},
		{"unclear", args{"new": "x"}, tool.Invalid, []string{"not clear"}},
		{"no change", args{"old": "x", "new": "x"}, tool.Invalid, []string{"the same"}},
		{"two forms", args{"old": "a", "new": "b", "edits": []args{{"old": "x", "new": "y"}}}, tool.Invalid,
			[]string{"into edits"}},
		{"overlap",
			args{"edits": []args{{"old": "return nil", "new": "x"}, {"op": "replace_lines", "line": 2, "new": "y"}}},
			tool.Invalid, []string{"overlap at line 2"}},
		{"one of several", args{"edits": []args{{"old": "return nil", "new": "x"}, {"old": "missing text", "new": "y"}}},
			tool.NotFound, []string{"edit 2 of 2", "none was made"}},
		{"binary", args{"path": "bin", "old": "a", "new": "b"}, tool.Invalid, []string{"binary"}},
		{"torn UTF-16", args{"path": "torn", "old": "a", "new": "b"}, tool.Invalid, []string{"without loss"}},
		{"no file", args{"path": "g", "old": "a", "new": "b"}, tool.NotFound, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			g.t = t
			if test.args["path"] == nil {
				test.args["path"] = "f"
			}
			g.refused(test.kind, "edit", test.args, test.words...)
			if diff := cmp.Diff(before, g.get("f")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	g.put("file", "x")
	g.put("dir/a/b", "x")
	check(t, os.Mkdir(filepath.Join(g.dir, "empty"), 0o755))
	g.link("dir", "link")
	g.link("../outside", "away")
	g.link("nowhere", "dangling")
	for _, step := range []struct {
		args    args
		summary string
	}{
		{args{"path": "file"}, "deleted the file file"},
		{args{"path": "empty"}, "deleted the dir empty"},
		{args{"path": "link"}, "deleted the link link"},
		{args{"path": "away", "recursive": true}, "deleted the link away"},
		{args{"path": "dangling"}, "deleted the link dangling"},
	} {
		if got := g.call("delete", step.args).Summary; got != step.summary {
			t.Errorf("%v: %q, want %q", step.args, got, step.summary)
		}
	}
	g.outsideUntouched()
	g.refused(tool.NotFound, "delete", args{"path": "file"})
	g.refused(tool.Invalid, "delete", args{"path": "dir"}, "2 entries", "recursive")
	for _, path := range []string{".", "", g.dir, "dir/..", "./"} {
		if path != "" {
			g.refused(tool.Denied, "delete", args{"path": path, "recursive": true}, "workspace itself")
		}
	}
	got := g.call("delete", args{"path": "dir", "recursive": true}).Summary
	if got != "deleted the dir dir with 2 entries" {
		t.Error(got)
	}
	if entries, err := os.ReadDir(g.dir); err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

func TestMove(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	g.put("a", "A")
	g.put("b", "B")
	g.put("dir/c", "C")
	g.link("a", "link")
	g.refused(tool.Conflict, "move", args{"from": "a", "to": "b"}, "exists already", "overwrite")
	g.refused(tool.Conflict, "move", args{"from": "a", "to": "dir", "overwrite": true}, "is a directory", `"dir/a"`)
	g.refused(tool.Conflict, "move", args{"from": "dir", "to": "a", "overwrite": true}, "cannot replace")
	g.refused(tool.Invalid, "move", args{"from": "dir", "to": "dir/sub/dir"}, "into itself")
	g.refused(tool.Invalid, "move", args{"from": "a", "to": "./a"}, "the same")
	g.refused(tool.Denied, "move", args{"from": ".", "to": "x"}, "workspace itself")
	g.refused(tool.Denied, "move", args{"from": "a", "to": ".", "overwrite": true}, "workspace itself")
	g.refused(tool.NotFound, "move", args{"from": "nope.txt", "to": "x"})
	g.call("move", args{"from": "a", "to": "b", "overwrite": true})
	g.call("move", args{"from": "dir", "to": "new/place/dir"})
	g.call("move", args{"from": "link", "to": "moved-link"})
	if got := g.get("b") + g.get("new/place/dir/c"); got != "AC" {
		t.Errorf("moved: %q", got)
	}
	if to, err := os.Readlink(filepath.Join(g.dir, "moved-link")); err != nil || to != "a" {
		t.Errorf("the link now says %q, %v", to, err)
	}
	check(t, os.Link(filepath.Join(g.dir, "b"), filepath.Join(g.dir, "twin")))
	g.call("move", args{"from": "b", "to": "twin", "overwrite": true})
	if _, err := os.Stat(filepath.Join(g.dir, "b")); !os.IsNotExist(err) {
		t.Errorf("the other name of the file is still there: %v", err)
	}
}
