package mailbox

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"strings"

	"golang.org/x/net/html/charset"

	"callgate/internal/channel"
)

// headers are those that an event tells of a mail.
var headers = []string{"From", "To", "Cc", "Reply-To", "Date", "List-Id", "In-Reply-To"}

// The bounds of a mail's form.
const (
	maxDepth = 8
	maxParts = 200
)

// readMail reads a mail: its text, and what is attached by name. What cannot be read is
// passed on as it is.
func readMail(raw []byte) channel.Event {
	m, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return channel.Event{Type: "message/rfc822", Body: raw}
	}
	e := channel.Event{ID: strings.Trim(strings.TrimSpace(m.Header.Get("Message-Id")), "<>")}
	e.Title = decoded(m.Header.Get("Subject"))
	for _, name := range headers {
		if value := m.Header.Get(name); value != "" {
			e.Facts = append(e.Facts, channel.Fact{Name: strings.ToLower(name), Value: decoded(value)})
		}
	}
	var p parts
	p.read(textproto.MIMEHeader(m.Header), m.Body, 0)
	for _, name := range p.attached {
		e.Facts = append(e.Facts, channel.Fact{Name: "attached", Value: name})
	}
	e.Type, e.Body = "text/plain; charset=utf-8", []byte(p.plain.String())
	if p.plain.Len() == 0 && p.html.Len() > 0 {
		e.Type, e.Body = "text/html; charset=utf-8", []byte(p.html.String())
	}
	return e
}

// decoded is the value of a header in plain text.
func decoded(value string) string {
	d := mime.WordDecoder{CharsetReader: charset.NewReaderLabel}
	if text, err := d.DecodeHeader(value); err == nil {
		return text
	}
	return value
}

// parts collects the parts of a mail.
type parts struct {
	plain, html strings.Builder
	attached    []string
	n           int
}

// read reads one part. A mail that was cut ends within one, which is as far as it goes.
func (p *parts) read(h textproto.MIMEHeader, body io.Reader, depth int) {
	if p.n++; p.n > maxParts || depth > maxDepth {
		return
	}
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		kind, params = "text/plain", map[string]string{}
	}
	if strings.HasPrefix(kind, "multipart/") && params["boundary"] != "" {
		all := multipart.NewReader(body, params["boundary"])
		for {
			part, err := all.NextRawPart()
			if err != nil {
				return
			}
			p.read(part.Header, part, depth+1)
		}
	}
	data, _ := io.ReadAll(unencoded(h.Get("Content-Transfer-Encoding"), body)) // as far as it was fetched
	disposition, file, _ := mime.ParseMediaType(h.Get("Content-Disposition"))
	name := decoded(file["filename"])
	if name == "" {
		name = decoded(params["name"])
	}
	into := &p.plain
	switch {
	case disposition == "attachment" || name != "" || kind != "text/plain" && kind != "text/html":
		p.attached = append(p.attached, fmt.Sprintf("%s (%s, %d bytes)", name, kind, len(data)))
		return
	case kind == "text/html":
		into = &p.html
	}
	if into.Len() > 0 {
		into.WriteString("\n")
	}
	into.WriteString(inUTF8(params["charset"], data))
}

// unencoded reads a body without what made it fit for travel.
func unencoded(encoding string, body io.Reader) io.Reader {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "quoted-printable":
		return quotedprintable.NewReader(body)
	case "base64":
		return base64.NewDecoder(base64.StdEncoding, body)
	}
	return body
}

// inUTF8 is a text of another character set.
func inUTF8(label string, data []byte) string {
	text := string(data)
	if label != "" {
		if r, err := charset.NewReaderLabel(label, bytes.NewReader(data)); err == nil {
			if read, err := io.ReadAll(r); err == nil {
				text = string(read)
			}
		}
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "�"), "\r\n", "\n")
}
