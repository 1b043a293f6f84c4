package doctext_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/doctext"
	"callgate/internal/pdftext"
	_ "callgate/internal/sandbox/selfstart" // PDFs are read in the sandbox
	"callgate/tool"
)

func TestMain(m *testing.M) {
	if pdftext.RunHelper() {
		return
	}
	os.Exit(m.Run())
}

// shown writes chunks as a person would cite them.
func shown(d *doctext.Document, size int) []string {
	var all []string
	for _, c := range d.Chunks(size) {
		text := strings.ReplaceAll(c.Text, "\n", "/")
		all = append(all, fmt.Sprintf("%s: %s: %s", c.Place(), strings.Join(c.Headings, " > "), text))
	}
	return all
}

const markdown = `---
title: "Harbour rules"
---
Read this first.

# Mooring

Boats moor at
the north quay.

` + "```sh\n# no heading\n\nmoor --now\n```" + `

## Fees
Twelve crowns.

Fuel
----
Diesel only.
`

const source = `package quay

// Moor ties a boat.
func Moor() {

	tie()
}

type Boat struct{ name string }
`

const program = `import os

class Quay:
    """A quay."""

    def moor(self, boat):
        return boat

def main():
    pass
`

const page = `<!doctype html><html><head><title>Harbour &amp; co</title>
<style>p { color: red }</style><script>var a = "<h1>no</h1>";</script></head>
<body><nav><a href="/">Home</a></nav>
<h1>Mooring</h1>
<p>Boats <b>moor</b>
at the quay.</p><ul><li>north</li><li>south</li></ul>
<h2>Fees</h2><table><tr><th>length<th>fee</tr><tr><td>10 m<td>12</tr></table>
<pre>one
  two</pre></body>`

func TestTextFormats(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, text, title string
		want              []string
	}{
		"markdown": {"a.md", markdown, "Harbour rules", []string{
			"line 4: : Read this first.",
			"lines 6-15: Mooring: Mooring//Boats moor at/the north quay.//```sh/# no heading//moor --now/```",
			"lines 17-18: Mooring > Fees: Fees//Twelve crowns.",
			"lines 20-22: Mooring > Fuel: Fuel//Diesel only.",
		}},
		"Go": {"a.go", source, "", []string{
			"lines 1-9: : package quay//// Moor ties a boat./func Moor() {//	tie()/}//type Boat struct{ name string }",
		}},
		"Python": {"a.py", strings.ReplaceAll(program, "pass", strings.Repeat("# long\n", 30)), "", nil},
		"HTML": {"a.html", page, "Harbour & co", []string{
			"lines 4-6: Mooring: Mooring//Boats moor at the quay.//north//south",
			"lines 7-9: Mooring > Fees: Fees//length | fee//10 m | 12//one/  two",
		}},
		"CSV": {"a.csv", "name;role\nAda;\"harbour\nmaster\"\nBob;\"cook", "", []string{
			"lines 1-4: : name | role/Ada | harbour master/Bob | cook",
		}},
		"reStructuredText": {"a.rst", "=====\nQuays\n=====\n\nNorth\n-----\nShallow.\n", "Quays", []string{
			"lines 5-7: Quays > North: North//Shallow.",
		}},
		"AsciiDoc": {"a.adoc", "= Quays\n\n== South\n\nDeep.\n", "Quays", []string{"lines 3-5: Quays > South: South//Deep."}},
		"plain":    {"NOTES", "one\ntwo\n\n\nthree\n", "", []string{"lines 1-5: : one/two//three"}},
		"empty":    {"a.md", "", "", nil},
	} {
		d, err := doctext.Read(t.Context(), name+c.file, []byte(c.text), doctext.Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name == "Python" {
			c.want = nil
			for _, s := range d.Sections {
				c.want = append(c.want, strings.Join(s.Headings, " > "))
			}
			want := []string{"", "class Quay", "class Quay > def moor(self, boat)", "def main()"}
			if diff := cmp.Diff(want, c.want); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			continue
		}
		if diff := cmp.Diff(c.want, shown(d, 200)); diff != "" || d.Title != c.title || len(d.Warnings) > 0 {
			t.Errorf("%s: title %q, warnings %v: %s", name, d.Title, d.Warnings, diff)
		}
	}
}

