package mailbox

import (
	"strings"
	"testing"
)

func TestReadMail(t *testing.T) {
	for name, c := range map[string]struct{ mail, kind, body, facts string }{
		"plain":  {"Subject: x\n\nhello\nyou\n", "text/plain; charset=utf-8", "hello\nyou\n", ""},
		"latin1": {"Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\nGr=FC=DFe =\nan\n", "text/plain; charset=utf-8", "Grüße an\n", ""},
		"base64": {"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\nSGVs\nbG8=\n", "text/plain; charset=utf-8", "Hello", ""},
		"html":   {"Content-Type: text/html\n\n<b>x</b>\n", "text/html; charset=utf-8", "<b>x</b>\n", ""},
		"both and a file": {"Content-Type: multipart/mixed; boundary=m\n\n--m\nContent-Type: multipart/alternative; boundary=a\n\n" +
			"--a\nContent-Type: text/plain\n\nthe text\n--a\nContent-Type: text/html\n\n<p>the text</p>\n--a--\n" +
			"--m\nContent-Type: application/pdf; name=bill.pdf\nContent-Transfer-Encoding: base64\n\nAAAA\n--m--\n",
			"text/plain; charset=utf-8", "the text", "attached=bill.pdf (application/pdf, 3 bytes)"},
		"cut":         {"Content-Type: multipart/mixed; boundary=m\n\n--m\nContent-Type: text/plain\n\nthe te", "text/plain; charset=utf-8", "", ""},
		"no mail":     {"\x00\x01", "message/rfc822", "\x00\x01", ""},
		"no encoding": {"Content-Type: text/plain; charset=klingon\n\nx\xff\n", "text/plain; charset=utf-8", "x�\n", ""},
	} {
		e := readMail([]byte(strings.ReplaceAll(c.mail, "\n", "\r\n")))
		var facts []string
		for _, f := range e.Facts {
			facts = append(facts, f.Name+"="+f.Value)
		}
		if name != "cut" && string(e.Body) != c.body || e.Type != c.kind || strings.Join(facts, " ") != c.facts {
			t.Errorf("%s: %s %q %v", name, e.Type, e.Body, facts)
		}
	}
}

func FuzzReadMail(f *testing.F) {
	f.Add([]byte("Content-Type: multipart/mixed; boundary=m\r\n\r\n--m\r\nContent-Type: multipart/mixed; boundary=m\r\n\r\n--m\r\n\r\nx"))
	f.Add([]byte("Subject: =?x?q?=?=\r\nContent-Transfer-Encoding: base64\r\n\r\n===="))
	f.Fuzz(func(t *testing.T, raw []byte) {
		e := readMail(raw)
		if e.Type == "" || e.Type != "message/rfc822" && e.Text() == "" && len(e.Body) > 0 && !strings.ContainsRune(string(e.Body), 0) {
			t.Errorf("%+v", e)
		}
	})
}
