package textfile_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module/filesystem/textfile"
)

func section(text string) *io.SectionReader {
	return io.NewSectionReader(strings.NewReader(text), 0, int64(len(text)))
}

func lines(text string) []string {
	all := strings.SplitAfter(text, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// Pages are what splitting the whole text would give.
func FuzzPages(f *testing.F) {
	f.Add("a\nb\nc", 2, 1)
	f.Add("", 1, 1)
	f.Add("\n\n\r\n", 3, 9)
	f.Add(strings.Repeat("x", 1500)+"\n"+strings.Repeat("y", 1999)+"\r\nz", 2, 2)
	f.Fuzz(func(t *testing.T, text string, first, limit int) {
		all := lines(text)
		first, limit = 1+abs(first)%20, 1+abs(limit)%20
		for _, l := range all {
			if len(l) > textfile.MaxLine {
				return
			}
		}
		p, err := textfile.From(t.Context(), section(text), first, limit, false)
		var past textfile.PastEndError
		if first > max(1, len(all)) {
			if !errors.As(err, &past) || past.Lines != len(all) {
				t.Fatalf("line %d of %q: %v", first, text, err)
			}
		} else {
			end := min(first-1+limit, len(all))
			want := textfile.Page{First: first, Lines: end - first + 1, Total: len(all), More: end < len(all)}
			got := string(p.Text)
			p.Text = nil
			if diff := cmp.Diff(want, p); diff != "" || err != nil || got != strings.Join(all[first-1:end], "") {
				t.Fatalf("lines %d, %d of %q: %q, %v\n%s", first, limit, text, got, err, diff)
			}
		}
		p, err = textfile.Last(t.Context(), section(text), limit, false)
		from := max(0, len(all)-limit)
		if err != nil || string(p.Text) != strings.Join(all[from:], "") || p.First != from+1 || p.Total != len(all) ||
			p.More || p.Late {
			t.Fatalf("the last %d of %q: %+v, %v", limit, text, p, err)
		}
	})
}

func abs(n int) int {
	if n < 0 {
		return -(n + 1)
	}
	return n
}

// counting counts the bytes that are read of a text.
type counting struct {
	io.ReaderAt
	read int
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.read += n
	return n, err
}

func TestOnlyWhatIsNeededIsRead(t *testing.T) {
	text := strings.Repeat("a line of forty characters, more or less\n", 250_000)
	for name, read := range map[string]func(*io.SectionReader) (textfile.Page, error){
		"head": func(s *io.SectionReader) (textfile.Page, error) {
			return textfile.From(t.Context(), s, 1, 100, false)
		},
		"tail": func(s *io.SectionReader) (textfile.Page, error) { return textfile.Last(t.Context(), s, 100, false) },
	} {
		c := &counting{ReaderAt: strings.NewReader(text)}
		p, err := read(io.NewSectionReader(c, 0, int64(len(text))))
		if err != nil || p.Lines != 100 || c.read > 200<<10 {
			t.Errorf("%s: %d lines, %v; %d bytes were read of %d", name, p.Lines, err, c.read, len(text))
		}
		if p.Total != -1 || name == "head" != p.More || name == "tail" && p.First != 0 {
			t.Errorf("%s: first %d, total %d, more %v", name, p.First, p.Total, p.More)
		}
	}
}

func TestSniff(t *testing.T) {
	for _, test := range []struct {
		name, head string
		want       textfile.FileKind
	}{
		{"empty", "", textfile.FileKind{Encoding: textfile.UTF8}},
		{"text", "hello", textfile.FileKind{Encoding: textfile.UTF8}},
		{"half a character at the end", "日本"[:5], textfile.FileKind{Encoding: textfile.UTF8}},
		{"latin", "caf\xe9 au lait", textfile.FileKind{Encoding: textfile.UTF8}},
		{"zero", "a\x00", textfile.FileKind{Encoding: textfile.UTF8, Binary: true}},
		{"noise", "\x80\x81\x82a", textfile.FileKind{Encoding: textfile.UTF8, Binary: true}},
		{"mark", "\xef\xbb\xbfa", textfile.FileKind{Encoding: textfile.UTF8Mark}},
		{"little", "\xff\xfea\x00", textfile.FileKind{Encoding: textfile.UTF16LE}},
		{"big", "\xfe\xff\x00a", textfile.FileKind{Encoding: textfile.UTF16BE}},
		{"gif", "GIF89a\x01\x00", textfile.FileKind{Image: "image/gif", Binary: true}},
		{"jpeg", "\xff\xd8\xff\xe0", textfile.FileKind{Image: "image/jpeg", Binary: true}},
		{"webp", "RIFF\x00\x00\x00\x00WEBPVP", textfile.FileKind{Image: "image/webp", Binary: true}},
	} {
		if got := textfile.Sniff([]byte(test.head)); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

func FuzzEncoding(f *testing.F) {
	f.Add([]byte("\xff\xfea\x00"))
	f.Add([]byte("\xfe\xff\xd8\x00"))
	f.Add([]byte("\xef\xbb\xbfx"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		e := textfile.EncodingOf(raw)
		text, lossless := e.Decode(raw)
		if same := string(e.Encode(text)) == string(raw); same != lossless {
			t.Fatalf("%q as %s: back again %v, said %v", raw, e, same, lossless)
		}
		if e.Wide() && !utf8.Valid(text) {
			t.Fatalf("%q as %s is not UTF-8", raw, e)
		}
	})
}

func TestCutKeepsCharactersWhole(t *testing.T) {
	for most := range 12 {
		got := textfile.Cut([]byte("aé日𝄞z"), most)
		if !utf8.Valid(got) || len(got) > most || len(got) < most-3 {
			t.Errorf("cut at %d: %q", most, got)
		}
	}
	if got := textfile.Cut([]byte("\x80\x80\x80\x80\x80\x80"), 5); len(got) != 5 {
		t.Errorf("what is not UTF-8 was cut to %d bytes", len(got))
	}
}
