// Package document makes text of what a web server sends: pages, plain text,
// JSON, feeds, PDFs. Pictures stay pictures, and what nobody can read is said
// to be that.
package document

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"

	"callgate/internal/markdown"
	"callgate/internal/module/web/pdftext"
)

// Kind is what sort of document one is.
type Kind string

// The sorts.
const (
	Page    Kind = "page" // HTML
	Plain   Kind = "text"
	JSON    Kind = "json"
	Feed    Kind = "feed"
	PDF     Kind = "pdf"
	Picture Kind = "picture" // of a type that models can see
	Binary  Kind = "binary"  // bytes that mean nothing to a reader
)

// Format is how a page is written.
type Format string

// The formats.
const (
	Markdown Format = "markdown"
	Text     Format = "text"
	HTML     Format = "html" // as it came
)

// Source is what a server sent.
type Source struct {
	URL       *url.URL
	Type      string // the content type, as the server says
	Body      []byte // unpacked
	Truncated bool   // there was more
}

// Options choose what is made of a page; of other documents they change
// nothing.
type Options struct {
	Format Format
	Main   bool
}

// Document is what a source says.
type Document struct {
	Kind      Kind
	Title     string
	Byline    string
	Published string
	Text      string
	Links     []markdown.Link
	MIME      string // of a picture
	Pages     int    // of a PDF
	Whole     bool   // the main part was wanted, and the whole page is given
	Notes     []string
}

// maxPicture bounds an image, as the strictest of the model APIs does.
const maxPicture = 5 << 20

// Read makes a document of a source. An error means that it is a sort that can
// be read, and this one cannot.
func Read(ctx context.Context, s Source, opt Options) (*Document, error) {
	d := &Document{}
	kind := mediaType(s.Type)
	switch d.Kind = nature(kind, s.Body); d.Kind {
	case Picture:
		if d.MIME = pictureType(s.Body); d.MIME == "" || len(s.Body) > maxPicture || s.Truncated {
			d.Kind, d.MIME = Binary, ""
		}
		return d, nil
	case Binary:
		return d, nil
	case PDF:
		if s.Truncated {
			return d, fmt.Errorf("the PDF is longer than may be read")
		}
		return d, d.pdf(ctx, s.Body)
	}
	text, lossy := Decode(s.Body, s.Type, s.Truncated)
	if lossy {
		d.Notes = append(d.Notes, "some bytes mean nothing in the encoding of the page; they are shown as \ufffd")
	}
	switch d.Kind {
	case Page:
		return d, d.page(text, s.URL, opt)
	case JSON:
		d.json(text)
	case Feed:
		if opt.Format == HTML || !d.feed(text, s.URL) {
			d.Kind, d.Text = Plain, markdown.Visible(text)
		}
	default:
		d.Text = markdown.Visible(text)
	}
	return d, nil
}

// IsPage reports whether a source is HTML.
func IsPage(s Source) bool { return nature(mediaType(s.Type), s.Body) == Page }

func mediaType(text string) string {
	kind, _, err := mime.ParseMediaType(text)
	if err != nil {
		kind, _, _ = strings.Cut(strings.ToLower(text), ";")
	}
	return strings.TrimSpace(kind)
}

// nature judges by what the server says, and by the bytes where it says nothing
// that helps, or less than they do.
func nature(kind string, body []byte) Kind {
	head := body[:min(len(body), 1024)]
	switch kind {
	case "", "application/octet-stream", "binary/octet-stream", "application/force-download", "unknown/unknown", "application/unknown", "application/pdf", "application/x-pdf":
		if bytes.Contains(head, []byte("%PDF-")) {
			return PDF
		}
		if !strings.HasSuffix(kind, "pdf") {
			kind = mediaType(http.DetectContentType(head))
		}
	}
	switch {
	case kind == "text/html", kind == "application/xhtml+xml":
		return Page
	case kind == "application/pdf", kind == "application/x-pdf":
		return Binary // it says so, and is none
	case kind == "application/json", strings.HasSuffix(kind, "+json"), kind == "text/json":
		return JSON
	case kind == "image/png", kind == "image/jpeg", kind == "image/gif", kind == "image/webp", kind == "image/jpg":
		return Picture
	case kind == "application/rss+xml", kind == "application/atom+xml", kind == "application/rdf+xml", kind == "application/feed+xml", kind == "text/xml", kind == "application/xml":
		return xmlNature(body[:min(len(body), 4096)])
	case strings.HasPrefix(kind, "text/"), strings.HasSuffix(kind, "+xml"), strings.HasSuffix(kind, "+yaml"), textual[kind]:
		return Plain
	default:
		return Binary
	}
}

var feedRoot = regexp.MustCompile(`<(?:rss|feed|rdf:RDF)[\s>]`)

// xmlNature tells feeds, and pages that call themselves XML, from other XML.
func xmlNature(head []byte) Kind {
	switch {
	case feedRoot.Match(head):
		return Feed
	case bytes.Contains(bytes.ToLower(head), []byte("<html")):
		return Page
	default:
		return Plain
	}
}

