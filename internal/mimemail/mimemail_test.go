package mimemail_test

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"callgate/internal/mimemail"
)

const whole = "Message-ID: <a@x>\nReferences: <1@x>\n <2@x>\nFrom: =?iso-8859-1?q?J=F6rg?= <j@x.example>, b@y.example\n" +
	"Subject: =?utf-8?b?R3LDvMOfZQ==?=\nDate: Tue, 17 Nov 2026 09:00:00 +0100\n" +
	"Content-Type: multipart/mixed; boundary=m\n\n--m\nContent-Type: text/plain; charset=windows-1252\n\nit\x92s\n" +
	"--m\nContent-Type: application/pdf\nContent-Disposition: attachment; filename=\"=?utf-8?q?=C3=A9.pdf?=\"\n" +
	"Content-Transfer-Encoding: base64\n\nAAEC\n--m--\n"

func TestRead(t *testing.T) {
	t.Parallel()
	m, ok := mimemail.Read([]byte(strings.ReplaceAll(whole, "\n", "\r\n")))
	if !ok || len(m.Problems) > 0 {
		t.Fatal(ok, m)
	}
	from, _ := m.Header.Addresses("From")
	at := time.Date(2026, 11, 17, 8, 0, 0, 0, time.UTC)
	if m.Header.ID() != "a@x" || strings.Join(m.Header.IDs("References"), " ") != "1@x 2@x" || len(from) != 2 ||
		from[0].Name != "Jörg" || m.Header.Get("Subject") != "Grüße" || !m.Header.Date().Equal(at) {
		t.Errorf("%+v", m.Header)
	}
	if m.Text != "it’s" || len(m.Attached) != 1 || m.Attached[0].Name != "é.pdf" ||
		!bytes.Equal(m.Attached[0].Data, []byte{0, 1, 2}) || m.Attached[0].Type != "application/pdf" {
		t.Errorf("%q %+v", m.Text, m.Attached)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	for mail, want := range map[string]string{
		"Subject: x\nnothing\n\nbody":                                                       "no field",
		"Content-Type: /\n\nbody":                                                           "cannot be read",
		"Content-Type: multipart/mixed; boundary=m\n\n--m\n\n":                              "end in the middle",
		"Content-Transfer-Encoding: base64\n\nA":                                            "cut off",
		"Content-Type: text/plain; charset=no\n\nx":                                         "character set",
		strings.Repeat("A: b\n", 3000) + "\nx":                                              "no field",
		"Content-Type: multipart/mixed; boundary=m\n\n" + strings.Repeat("--m\n\nx\n", 300): "more parts",
	} {
		m, ok := mimemail.Read([]byte(mail))
		if !ok || !strings.Contains(strings.Join(m.Problems, "; "), want) {
			t.Errorf("%.40q: %+v, want %q", mail, m, want)
		}
	}
	if _, ok := mimemail.Read([]byte("\r\nno header")); ok {
		t.Error("a mail without a header is read")
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("A: b\r\n\tc\r\n\r\n"))
	f.Add([]byte("Content-Type: multipart/mixed; boundary=m\r\n\r\n--m\r\nContent-Type: multipart/mixed; boundary=m\r\n\r\n--m\r\n\r\nx"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, ok := mimemail.Read(raw)
		if !ok {
			return
		}
		if !utf8.ValidString(m.Text) || !utf8.ValidString(m.HTML) || !utf8.ValidString(m.Header.Get("Subject")) {
			t.Error("a text is not UTF-8")
		}
		size := 0
		for _, a := range m.Attached {
			size += len(a.Data)
		}
		if size > len(raw) {
			t.Errorf("%d bytes attached in %d", size, len(raw))
		}
		m.Header.Addresses("From")
		m.Header.Date()
	})
}
