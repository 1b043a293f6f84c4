package pdftext_test

import (
	"os"
	"testing"
	"time"
	"unicode/utf8"

	"callgate/internal/pdftext"
	"callgate/tool"
)

// Whatever a file does to its reader, Read returns a text or the error of a PDF
// that cannot be read.
func FuzzRead(f *testing.F) {
	if data, err := os.ReadFile("testdata/printed.pdf"); err == nil {
		f.Add(data)
	}
	f.Add(page("BT /F1 12 Tf 14 TL (one) Tj T* [(tw) -300 (o)] TJ (three) ' ET /X Do"))
	f.Add([]byte("%PDF-1.4\nxref\n0 1\n0000000000 65535 f \ntrailer\n<< /Size 1 /Prev 9 >>\nstartxref\n9\n%%EOF"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		doc, err := pdftext.ReadWithin(t.Context(), data, 2*time.Second)
		if err != nil {
			if tool.KindOf(err) != tool.Failed {
				t.Error(err)
			}
			return
		}
		for _, p := range doc.Pages {
			if !utf8.ValidString(p) {
				t.Error("not UTF-8")
			}
		}
	})
}
