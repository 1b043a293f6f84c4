package doctext_test

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"callgate/internal/doctext"
	"callgate/tool"
)

// zipped makes an archive of files.
func zipped(t testing.TB, files map[string]io.Reader) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range files {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func text(s string) io.Reader { return strings.NewReader(s) }

// repeated is a text again and again.
type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(p []byte) (n int, err error) {
	for n < len(p) {
		m := copy(p[n:], r.text[r.at:])
		n, r.at = n+m, (r.at+m)%len(r.text)
	}
	return n, nil
}

func many(text string, bytes int64) io.Reader { return io.LimitReader(&repeated{text: text}, bytes) }

const external = `<?xml version="1.0"?><!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd"><!ENTITY y "` + "aaaaaaaaaa" + `">]>`

func TestHostileArchives(t *testing.T) {
	t.Parallel()
	limits := doctext.Limits{Unpacked: 256 << 10, Text: 8 << 10}
	for name, c := range map[string]struct {
		file  string
		files map[string]io.Reader
		kind  tool.Kind // "": it is read
		has   string
	}{
		"a bomb": {"a.docx", map[string]io.Reader{
			"word/document.xml": io.MultiReader(text("<d>"), many("<p><r>      </r></p>", 512<<10)),
		}, tool.Limited, "unpacks to more than"},
		"a bomb of texts that nothing uses": {"a.xlsx", map[string]io.Reader{
			"xl/workbook.xml":      text(`<workbook><sheet name="a" id="r1"/></workbook>`),
			"xl/sharedStrings.xml": many("<si><t>a</t></si>", 512<<10),
		}, tool.Limited, "unpacks to more than"},
		"an entity of a file": {"a.docx", map[string]io.Reader{
			"word/document.xml": text(external + "<d><p><r><t>&x;</t></r></p></d>"),
		}, tool.Invalid, "damaged"},
		"an entity that grows": {"a.docx", map[string]io.Reader{
			"word/document.xml": text(external + "<d><p><r><t>&y;&y;</t></r></p></d>"),
		}, tool.Invalid, "damaged"},
		"deep": {"a.docx", map[string]io.Reader{
			"word/document.xml": many("<p>", 8<<10),
		}, tool.Invalid, "nests deeper"},
		"a tag without an end": {"a.docx", map[string]io.Reader{
			"word/document.xml": io.MultiReader(text("<p "), many(`a="" `, 512<<10)),
		}, tool.Invalid, "longer than"},
		"much text": {"a.docx", map[string]io.Reader{
			"word/document.xml": io.MultiReader(text("<d>"), many("<p><t>words and words and words</t></p>", 32<<10), text("</d>")),
		}, "", ""},
		"out of the archive": {"a.xlsx", map[string]io.Reader{
			"xl/workbook.xml":            text(`<workbook><sheet name="a" id="r1"/></workbook>`),
			"xl/_rels/workbook.xml.rels": text(`<R><Relationship Id="r1" Target="../../../../etc/passwd"/></R>`),
		}, "", ""},
		"a row far away": {"a.xlsx", map[string]io.Reader{
			"xl/workbook.xml":            text(`<workbook><sheet name="a" id="r1"/></workbook>`),
			"xl/_rels/workbook.xml.rels": text(`<R><Relationship Id="r1" Target="s.xml"/></R>`),
			"xl/s.xml": text(`<s><row r="99999999999999999999"><c r="ZZZZZZZZZZZZZZZZ1" t="s"><v>-1</v></c>` +
				`<c r="B1"><v>1</v></c></row></s>`),
		}, "", ""},
		"a book that holds itself": {"a.epub", map[string]io.Reader{
			"META-INF/container.xml": text(`<c><rootfile full-path="a.opf"/></c>`),
			"a.opf": io.MultiReader(text(`<p><item id="a" href="a.opf" media-type="html"/>`),
				many(`<itemref idref="a"/>`, 20*1600), text("</p>")),
		}, tool.Limited, "unpacks to more than"},
		"the wrong kind": {"a.docx", map[string]io.Reader{"a.txt": text("a")}, tool.Invalid, "not one of its kind"},
	} {
		d, err := doctext.Read(t.Context(), c.file, zipped(t, c.files), limits)
		switch {
		case c.kind == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.kind != "" && (tool.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.has)):
			t.Errorf("%s: %v, want %s with %q", name, err, c.kind, c.has)
		case c.kind == "" && name == "much text" && len(d.Warnings) == 0:
			t.Errorf("%s: nothing says that it was cut", name)
		}
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	_, err := doctext.Read(t.Context(), "a.txt", make([]byte, 100), doctext.Limits{Bytes: 99})
	if tool.KindOf(err) != tool.Limited {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := doctext.Read(ctx, "a.md", []byte("# a"), doctext.Limits{}); err == nil {
		t.Error("a document was read though nobody waits")
	}
}

// Nothing that a document holds makes a reader fail in any other way than with an error, and what
// comes out keeps the law.
func FuzzRead(f *testing.F) {
	names := []string{"a.md", "a.html", "a.csv", "a.go", "a.py", "a.js", "a.c", "a.rst", "a.docx", "a.xlsx", "a.pptx", "a.epub"}
	for i, content := range []string{markdown, page, "a,b\n\"c", source, program, "", "", "=\na\n="} {
		f.Add(i, []byte(content))
	}
	f.Add(-1, []byte("# why\nresource a\n b\n\n  resource b"))
	extractor := doctext.Extractor{Definition: regexp.MustCompile(`^\s*resource (\w*)`), Comments: []string{"#"}}
	for i, name := range []string{"harbour.docx", "harbour.xlsx", "harbour.pptx", "harbour.epub"} {
		if content, err := os.ReadFile("testdata/" + name); err == nil {
			f.Add(8+i, content)
		}
	}
	f.Fuzz(func(t *testing.T, kind int, content []byte) {
		name := names[uint(kind)%uint(len(names))]
		limits := doctext.Limits{Unpacked: 1 << 20, Text: 1 << 18}
		d, err := doctext.Read(t.Context(), name, content, limits)
		if kind < 0 { // any text, by an extractor
			d, err = doctext.ReadWith(t.Context(), name, content, limits, extractor)
		}
		if err != nil {
			if k := tool.KindOf(err); k != tool.Invalid && k != tool.Limited {
				t.Error(err)
			}
			return
		}
		for _, c := range d.Chunks(300) {
			if !utf8.ValidString(c.Text) || c.First < 1 || c.Last < c.First || strings.TrimSpace(c.Text) == "" {
				t.Errorf("%+v", c)
			}
		}
	})
}

// A section takes memory, and headings are repeated, however little text there is under them.
func TestManyHeadings(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty.md": strings.Repeat("#\n", 10_000),
		"short.md": strings.Repeat("# a\n", 10_000),
		"a.org":    strings.Repeat("* a\n", 10_000),
		"a.html":   strings.Repeat("<h1>a</h1>", 10_000),
		"a.py":     strings.Repeat("def f():\n", 10_000),
		"long.md":  "# " + strings.Repeat("a", 200) + "\n" + strings.Repeat("## b\n", 10_000),
		"a.txt":    strings.Repeat("a\n\n", 20_000),
		"a.csv":    strings.Repeat("a\n", 20_000),
	} {
		d, err := doctext.Read(t.Context(), name, []byte(text), doctext.Limits{Text: 64 << 10})
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, s := range d.Sections {
			size += 50 + len(strings.Join(s.Headings, "")) + 8*len(s.Blocks)
		}
		if size > 64<<10 || len(d.Warnings) != 1 {
			t.Errorf("%s: %d sections of %d bytes; %q", name, len(d.Sections), size, d.Warnings)
		}
	}
}

func TestDeepOutline(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 100 {
		b.WriteString(strings.Repeat(" ", i) + "def f" + strings.Repeat("x", i) + "():\n")
	}
	d, err := doctext.Read(t.Context(), "a.py", []byte(b.String()), doctext.Limits{})
	if err != nil || len(d.Sections) != 100 {
		t.Fatalf("%d sections, %v", len(d.Sections), err)
	}
	last := d.Sections[99].Headings
	if len(last) != 8 || last[0] != "def f()" || last[7] != "def f"+strings.Repeat("x", 99)+"()" {
		t.Errorf("%q", last)
	}
}
