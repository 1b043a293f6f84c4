package textedit_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module/filesystem/textedit"
	"callgate/tool"
)

func edited(text string, edits ...textedit.Edit) (string, *tool.Error) {
	spans, err := textedit.Plan([]byte(text), edits)
	if err != nil {
		return text, err
	}
	after, err := textedit.Apply([]byte(text), spans)
	if err != nil {
		return text, err
	}
	return string(after), nil
}

func TestEdits(t *testing.T) {
	replace := func(old, new string) textedit.Edit { return textedit.Edit{Op: textedit.Replace, Old: old, New: new} }
	lines := func(from, to int, new string) textedit.Edit {
		return textedit.Edit{Op: textedit.ReplaceLines, Line: from, EndLine: to, New: new}
	}
	insert := func(line int, new string) textedit.Edit {
		return textedit.Edit{Op: textedit.Insert, Line: line, New: new}
	}
	add := func(new string) textedit.Edit { return textedit.Edit{Op: textedit.Append, New: new} }
	for _, test := range []struct {
		name, before, after string
		edits               []textedit.Edit
	}{
		{"replace", "a b", "a c", []textedit.Edit{replace("b", "c")}},
		{"LF asked, CRLF there", "a\r\nb\r\n", "x\r\ny\r\nb\r\n", []textedit.Edit{replace("a\n", "x\ny\n")}},
		{"new lines in a CRLF text", "a\r\n", "x\r\ny\r\n", []textedit.Edit{replace("a", "x\ny")}},
		{"CRLF asked, LF there", "a\nb\n", "x\ny\n", []textedit.Edit{replace("a\r\nb", "x\r\ny")}},
		{"mixed, as given", "a\r\nb\nc\n", "a\r\nx\nc\n", []textedit.Edit{replace("b\n", "x\n")}},
		{"mixed, the other ending", "a\r\nb\nc\n", "x\r\nb\nc\n", []textedit.Edit{replace("a\n", "x\n")}},
		{"mixed, no newline asked for", "a\r\nb\n", "a\r\nx\ny\n", []textedit.Edit{replace("b", "x\ny")}},
		{"lines", "a\nb\nc\n", "a\nx\ny\n", []textedit.Edit{lines(2, 3, "x\ny")}},
		{"lines, newline given", "a\nb\nc\n", "a\nx\nc\n", []textedit.Edit{lines(2, 2, "x\n")}},
		{"last line without newline", "a\nb", "a\nx", []textedit.Edit{lines(2, 2, "x\n")}},
		{"lines in CRLF", "a\r\nb\r\n", "x\r\ny\r\nb\r\n", []textedit.Edit{lines(1, 1, "x\ny")}},
		{"delete all lines", "a\nb\n", "", []textedit.Edit{lines(1, 2, "")}},
		{"insert first", "a\n", "x\na\n", []textedit.Edit{insert(1, "x")}},
		{"insert last", "a\n", "a\nx\n", []textedit.Edit{insert(2, "x")}},
		{"insert last, no newline", "a", "a\nx", []textedit.Edit{insert(2, "x")}},
		{"an empty line", "a\nb\n", "a\n\nb\n", []textedit.Edit{insert(2, "\n")}},
		{"append", "a\n", "a\nx\n", []textedit.Edit{add("x")}},
		{"append, no newline", "a", "a\nx", []textedit.Edit{add("x\n")}},
		{"append, CRLF", "a\r\nb\r\n", "a\r\nb\r\nx\r\ny\r\n", []textedit.Edit{add("x\ny")}},
		{"append to nothing", "", "x\n", []textedit.Edit{add("x")}},
		{"append twice", "a", "a\nx\ny", []textedit.Edit{add("x"), add("y")}},
		{"insert into nothing", "", "x\n", []textedit.Edit{insert(1, "x")}},
		{"numbers do not shift", "a\nb\nc\n", "1\n2\na\nB\nc\n", []textedit.Edit{insert(1, "1\n2"), lines(2, 2, "B")}},
		{"order does not matter", "a\nb\nc\n", "1\n2\na\nB\nc\n", []textedit.Edit{lines(2, 2, "B"), insert(1, "1\n2")}},
		{"insert before what is replaced", "a\nb\n", "x\nB\nb\n", []textedit.Edit{lines(1, 1, "B"), insert(1, "x")}},
		{"insertions keep their order", "a\n", "1\n2\na\n", []textedit.Edit{insert(1, "1"), insert(1, "2")}},
		{"last line and append", "a\nb", "a\nB\nc", []textedit.Edit{lines(2, 2, "B"), add("c")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := edited(test.before, test.edits...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.after, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsNotFoundIsExplained(t *testing.T) {
	const text = "alpha beta gamma\n\tif x == nil {\n\t\treturn\n\t}\nalpha beta delta\n"
	for _, test := range []struct{ name, old, hint string }{
		{"white space", "if x == nil {\n  return\n}", "differs only in white space from what begins at line 2"},
		{"a typing error", "alpha beta gamna", "line 1: alpha beta gamma; line 5: alpha beta delta"},
		{"nothing like it", "zebra crossing", "read the file again"},
		{"only white space", "\t\t\t\t", "read the file again"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := edited(text, textedit.Edit{Op: textedit.Replace, Old: test.old, New: "y"})
			if err == nil || err.Kind != tool.NotFound || !strings.Contains(err.Hint, test.hint) {
				t.Errorf("%v", err)
			}
		})
	}
}

// model makes edits in a slow and simple way, to compare with: a slot before every
// byte, and one at the end, each with the text that is inserted there; and a mark on
// every byte that is removed. It reports false if an edit has no place.
func model(text string, edits []textedit.Edit) (string, bool) {
	inserted, replaced := make([]string, len(text)+1), make([]string, len(text)+1)
	gone, begins := make([]bool, len(text)), make([]bool, len(text))
	newline := "\n"
	crlf := strings.Contains(text, "\r\n")
	if crlf {
		newline = "\r\n" // the texts of the fuzz test are of one kind
	}
	fit := func(s string) string {
		if crlf {
			return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
		}
		return s
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	at := func(line int) int { return len(strings.Join(lines[:line-1], "")) }
	open := text != "" && !strings.HasSuffix(text, "\n")
	asLines := func(s string, atEnd bool) string {
		s = fit(s)
		if s != "" && !strings.HasSuffix(s, "\n") {
			s += newline
		}
		if atEnd && open {
			s = strings.TrimSuffix(s, newline)
		}
		return s
	}
	take := func(from, to int, with string) bool {
		for i := from; i < to; i++ {
			if gone[i] {
				return false
			}
			gone[i] = true
		}
		replaced[from], begins[from] = with, true
		return true
	}
	for _, e := range edits {
		switch e.Op {
		case textedit.Replace:
			old, new := e.Old, e.New
			if crlf {
				old, new = fit(old), fit(new)
			} else if !strings.Contains(text, old) {
				old, new = strings.ReplaceAll(old, "\r\n", "\n"), strings.ReplaceAll(new, "\r\n", "\n")
			}
			n := strings.Count(text, old)
			if e.Old == "" || e.Old == e.New || n == 0 || n > 1 && !e.All && e.Count == 0 || e.Count > 0 && e.Count != n {
				return "", false
			}
			for from := 0; ; {
				i := strings.Index(text[from:], old)
				if i < 0 {
					break
				}
				if !take(from+i, from+i+len(old), new) {
					return "", false
				}
				from += i + len(old)
			}
		case textedit.ReplaceLines:
			if e.Line < 1 || e.EndLine < e.Line || e.EndLine > len(lines) {
				return "", false
			}
			if !take(at(e.Line), at(e.EndLine+1), asLines(e.New, e.EndLine == len(lines))) {
				return "", false
			}
		case textedit.Insert, textedit.Append:
			line := e.Line
			if e.Op == textedit.Append {
				line = len(lines) + 1
			}
			if line < 1 || line > len(lines)+1 || e.New == "" {
				return "", false
			}
			s := asLines(e.New, line == len(lines)+1)
			if line == len(lines)+1 && open {
				s = newline + s
			}
			inserted[at(line)] += s
		}
	}
	var b strings.Builder
	for i := range len(text) + 1 {
		if inserted[i] != "" && i > 0 && i < len(text) && gone[i] && gone[i-1] && !begins[i] {
			return "", false // inside a range that goes
		}
		b.WriteString(inserted[i])
		b.WriteString(replaced[i])
		if i < len(text) && !gone[i] {
			b.WriteByte(text[i])
		}
	}
	return b.String(), true
}

func FuzzEdit(f *testing.F) {
	f.Add("a\nb\nc\n", false, []byte{0, 0, 1, 2, 1, 1, 1, 3, 2, 0, 2, 5})
	f.Add("a\nb", true, []byte{3, 9, 9, 9, 1, 2, 2, 0})
	f.Add("", false, []byte{2, 1, 0, 7})
	f.Add("aa\naa\n", false, []byte{0, 0, 0x80, 4, 3, 1, 1, 1})
	news := []string{"", "x", "x\n", "x\ny", "\n", "x\r\ny", "aa", "\r\n"}
	f.Fuzz(func(t *testing.T, text string, crlf bool, script []byte) {
		text = strings.ReplaceAll(text, "\r", "")
		if crlf {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		var edits []textedit.Edit
		for ; len(script) >= 4 && len(edits) < 4; script = script[4:] {
			a, b := int(script[1]), int(script[2])
			e := textedit.Edit{New: news[int(script[3])%len(news)]}
			switch script[0] % 4 {
			case 0:
				e.Op, e.All, e.Count = textedit.Replace, b&0x80 != 0, int(script[3]>>4)%3
				if len(text) > 0 {
					from := a % len(text)
					e.Old = text[from:min(len(text), from+1+b%4)]
				}
				if b&0x40 != 0 {
					e.Old = strings.ReplaceAll(e.Old, "\r\n", "\n")
				}
				if strings.HasPrefix(e.Old, "\n") != strings.HasPrefix(e.Old, "\r\n") && crlf && b&0x40 == 0 {
					continue // half of a line ending
				}
			case 1:
				e.Op, e.Line = textedit.ReplaceLines, a%8
				e.EndLine = e.Line + b%3
			case 2:
				e.Op, e.Line = textedit.Insert, a%8
			case 3:
				e.Op = textedit.Append
			}
			edits = append(edits, e)
		}
		want, ok := model(text, edits)
		before := bytes.Clone([]byte(text))
		got, err := edited(text, edits...)
		if !bytes.Equal(before, []byte(text)) {
			t.Fatal("the text that went in was changed")
		}
		if (err == nil) != ok || ok && got != want {
			t.Fatalf("%q %+v:\n got %q, %v\nwant %q, %v", text, edits, got, err, want, ok)
		}
		if spans, err := textedit.Plan([]byte(text), edits); err == nil {
			textedit.ChangeOf([]byte(text), spans)
		}
	})
}

// The change that is counted is the difference, and the hunks that are shown add up.
func FuzzDifference(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nx\nc\n")
	f.Add("", "a")
	f.Add("aaa", "aa")
	f.Fuzz(func(t *testing.T, old, new string) {
		spans := textedit.DiffSpan([]byte(old), []byte(new))
		if got, err := textedit.Apply([]byte(old), spans); err != nil || string(got) != new {
			t.Fatalf("the difference of %q and %q gives %q, %v", old, new, got, err)
		}
		c := textedit.ChangeOf([]byte(old), spans)
		before, after := lineCount(old), lineCount(new)
		if after-before != c.Added-c.Removed || (old != new) != (c.FirstLine > 0) {
			t.Fatalf("%q to %q: %+v, but %d lines became %d", old, new, c, before, after)
		}
	})
}

func lineCount(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}
