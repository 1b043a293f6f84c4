package pdftext

import (
	"os"
	"testing"
	"unicode/utf8"
)

// FuzzParse is the reader itself, without its process: what it gives is text,
// and what is wrong with a file is an error.
func FuzzParse(f *testing.F) {
	if data, err := os.ReadFile("testdata/printed.pdf"); err == nil {
		f.Add(data)
	}
	f.Add([]byte("%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n3 0 obj\n<< /Type /Page /Contents 4 0 R >>\nendobj\n4 0 obj\n<< /Length 12 >>\nstream\nBT (x) Tj ET\nendstream\nendobj\nxref\n0 5\n0000000000 65535 f \n0000000009 00000 n \n0000000058 00000 n \n0000000115 00000 n \n0000000165 00000 n \ntrailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n227\n%%EOF"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		doc, err := parse(data)
		if err != nil {
			return
		}
		for _, p := range doc.Pages {
			if !utf8.ValidString(p) {
				t.Error("not UTF-8")
			}
		}
	})
}
