package transfer

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSafeName(t *testing.T) {
	for suggested, want := range map[string]string{
		"report.csv": "report.csv", "../../etc/passwd": "passwd", `..\..\evil.exe`: "evil.exe", "/abs/olute.txt": "olute.txt", ".bashrc": "bashrc", "..": "download", "": "download",
		"a\x00b.txt": "ab.txt", "gpj.\u202eexe": "gpj.exe", "con": "download-con", "NUL.txt": "download-NUL.txt", "com1.tar.gz": "download-com1.tar.gz", "com": "com",
		"a<b>:c.txt": "a_b__c.txt", "trailing. ": "trailing", "été 漢.pdf": "été 漢.pdf", "archive.tar.gz": "archive.tar.gz",
	} {
		stem, ext := safeName(suggested)
		if stem+ext != want {
			t.Errorf("%q became %q, want %q", suggested, stem+ext, want)
		}
	}
}

func FuzzSafeName(f *testing.F) {
	for _, s := range []string{"a.b", "../x", strings.Repeat("漢", 200) + ".txt", "..", "con", "\xff\xfe.x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, suggested string) {
		stem, ext := safeName(suggested)
		name := stem + ext
		switch {
		case stem == "", strings.ContainsAny(name, "/\\\x00\n"), strings.HasPrefix(name, "."), len(name) > maxName+len("download-"), !utf8.ValidString(name), !filepath.IsLocal(name), filepath.Base(name) != name:
			t.Errorf("%q became %q", suggested, name)
		}
	})
}
