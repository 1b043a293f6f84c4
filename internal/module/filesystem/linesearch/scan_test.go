package linesearch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module/filesystem/textfile"
)

// memory is a source of files in memory.
type memory map[string]string

func (m memory) Open(name string) (File, int64, error) {
	text, ok := m[name]
	if !ok {
		return nil, 0, fs.ErrNotExist
	}
	return struct {
		*bytes.Reader
		io.Closer
	}{bytes.NewReader([]byte(text)), io.NopCloser(nil)}, int64(len(text)), nil
}

func (m memory) Close() error { return nil }

// model is a slow search, line by line, to compare with. What the first window
// holds decides whether the file is binary.
func model(re *regexp.Regexp, text string, around, window int) *FileResult {
	if strings.Contains(text[:min(len(text), window, textfile.SniffLen)], "\x00") {
		return nil
	}
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "\xef\xbb\xbf"), "\x00")
	lines := strings.Split(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	found := &FileResult{}
	show := map[int]bool{}
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
		if re.MatchString(lines[i]) {
			found.Count++
			for j := i - around; j <= i+around; j++ {
				show[j] = true
			}
		}
	}
	for i, line := range lines {
		if show[i] {
			valid, _ := textfile.Valid([]byte(line))
			found.Lines = append(found.Lines, Line{i + 1, re.MatchString(line), valid})
		}
	}
	if found.Count == 0 {
		return nil
	}
	return found
}

// search runs one file through a worker with a buffer of the given size.
func search(m *Matcher, text string, around, buffer int) *FileResult {
	w := &worker{
		Scan: Scan{Matcher: m, Mode: Content, Context: around, Limit: 1 << 30},
		ctx:  context.Background(), source: memory{"": text}, buf: make([]byte, buffer),
	}
	return w.file("")
}

func FuzzSearch(f *testing.F) {
	f.Add("foo", "a\nfoo\nb\n", false, false, uint8(1), uint16(1))
	f.Add("^$", "\r\n\n\r", false, false, uint8(0), uint16(3))
	f.Add("(foo|bar)+x?", "fooBARx\nxfoo", true, false, uint8(2), uint16(4))
	f.Add("K", "\u212a\nk\n", true, true, uint8(0), uint16(1))
	f.Add("caf.", "\xef\xbb\xbfcaf\xe9\n\x00caf\xe9", false, false, uint8(0), uint16(2))
	f.Add(`\bfoo$`, strings.Repeat("foo bar foo\r\n", 20), false, false, uint8(3), uint16(1))
	f.Fuzz(func(t *testing.T, expr, text string, fold, literal bool, around uint8, buffer uint16) {
		m, err := New(expr, literal, fold)
		if err != nil {
			return
		}
		if e := textfile.EncodingOf([]byte(text)); e.Wide() || len(text) > maxShown {
			return
		}
		window := max(4, int(buffer))
		want := model(m.re, text, int(around%8), window)
		got := search(m, text, int(around%8), window)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q in %q:\n%s", expr, text, diff)
		}
	})
}

func TestLinesLongerThanTheWindow(t *testing.T) {
	m, err := New("needle", true, false)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", maxChunk+maxChunk/2)
	text := "first\n" + long + "needle" + long + "\nlast needle\n"
	found := search(m, text, 1, 16)
	if found == nil || found.Count != 2 || found.Lines[len(found.Lines)-1].Number != 3 {
		t.Fatalf("%+v", found)
	}
}

func TestNeedles(t *testing.T) {
	for _, test := range []struct {
		expr string
		fold bool
		want string
	}{
		{"foo", false, "foo"},
		{"fo+bar", false, "bar"},
		{"(alpha|beta)x", false, "alpha beta"},
		{"a.*longer", false, "longer"},
		{"x*", false, ""},
		{"(foo)?", false, ""},
		{"(?:foo){2,3}", false, "foo"},
		{"Password", true, "word"},
		{"kiss", true, "i"},
		{"sss", true, ""},
		{"[abc]d", false, "d"},
		{"�x", false, ""},
		{"a|", false, ""},
	} {
		m, err := New(test.expr, false, test.fold)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(bytes.Join(m.needles, []byte(" "))); got != test.want {
			t.Errorf("%q: %q, want %q", test.expr, got, test.want)
		}
	}
}

// TestLimit: the result is the same whatever the number of files
// and the limit.
func TestLimit(t *testing.T) {
	m, err := New("x", false, false)
	if err != nil {
		t.Fatal(err)
	}
	files, names := memory{}, []string{}
	for i := range 300 {
		name := fmt.Sprintf("%03d", i)
		names = append(names, name)
		files[name] = strings.Repeat("x\n", i%4)
	}
	for _, mode := range []Mode{Content, Files, Count} {
		scan := Scan{Matcher: m, Mode: mode, Limit: 1 << 30, Source: func() Source { return files }}
		all, truncated, err := scan.Run(t.Context(), names)
		if err != nil || truncated || len(all) != 225 {
			t.Fatalf("%s: %d files, %v, %v", mode, len(all), truncated, err)
		}
		for _, limit := range []int{1, 2, 3, 50, 224, 225, 449, 450} {
			scan.Limit = limit
			got, truncated, err := scan.Run(t.Context(), names)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0
			for i, f := range got {
				sum += scan.weight(f)
				if f.Path != all[i].Path {
					t.Fatalf("%s, limit %d: file %d is %s, not %s", mode, limit, i, f.Path, all[i].Path)
				}
			}
			most := len(all)
			if mode == Content {
				most = 450
			}
			if sum != min(limit, most) || truncated != (limit < most) {
				t.Errorf("%s, limit %d: %d given, truncated %v", mode, limit, sum, truncated)
			}
		}
	}
}

func TestExpressions(t *testing.T) {
	for expr, ok := range map[string]bool{
		"a(": false, "a\nb": false, `a\n`: false, "(?=a)": false, `(a)\1`: false, "[a-": false,
		"a": true, `\s`: true, "[^a]": true, "(?i)a": true, strings.Repeat("a", 20_000): false,
	} {
		if _, err := New(expr, false, false); (err == nil) != ok {
			t.Errorf("%.20q: %v", expr, err)
		}
	}
}