// textual are types that are text though their names do not begin so.
var textual = map[string]bool{
	"application/javascript": true, "application/ecmascript": true, "application/x-javascript": true, "application/x-ndjson": true, "application/ndjson": true,
	"application/jsonl": true, "application/json5": true, "application/yaml": true, "application/x-yaml": true, "application/toml": true, "application/x-sh": true,
	"application/sql": true, "application/graphql": true, "application/csv": true, "application/x-tex": true, "application/pgp-signature": true,
	"application/x-pem-file": true, "application/mbox": true, "message/rfc822": true,
}

// pictureType is the type of a picture that models can see, told from its
// bytes; "" for any other.
func pictureType(body []byte) string {
	switch kind := http.DetectContentType(body); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return kind
	default:
		return ""
	}
}

var xmlEncoding = regexp.MustCompile(`^\s*<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z0-9_.:-]+)["']`)

// Decode takes a text to UTF-8: from what its mark says, or else the header, or
// the document itself. lossy tells that some bytes meant nothing. cut says that
// the end of the text may be half a letter.
func Decode(body []byte, contentType string, cut bool) (text string, lossy bool) {
	enc, label, certain := charset.DetermineEncoding(body, contentType)
	if !certain {
		if m := xmlEncoding.FindSubmatch(body[:min(len(body), 1024)]); m != nil {
			if e, n := charset.Lookup(string(m[1])); e != nil {
				enc, label = e, n
			}
		}
		if label == "windows-1252" && (utf8.Valid(body) || cut && utf8.Valid(wholeRunes(body))) {
			enc, label = encoding.Nop, "utf-8" // the fallback of browsers, where nothing asks for it
		}
	}
	if label == "utf-8" || enc == encoding.Nop {
		body = bytes.TrimPrefix(body, []byte("\ufeff"))
		if cut {
			body = wholeRunes(body)
		}
		return strings.ToValidUTF8(string(body), "\ufffd"), !utf8.Valid(body)
	}
	out, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return strings.ToValidUTF8(string(body), "\ufffd"), true
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(out), "\ufffd"), "\ufeff"), false
}

// wholeRunes cuts off a rune that a limit cut in two.
func wholeRunes(text []byte) []byte {
	for i := 1; i <= min(len(text), utf8.UTFMax-1); i++ {
		if last := text[len(text)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return text[:len(text)-i]
			}
			break
		}
	}
	return text
}

// page reads HTML.
func (d *Document) page(text string, u *url.URL, opt Options) error {
	p, err := markdown.FromHTML([]byte(text), u, markdown.Options{Main: opt.Main && opt.Format != HTML, Plain: opt.Format == Text})
	if err != nil {
		return err
	}
	d.Title, d.Byline, d.Published, d.Links, d.Text = p.Title, p.Byline, p.Published, p.Links, p.Markdown
	d.Whole = opt.Main && p.Complete
	if opt.Format == HTML {
		d.Text, d.Whole = text, false
	}
	return nil
}

// json writes JSON so that it can be read.
func (d *Document) json(text string) {
	var out bytes.Buffer
	switch {
	case !json.Valid([]byte(text)):
		d.Kind, d.Text = Plain, markdown.Visible(text) // it says that it is JSON
	case indented(text) > 4*len(text)+64<<10 || json.Indent(&out, []byte(text), "", "  ") != nil:
		d.Text = text
	default:
		d.Text = out.String()
	}
}

// indented is about how long JSON becomes when it is written on lines; one that
// is nested deeply would become mostly spaces.
func indented(text string) (n int) {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			n += 2*depth + 1
		case c == ']' || c == '}':
			depth--
			n += 2*depth + 1
		case c == ',':
			n += 2*depth + 1
		}
	}
	return n + len(text)
}

// pdf reads a PDF, page by page.
func (d *Document) pdf(ctx context.Context, body []byte) error {
	doc, err := pdftext.Read(ctx, body)
	if err != nil {
		return err
	}
	d.Title, d.Byline, d.Pages = markdown.Visible(doc.Title), markdown.Visible(doc.Author), doc.Count
	var b strings.Builder
	words := 0
	for i, text := range doc.Pages {
		if len(doc.Pages) > 1 {
			fmt.Fprintf(&b, "[page %d of %d]\n\n", i+1, doc.Count)
		}
		text = markdown.Visible(text)
		words += len(text)
		b.WriteString(text + "\n\n")
	}
	if d.Text = strings.TrimSpace(b.String()); words == 0 {
		d.Text = ""
		d.Notes = append(d.Notes, "the PDF holds no text; its pages are probably pictures")
	}
	if doc.Cut {
		d.Notes = append(d.Notes, fmt.Sprintf("the PDF is long: of its %d pages %d were read", doc.Count, len(doc.Pages)))
	}
	if doc.Bad > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("parts of the PDF could not be read: something is wrong with %d of its pages", doc.Bad))
	}
	return nil
}
