package filesystem_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"callgate/tool"
)

type readData struct {
	Path       string `json:"path"`
	Size       int    `json:"size"`
	FirstLine  int    `json:"first_line"`
	Lines      int    `json:"lines"`
	TotalLines int    `json:"total_lines"`
	Truncated  bool   `json:"truncated"`
	NextOffset int    `json:"next_offset"`
	CutLines   int    `json:"cut_lines"`
	Encoding   string `json:"encoding"`
	MIME       string `json:"mime"`
}

func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	g.put("ten", numbered(1, 10))
	g.put("open", "a\nb")
	g.put("empty", "")
	g.put("crlf", "a\r\nb\r\n")
	g.put("mark", "\xef\xbb\xbfa\nb\n")
	g.put("wide", wide(binary.LittleEndian, "\ufeffhé\r\n日本\n"))
	g.put("wide-be", wide(binary.BigEndian, "\ufeffhé\r\n日本\n"))
	g.put("latin", "d\xe9j\xe0 vu, a long enough line of text\n")
	g.put("日本/ファイル 1.txt", "こんにちは\n")
	g.put("big", numbered(1, 5000))
	for _, test := range []struct {
		name    string
		args    args
		text    string
		summary string
		data    readData
	}{
		{"whole", args{"path": "ten"}, numbered(1, 10), "ten: 10 lines, all of it",
			readData{Size: 71, FirstLine: 1, Lines: 10, TotalLines: 10}},
		{"zeros mean nothing", args{"path": "ten", "offset": 0, "limit": 0, "head": 0, "tail": 0}, numbered(1, 10),
			"ten: 10 lines, all of it", readData{Size: 71, FirstLine: 1, Lines: 10, TotalLines: 10}},
		{"offset and limit", args{"path": "ten", "offset": 3, "limit": 2}, numbered(3, 4),
			"ten: lines 3 to 4 of 10; 6 more lines; continue with offset=5",
			readData{Size: 71, FirstLine: 3, Lines: 2, TotalLines: 10, Truncated: true, NextOffset: 5}},
		{"offset to the end", args{"path": "ten", "offset": 9}, numbered(9, 10), "ten: lines 9 to 10 of 10",
			readData{Size: 71, FirstLine: 9, Lines: 2, TotalLines: 10}},
		{"head", args{"path": "ten", "head": 9}, numbered(1, 9),
			"ten: lines 1 to 9 of 10; 1 more line; continue with offset=10",
			readData{Size: 71, FirstLine: 1, Lines: 9, TotalLines: 10, Truncated: true, NextOffset: 10}},
		{"tail", args{"path": "ten", "tail": 3}, numbered(8, 10), "ten: lines 8 to 10 of 10",
			readData{Size: 71, FirstLine: 8, Lines: 3, TotalLines: 10}},
		{"tail of everything", args{"path": "ten", "tail": 30}, numbered(1, 10), "ten: 10 lines, all of it",
			readData{Size: 71, FirstLine: 1, Lines: 10, TotalLines: 10}},
		{"numbers", args{"path": "open", "line_numbers": true}, "     1\ta\n     2\tb", "open: 2 lines, all of it",
			readData{Size: 3, FirstLine: 1, Lines: 2, TotalLines: 2}},
		{"numbers of a tail", args{"path": "open", "line_numbers": true, "tail": 1}, "     2\tb",
			"open: lines 2 to 2 of 2", readData{Size: 3, FirstLine: 2, Lines: 1, TotalLines: 2}},
		{"empty", args{"path": "empty"}, "empty is empty\n", "empty is empty", readData{FirstLine: 1}},
		{"empty from its end", args{"path": "empty", "tail": 5}, "empty is empty\n", "empty is empty", readData{FirstLine: 1}},
		{"CRLF is kept", args{"path": "crlf"}, "a\r\nb\r\n", "crlf: 2 lines, all of it",
			readData{Size: 6, FirstLine: 1, Lines: 2, TotalLines: 2}},
		{"mark is not text", args{"path": "mark", "head": 1}, "a\n",
			"mark: lines 1 to 1 of 2; 1 more line; continue with offset=2",
			readData{Size: 7, FirstLine: 1, Lines: 1, TotalLines: 2, Truncated: true, NextOffset: 2, Encoding: "utf-8 with byte order mark"}},
		{"UTF-16", args{"path": "wide"}, "hé\r\n日本\n", "wide: 2 lines, all of it",
			readData{Size: 16, FirstLine: 1, Lines: 2, TotalLines: 2, Encoding: "utf-16le"}},
		{"UTF-16, the other way", args{"path": "wide-be", "tail": 1}, "日本\n", "wide-be: lines 2 to 2 of 2",
			readData{Size: 16, FirstLine: 2, Lines: 1, TotalLines: 2, Encoding: "utf-16be"}},
		{"older encodings", args{"path": "latin"}, "d�j� vu, a long enough line of text\n", "latin: 1 line, all of it",
			readData{Size: 36, FirstLine: 1, Lines: 1, TotalLines: 1}},
		{"names in any script", args{"path": "日本/ファイル 1.txt"}, "こんにちは\n", "日本/ファイル 1.txt: 1 line, all of it",
			readData{Path: "日本/ファイル 1.txt", Size: 16, FirstLine: 1, Lines: 1, TotalLines: 1}},
		{"default", args{"path": "big"}, numbered(1, 2000),
			"big: lines 1 to 2000 of 5000; 3000 more lines; continue with offset=2001",
			readData{Size: 48893, FirstLine: 1, Lines: 2000, TotalLines: 5000, Truncated: true, NextOffset: 2001}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g.t = t
			if _, chosen := test.args["line_numbers"]; !chosen {
				test.args["line_numbers"] = false
			}
			r := g.call("read", test.args)
			if diff := cmp.Diff(test.text, text(r)); diff != "" {
				t.Error(diff)
			}
			if r.Summary != test.summary {
				t.Errorf("summary %q, want %q", r.Summary, test.summary)
			}
			if test.data.Path == "" {
				test.data.Path = test.args["path"].(string)
			}
			if test.data.Encoding == "" {
				test.data.Encoding = "utf-8"
			}
			if diff := cmp.Diff(test.data, data[readData](t, r)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadRefusals(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	g.put("src/main.go", "x\n")
	g.put("src/maim_test.go", "x\n")
	g.put("program", "\x7fELF\x02\x01\x00\x00")
	g.put("koi8", strings.Repeat("\xd0\xd2\xc9\xd7\xc5\xd4 ", 50))
	for _, test := range []struct {
		name  string
		args  args
		kind  tool.Kind
		words []string
	}{
		{"a typing error", args{"path": "src/mian.go"}, tool.NotFound, []string{`did you mean "src/main.go"`}},
		{"a wrong directory", args{"path": "scr/main.go"}, tool.NotFound, []string{`did you mean "src"`}},
		{"nothing like it", args{"path": "src/deep/down/xyzzy.c"}, tool.NotFound,
			[]string{`"src" exists, but has no "deep"`}},
		{"a file for a directory", args{"path": "src/main.go/x"}, tool.NotFound, []string{"not a directory"}},
		{"a directory", args{"path": "src"}, tool.Invalid, []string{"is a directory", "filesystem.list"}},
		{"the workspace", args{"path": "."}, tool.Invalid, []string{"is a directory"}},
		{"binary", args{"path": "program"}, tool.Invalid, []string{"binary", "xxd"}},
		{"hardly UTF-8", args{"path": "koi8"}, tool.Invalid, []string{"binary"}},
		{"past the end", args{"path": "src/main.go", "offset": 9}, tool.Invalid, []string{"has 1 line", "offset up to 1"}},
		{"two ways at once", args{"path": "src/main.go", "head": 1, "tail": 1}, tool.Invalid, []string{"mix"}},
		{"head and offset", args{"path": "src/main.go", "head": 1, "offset": 2}, tool.Invalid, []string{"mix"}},
		{"an empty path", args{"path": " "}, tool.Invalid, []string{"empty"}},
		{"a zero byte", args{"path": "a\x00b"}, tool.Invalid, []string{"zero byte"}},
		{"a name too long", args{"path": strings.Repeat("x", 300)}, tool.Invalid, []string{"too long"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g.t = t
			g.refused(test.kind, "read", test.args, test.words...)
		})
	}
	g.t = t
	e := g.refused(tool.NotFound, "read", args{"path": "src/main_test.go"})
	if !cmp.Equal(e.Similar, []string{"src/maim_test.go"}) {
		t.Errorf("similar: %q", e.Similar)
	}
}

func TestReadOfLongLines(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	g.put("long", "short\n"+strings.Repeat("é", 200_000)+"\nend\n")
	r := g.call("read", args{"path": "long", "line_numbers": false})
	got := text(r)
	lines := strings.Split(got, "\n")
	if len(lines) != 4 || lines[0] != "short" || lines[2] != "end" || !utf8.ValidString(got) || len(got) > 3000 ||
		!strings.Contains(lines[1], "… [cut: the line has 400001 bytes]") {
		t.Errorf("%d lines, %d bytes: %.200q", len(lines), len(got), got)
	}
	d := data[readData](t, r)
	if d.CutLines != 1 || !d.Truncated || d.Lines != 3 || len(r.Warnings) != 1 {
		t.Errorf("%+v, warnings %q", d, r.Warnings)
	}
	d = data[readData](t, g.call("read", args{"path": "long", "tail": 2}))
	if d.Lines != 1 || !d.Truncated || d.FirstLine != 3 {
		t.Errorf("from the end: %+v", d)
	}
	g.put("one", strings.Repeat("x", 1<<20))
	d = data[readData](t, g.call("read", args{"path": "one", "tail": 1}))
	if d.Lines != 1 || d.FirstLine != 1 || d.CutLines != 1 {
		t.Errorf("one line: %+v", d)
	}
}

func TestReadIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	line := strings.Repeat("x", 999) + "\n"
	g.put("wide", strings.Repeat(line, 1000))
	r := g.call("read", args{"path": "wide", "line_numbers": false})
	d := data[readData](t, r)
	if len(text(r)) > 81<<10 || d.Lines != 82 || d.NextOffset != 83 || d.TotalLines != 1000 {
		t.Errorf("%d bytes, %+v", len(text(r)), d)
	}
	// The pages, one after the other, are the file.
	var all strings.Builder
	for offset := 1; offset > 0; {
		r := g.call("read", args{"path": "wide", "offset": offset, "line_numbers": false})
		all.WriteString(text(r))
		offset = data[readData](t, r).NextOffset
	}
	if all.String() != g.get("wide") {
		t.Error("the pages do not make up the file")
	}
	r = g.call("read", args{"path": "wide", "tail": 1000})
	if d = data[readData](t, r); d.Lines != 81 || !d.Truncated || d.FirstLine != 920 || len(text(r)) > 80<<10 {
		t.Errorf("from the end: %+v", d)
	}
	want := tool.Cut{Unit: "lines", First: 920, Last: 1000, Total: 1000, Advice: "read earlier lines with offset and limit"}
	if r.Cut == nil || *r.Cut != want {
		t.Errorf("cut %+v", r.Cut)
	}
	// Short lines have more numbers than text, and the end is still there.
	g.put("short", strings.Repeat("x\n", 20_000))
	r = g.call("read", args{"path": "short", "tail": 20_000})
	if got := text(r); len(got) > 80<<10 || !strings.HasSuffix(got, " 20000\tx\n") {
		t.Errorf("%d bytes, which end in %q", len(got), got[len(got)-20:])
	}
}

func TestReadOfPictures(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	var b bytes.Buffer
	check(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))))
	g.put("dot.txt", b.String()) // the name does not matter
	r := g.call("read", args{"path": "dot.txt"})
	if len(r.Content) != 1 || r.Content[0].Type != "image" || r.Content[0].MIME != "image/png" ||
		!bytes.Equal(r.Content[0].Data, b.Bytes()) {
		t.Errorf("%+v", r.Content)
	}
	if d := data[readData](t, r); d.MIME != "image/png" || d.Truncated {
		t.Errorf("%+v", d)
	}
	check(t, os.Truncate(filepath.Join(g.dir, "dot.txt"), 6<<20))
	g.refused(tool.Invalid, "read", args{"path": "dot.txt"}, "6.0 MiB", "5.0 MiB")
}