// The files are made by other programs (testdata/README.md).
func TestOfficeFormats(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		title string
		want  []string
	}{
		"harbour.docx": {"Handbook of the Harbour", []string{
			"paragraphs 1-2: Mooring: Mooring//Boats moor at the north quay for at most three days.",
			"paragraphs 3-8: Mooring > Fees: Fees//The fee is twelve crowns a night.//length | fee//under 10 m | 12 crowns",
			"paragraphs 9-10: Fuel: Fuel//Diesel is sold at the pump on Zürich pier.",
		}},
		"harbour.xlsx": {"", []string{
			"sheet Prices, rows 1-3: Prices: item | price | sold/anchor | 40.5 | TRUE/rope | 7 | FALSE",
			"sheet Crew & Co, rows 2-4: Crew & Co: | name | | role/| Ada | | harbour master",
		}},
		"harbour.pptx": {"Harbour plans", []string{
			"slide 1: The new breakwater: The new breakwater//Stone from the quarry at Hala//Ask the council for money",
			"slide 2: Slide 2: Timetable: work begins in May",
		}},
		"harbour.epub": {"Tales of the Harbour", []string{
			"OEBPS/text/one day.xhtml, lines 4-6: One day: One day//The pilot rowed out before dawn.",
			"OEBPS/text/two.xhtml, lines 4-5: The storm: The storm//Nobody slept & the lamp went out.",
		}},
	} {
		content, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		d, err := doctext.Read(t.Context(), name, content, doctext.Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.want, shown(d, 200)); diff != "" || d.Title != c.title {
			t.Errorf("%s: title %q: %s", name, d.Title, diff)
		}
	}
}

func TestPDF(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../pdftext/testdata/printed.pdf")
	if err != nil {
		t.Fatal(err)
	}
	d, err := doctext.Read(t.Context(), "a.pdf", content, doctext.Limits{})
	if tool.KindOf(err) == tool.Unavailable {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	all := d.Chunks(1000)
	if len(all) == 0 || all[0].Place() != "page 1" || all[0].Text == "" {
		t.Errorf("%+v", all)
	}
	if _, err := doctext.Read(t.Context(), "a.pdf", []byte("%PDF-1.4 nothing"), doctext.Limits{}); err == nil {
		t.Error("a broken PDF was read")
	}
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, content, want string
		warned              bool
	}{
		"UTF-8 with a mark": {"a.txt", "\xef\xbb\xbfZürich", "Zürich", false},
		"UTF-16 little":     {"a.txt", "\xff\xfeZ\x00\xfc\x00", "Zü", false},
		"UTF-16 big":        {"a.txt", "\xfe\xff\x00Z\x00\xfc", "Zü", false},
		"Windows-1252":      {"a.md", "Z\xfcrich \x80", "Zürich €", true},
		"declared":          {"a.html", `<meta charset="koi8-r"><p>` + "\xcb\xcf\xd4", "кот", false},
		"invisible":         {"a.txt", "a\u202eb\u200bc\x1b[2J", "abc[2J", false},
		"old ends of lines": {"a.txt", "a\rb", "a\nb", false},
	} {
		d, err := doctext.Read(t.Context(), c.file, []byte(c.content), doctext.Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := d.Chunks(1000)[0].Text; got != c.want || (len(d.Warnings) > 0) != c.warned {
			t.Errorf("%s: %q %v", name, got, d.Warnings)
		}
	}
	for _, name := range []string{"a.txt", "a.docx", "program"} {
		_, err := doctext.Read(t.Context(), name, []byte("\x7fELF\x00\x01\x02"), doctext.Limits{})
		if tool.KindOf(err) != tool.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A chunk is at most about as long as it may be, whatever the document, and keeps its lines.
func TestLongBlocks(t *testing.T) {
	t.Parallel()
	text := "# A\n\n" + strings.Repeat("ünïcödé ", 500) + "\n\n" + strings.Repeat("x", 3000) + "\n" +
		strings.Repeat("a line of text\n", 200)
	d, err := doctext.Read(t.Context(), "a.md", []byte(text), doctext.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text, "\n")
	for _, c := range d.Chunks(500) {
		if len(c.Text) > 510 || strings.ContainsRune(c.Text, '\ufffd') {
			t.Errorf("a chunk of %d bytes: %q", len(c.Text), c.Text)
		}
		first, _, _ := strings.Cut(c.Text, "\n")
		if c.First > 5 && !strings.Contains(lines[c.First-1], first) {
			t.Errorf("line %d is %q, not %q", c.First, lines[c.First-1], first)
		}
	}
}

// A PDF without text says so.
func TestEmptyPDF(t *testing.T) {
	t.Parallel()
	const blank = "%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n" +
		"2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n" +
		"3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>\nendobj\n" +
		"xref\n0 4\n0000000000 65535 f \n0000000009 00000 n \n0000000058 00000 n \n0000000115 00000 n \n" +
		"trailer\n<< /Size 4 /Root 1 0 R >>\nstartxref\n182\n%%EOF\n"
	d, err := doctext.Read(t.Context(), "a.pdf", []byte(blank), doctext.Limits{})
	if err != nil || len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "no text") {
		t.Errorf("%+v, %v", d, err)
	}
}
