// Package mimemail reads mails: their header, their text, and what is attached.
//
// # Law
//
//   - Anybody may send a mail, so none of it is trusted: every mail is read as far as it can
//     be, what is wrong with it is said in Problems, and the time and the memory are bounded
//     by its length.
//   - Texts come out in UTF-8, whatever they were written in; a byte that means nothing in
//     the character set that a mail names becomes U+FFFD.
package mimemail

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
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html/charset"
)

// Message is a mail that was read.
type Message struct {
	Header   Header
	Text     string // the plain text
	HTML     string // the text as HTML, of mails that have one
	Attached []Attachment
	Problems []string // what is not as it should be
}

// Attachment is a file of a mail, or a part that is neither text nor HTML.
type Attachment struct {
	Name string // as the sender wrote it: it may hold anything
	Type string // its media type, in lower case
	Data []byte
}

// Header is the header of a mail.
type Header textproto.MIMEHeader

// Get returns a field in plain text; "": there is none.
func (h Header) Get(name string) string { return Decode(textproto.MIMEHeader(h).Get(name)) }

// ID returns the Message-ID, without its brackets.
func (h Header) ID() string { return strings.Trim(h.Get("Message-Id"), "<> \t") }

// IDs returns the Message-IDs of a field such as References, without their brackets.
func (h Header) IDs(name string) []string {
	fields := strings.Fields(strings.NewReplacer("<", " ", ">", " ", ",", " ").Replace(h.Get(name)))
	return slices.Compact(fields)
}

// Date returns when the mail says that it was written; the zero time: it does not say.
func (h Header) Date() time.Time {
	at, err := mail.ParseDate(textproto.MIMEHeader(h).Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return at
}

// Addresses returns the addresses of a field, and its text where it cannot be read.
func (h Header) Addresses(name string) (list []*mail.Address, text string) {
	parser := mail.AddressParser{WordDecoder: &mime.WordDecoder{CharsetReader: charset.NewReaderLabel}}
	raw := textproto.MIMEHeader(h).Get(name)
	if list, err := parser.ParseList(raw); err == nil {
		return list, Decode(raw)
	}
	return nil, Decode(raw)
}

// The bounds of a mail's form.
const (
	maxDepth    = 8
	maxParts    = 200
	maxLines    = 2000 // of a header
	maxProblems = 10
)

// Read reads a mail. It reports false if raw does not begin with a header.
func Read(raw []byte) (*Message, bool) {
	m := &Message{}
	header, body := m.split(raw)
	if len(header) == 0 {
		return nil, false
	}
	m.Header = Header(header)
	r := reader{m: m}
	r.part(header, bytes.NewReader(body), 0)
	m.Text, m.HTML = r.plain.String(), r.html.String()
	return m, true
}

// split cuts a mail into header and body. Lines of a header that are none are left out.
func (m *Message) split(raw []byte) (textproto.MIMEHeader, []byte) {
	header, last := textproto.MIMEHeader{}, ""
	for lines := 0; len(raw) > 0; lines++ {
		line, rest, _ := bytes.Cut(raw, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) == 0 {
			return header, rest
		}
		raw = rest
		if folded := line[0] == ' ' || line[0] == '\t'; folded && last != "" && lines < maxLines {
			values := header[last]
			values[len(values)-1] += " " + string(bytes.TrimSpace(line))
			continue
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		key := textproto.CanonicalMIMEHeaderKey(string(bytes.TrimSpace(name)))
		if !ok || !isName(key) || lines >= maxLines {
			m.problem("a line of the header is no field")
			last = ""
			continue
		}
		header[key], last = append(header[key], string(bytes.TrimSpace(value))), key
	}
	return header, nil
}

func isName(key string) bool {
	return key != "" && !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

func (m *Message) problem(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(m.Problems) < maxProblems && !slices.Contains(m.Problems, text) {
		m.Problems = append(m.Problems, text)
	}
}

// Decode returns the value of a field in plain text.
func Decode(value string) string {
	d := mime.WordDecoder{CharsetReader: charset.NewReaderLabel}
	if text, err := d.DecodeHeader(value); err == nil {
		value = text
	}
	return strings.ToValidUTF8(value, "�")
}

// reader collects the parts of a mail.
type reader struct {
	m           *Message
	plain, html strings.Builder
	parts       int
}

// part reads one part. A mail that was cut ends within one, which is as far as it goes.
func (r *reader) part(h textproto.MIMEHeader, body io.Reader, depth int) {
	if r.parts++; r.parts > maxParts || depth > maxDepth {
		r.m.problem("it has more parts than are read")
		return
	}
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		if h.Get("Content-Type") != "" {
			r.m.problem("the type of a part cannot be read, and it is taken for text")
		}
		kind, params = "text/plain", map[string]string{}
	}
	if strings.HasPrefix(kind, "multipart/") && params["boundary"] != "" {
		r.multipart(multipart.NewReader(body, params["boundary"]), depth)
		return
	}
	data, err := io.ReadAll(unencoded(h.Get("Content-Transfer-Encoding"), body))
	if err != nil {
		r.m.problem("a part is cut off, or not encoded as it says")
	}
	disposition, file, _ := mime.ParseMediaType(h.Get("Content-Disposition"))
	name := Decode(file["filename"])
	if name == "" {
		name = Decode(params["name"])
	}
	into := &r.plain
	switch {
	case disposition == "attachment" || name != "" || kind != "text/plain" && kind != "text/html":
		r.m.Attached = append(r.m.Attached, Attachment{name, kind, data})
		return
	case kind == "text/html":
		into = &r.html
	}
	if into.Len() > 0 {
		into.WriteString("\n")
	}
	into.WriteString(r.inUTF8(params["charset"], data))
}

func (r *reader) multipart(all *multipart.Reader, depth int) {
	for {
		part, err := all.NextRawPart()
		if err == io.EOF {
			return
		}
		if err != nil {
			r.m.problem("its parts end in the middle")
			return
		}
		r.part(part.Header, part, depth+1)
		if r.parts > maxParts {
			return
		}
	}
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
func (r *reader) inUTF8(label string, data []byte) string {
	text := string(data)
	if label != "" {
		if from, err := charset.NewReaderLabel(label, bytes.NewReader(data)); err != nil {
			r.m.problem("its character set is not known, and it is read as UTF-8")
		} else if read, err := io.ReadAll(from); err == nil {
			text = string(read)
		}
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "�"), "\r\n", "\n")
}
