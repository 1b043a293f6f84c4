package pdftext_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"callgate/internal/pdftext"
	"callgate/tool"
)

// TestMain lets this test be started as a PDF reader.
func TestMain(m *testing.M) {
	if pdftext.RunHelper() {
		return
	}
	os.Exit(m.Run())
}

// file writes a PDF of objects; the first is its catalogue.
func file(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	var at []int
	for i, object := range objects {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, offset := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return b.Bytes()
}

// page writes a PDF of one page with some content.
func page(content string) []byte {
	return file(
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> /XObject << /X 6 0 R >> >> >>",
		stream("", content),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
		stream("/Subtype /Form", "BT /F1 10 Tf 0 -300 Td (in a form) Tj ET"),
	)
}

func stream(keys, content string) string {
	return fmt.Sprintf("<< /Length %d %s >>\nstream\n%s\nendstream", len(content), keys, content)
}

func packed(keys string, content []byte) string {
	var b bytes.Buffer
	z, _ := zlib.NewWriterLevel(&b, zlib.BestSpeed)
	_, _ = z.Write(content)
	_ = z.Close()
	return stream("/Filter /FlateDecode "+keys, b.String())
}

// xref writes a PDF that is only a table of objects.
func xref(keys string, table []byte) []byte {
	head := "%PDF-1.5\n"
	return fmt.Appendf(nil, "%s1 0 obj\n%s\nendobj\nstartxref\n%d\n%%%%EOF", head, packed("/Type /XRef "+keys, table),
		len(head))
}

func TestLayout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ content, want string }{
		"a word":             {"BT /F1 12 Tf 100 700 Td (Hello) Tj ET", "Hello"},
		"lines":              {"BT /F1 12 Tf 14 TL 100 700 Td (one) Tj T* (two) Tj (three) ' ET", "one\ntwo\nthree"},
		"a paragraph":        {"BT /F1 12 Tf 100 700 Td (one) Tj 0 -40 Td (two) Tj ET", "one\n\ntwo"},
		"spaces by shifts":   {"BT /F1 12 Tf [(He) 20 (llo) -400 (wor) 10 (ld)] TJ ET", "Hello world"},
		"spaces by places":   {"BT /F1 12 Tf 100 700 Td (one) Tj 60 0 Td (two) Tj ET", "one two"},
		"places of the page": {"q 1 0 0 1 50 700 cm BT /F1 12 Tf (one) Tj ET Q q 1 0 0 1 50 680 cm BT /F1 12 Tf (two) Tj ET Q", "one\ntwo"},
		"the text's matrix":  {"BT /F1 1 Tf 12 0 0 12 50 700 Tm (one) Tj 12 0 0 12 50 685 Tm (two) Tj ET", "one\ntwo"},
		"letters":            {"BT /F1 12 Tf (caf\xe9 \x93q\x94 \x80) Tj ET", "café “q” €"},
		"a form":             {"BT /F1 12 Tf 0 0 Td (before) Tj ET /X Do", "before\n\nin a form"},
		"no font":            {"BT /F9 12 Tf (x) Tj ET BT (y) Tj ET", "x"},
		"nothing":            {"0 0 m 10 10 l S", ""},
		"broken at the end":  {"BT /F1 12 Tf (kept) Tj ET [ (", "kept"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := pdftext.Read(t.Context(), page(c.content))
			if err != nil || len(doc.Pages) != 1 {
				t.Fatalf("%+v, %v", doc, err)
			}
			if got := doc.Pages[0]; !strings.HasPrefix(got, c.want) || len(got) > len(c.want)+1 {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// A PDF that a browser printed: letters by number, several pages, compressed
// objects.
func TestPrinted(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/printed.pdf")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"as it is":             data,
		"with a newer version": bytes.Replace(data, []byte("%PDF-1.4"), []byte("%PDF-2.0"), 1),
		"with junk around":     []byte("junk\n" + string(data) + "\n\n<!-- junk -->"),
	} {
		doc, err := pdftext.Read(t.Context(), data)
		if name == "with junk around" && err != nil {
			continue // its offsets may count the junk or not
		}
		if err != nil || doc.Title != "A printed page" || doc.Count != 2 || len(doc.Pages) != 2 {
			t.Fatalf("%s: %+v, %v", name, doc, err)
		}
		for _, want := range []string{"Hello PDF\n",
			"The quick brown fox jumps over the lazy dog. Ünïcödé text — and more words,", "alpha beta"} {
			if !strings.Contains(doc.Pages[0], want) {
				t.Errorf("%s: it lacks %q: %q", name, want, doc.Pages[0])
			}
		}
		if doc.Pages[1] != "The second page of the file." {
			t.Errorf("%s: %q", name, doc.Pages[1])
		}
	}
}

// Files made to take the reader down. The helper may end, the test may not.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: hostile files take the helper some seconds")
	}
	t.Parallel()
	const (
		catalog = "<< /Type /Catalog /Pages 2 0 R >>"
		pages   = "<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
	)
	blanks := strings.Repeat(" ", 100)
	for name, data := range map[string][]byte{
		"nothing":     nil,
		"not a PDF":   []byte(strings.Repeat("<html>", 100)),
		"only a head": []byte("%PDF-1.4\n" + strings.Repeat(" ", 200)),
		"a table of two billion rows": []byte("%PDF-1.4\nxref\n2000000000 1\n0000000009 00000 n \ntrailer\n" +
			"<< /Size 3 /Root 1 0 R >>\n" + blanks + "\nstartxref\n9\n%%EOF"),
		"a stream of 90 billion objects": xref("/Size 90000000000 /W [1 2 1] /Index [0 1]", []byte{1, 0, 9, 0}),
		"columns without end":            xref("/Size 3 /W [1 2 1] /DecodeParms << /Predictor 12 /Columns 99999999999 >>", []byte{1, 0, 9, 0}),
		"arrays in arrays":               page(strings.Repeat("[", 1<<20)),
		"a bomb of letters": file(catalog, pages,
			"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
			packed("", bytes.Repeat([]byte("(aaaaaaaaaaaaaaaa) Tj\n"),
				1<<20)), "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"),
		"a bomb of one word": file(catalog, pages,
			"<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>", packed("", bytes.Repeat([]byte("a"), 64<<20))),
		"forms in forms": page("/X Do " + strings.Repeat("/X Do ", 10000)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := pdftext.ReadWithin(t.Context(), data, 2*time.Second)
			if err == nil {
				total := 0
				for _, p := range doc.Pages {
					total += len(p)
				}
				if total > 16<<20 {
					t.Errorf("%d bytes of text", total)
				}
				return
			}
			if tool.KindOf(err) != tool.Failed || !strings.Contains(err.Error(), "the PDF cannot be read") {
				t.Error(err)
			}
		})
	}
}

// Files that never end. The helper is stopped when its time is over.
func TestEndless(t *testing.T) {
	t.Parallel()
	for name, data := range map[string][]byte{
		"an object inside itself": xref("/Size 3 /W [1 2 1] /Root 2 0 R", []byte{0, 0, 0, 0, 1, 0, 9, 0, 2, 0, 2, 0}),
		"tables in a circle": []byte("%PDF-1.4\nxref\n0 1\n0000000000 65535 f \ntrailer\n<< /Size 1 /Prev 9 >>\n" +
			strings.Repeat(" ", 100) + "\nstartxref\n9\n%%EOF"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := pdftext.ReadWithin(t.Context(), data, 300*time.Millisecond)
			if tool.KindOf(err) != tool.Failed || !strings.Contains(err.Error(),
				"the PDF cannot be read: it is not read within 300ms") {
				t.Error(err)
			}
		})
	}
}

// TestPagesInACircle: pages that refer to themselves are refused at once.
func TestPagesInACircle(t *testing.T) {
	t.Parallel()
	twice := "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 99999999 >>"
	for name, data := range map[string][]byte{
		"one":       file("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R] /Count 99999999 >>"),
		"branching": file("<< /Type /Catalog /Pages 2 0 R >>", twice),
		"two": file("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 5 >>",
			"<< /Type /Pages /Kids [2 0 R] /Count 5 /Parent 2 0 R >>"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := pdftext.Read(t.Context(), data)
			if tool.KindOf(err) != tool.Failed || !strings.Contains(err.Error(), "its pages refer to themselves") {
				t.Error(err)
			}
		})
	}
	doc, err := pdftext.Read(t.Context(), file("<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 /Parent 2 0 R >>", "<< /Type /Page /Parent 3 0 R /Contents 5 0 R >>",
		"<< /Type /Page /Parent 2 0 R /Contents 5 0 R >>", stream("", "")))
	if err != nil || doc.Bad != 2 || len(doc.Pages) != 2 {
		t.Errorf("parents in a circle: %+v, %v", doc, err)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pdftext.Read(ctx, page("")); err == nil {
		t.Error("a call that was over was answered")
	}
}

// A program that does not run helpers must not be started as one.
func TestProgramWithoutHelpers(t *testing.T) {
	defer pdftext.WithoutHelpers()()
	_, err := pdftext.Read(t.Context(), page(""))
	if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "RunHelpers") {
		t.Error(err)
	}
}
