// Package document makes text of what a web server sends: pages, plain text,
// JSON, feeds and PDFs. Pictures stay pictures, and other bytes are reported as
// binary.
package document

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"callgate/internal/markdown"
	"callgate/internal/module/fetch/body"
	"callgate/internal/pdftext"
	"callgate/tool"
)

// Kind is the kind of a document.
type Kind string

// The kinds.
const (
	Page    Kind = "page" // HTML
	Plain   Kind = "text"
	JSON    Kind = "json"
	Feed    Kind = "feed"
	PDF     Kind = "pdf"
	Picture Kind = "picture" // an image of a type that models can see
	Binary  Kind = "binary"  // bytes that mean nothing to a reader
)

// Format is the format in which a page is written.
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
	Body      []byte // decompressed
	Truncated bool   // there was more
}

// Options choose how a page is written. They do not affect other documents.
type Options struct {
	Format Format
	Main   bool // only the text that people come for
}

// Document is the content of a source.
type Document struct {
	Kind      Kind
	Title     string
	Byline    string
	Published string
	Text      string
	Links     []markdown.Link
	MIME      string // of a picture
	Pages     int    // of a PDF
	Whole     bool   // the main part was asked for, and the whole page is given
	Notes     []string
}

// Read makes a document of a source. The error is that of a document of a
// readable kind that is damaged or too long.
func Read(ctx context.Context, s Source, opt Options) (*Document, error) {
	d := &Document{}
	switch d.Kind = kindOf(body.MediaType(s.Type), s.Body); d.Kind {
	case Picture:
		if d.MIME = pictureType(s.Body); d.MIME == "" || len(s.Body) > body.MaxPicture || s.Truncated {
			d.Kind, d.MIME = Binary, ""
		}
		return d, nil
	case Binary:
		return d, nil
	case PDF:
		if s.Truncated {
			return d, errors.New("the PDF is longer than may be read")
		}
		return d, d.pdf(ctx, s.Body)
	}
	text, _, lossy := body.Decode(s.Body, s.Type, s.Truncated)
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
func IsPage(s Source) bool { return kindOf(body.MediaType(s.Type), s.Body) == Page }

// kindOf tells the kind of a document from its media type, and from its bytes
// where the media type says nothing useful.
func kindOf(mediaType string, content []byte) Kind {
	head := content[:min(len(content), 1024)]
	switch mediaType {
	case "application/pdf", "application/x-pdf":
		if bytes.Contains(head, []byte("%PDF-")) {
			return PDF
		}
		return Binary
	case "", "application/octet-stream", "binary/octet-stream", "application/force-download",
		"unknown/unknown", "application/unknown":
		if bytes.Contains(head, []byte("%PDF-")) {
			return PDF
		}
		mediaType = body.MediaType(http.DetectContentType(head))
	}
	switch mediaType {
	case "text/html", "application/xhtml+xml":
		return Page
	case "application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+xml",
		"text/xml", "application/xml":
		return xmlKind(content[:min(len(content), 4096)])
	}
	switch {
	case body.IsJSON(mediaType):
		return JSON
	case body.IsPicture(mediaType), mediaType == "image/jpg":
		return Picture
	case body.IsText(mediaType):
		return Plain
	default:
		return Binary
	}
}

var feedRoot = regexp.MustCompile(`<(?:rss|feed|rdf:RDF)[\s>]`)

// xmlKind tells feeds, and pages that are XML, from other XML.
func xmlKind(head []byte) Kind {
	switch {
	case feedRoot.Match(head):
		return Feed
	case bytes.Contains(bytes.ToLower(head), []byte("<html")):
		return Page
	default:
		return Plain
	}
}

// pictureType returns the type of a picture that models can see, by its bytes;
// "" for anything else.
func pictureType(content []byte) string {
	if kind := http.DetectContentType(content); body.IsPicture(kind) {
		return kind
	}
	return ""
}

// page reads HTML.
func (d *Document) page(text string, u *url.URL, opt Options) error {
	p, err := markdown.FromHTML([]byte(text), u, markdown.Options{
		Main: opt.Main && opt.Format != HTML, Plain: opt.Format == Text,
	})
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

// json writes JSON on lines.
func (d *Document) json(text string) {
	var out bytes.Buffer
	switch {
	case !json.Valid([]byte(text)):
		d.Kind, d.Text = Plain, markdown.Visible(text) // it only claims to be JSON
	case indentedLength(text) > 4*len(text)+64<<10 || json.Indent(&out, []byte(text), "", "  ") != nil:
		d.Text = text
	default:
		d.Text = out.String()
	}
}

// indentedLength estimates the length of JSON that is written on lines. JSON
// that is nested deeply would become mostly spaces.
func indentedLength(text string) (n int) {
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
func (d *Document) pdf(ctx context.Context, content []byte) error {
	doc, err := pdftext.Read(ctx, content)
	var bad *tool.Error
	if errors.As(err, &bad) && bad.Kind == tool.Failed {
		return bad.WithHint("save it with web.download, and use a program that understands it")
	}
	if err != nil {
		return err
	}
	d.Title, d.Byline, d.Pages = markdown.Visible(doc.Title), markdown.Visible(doc.Author), doc.Count
	var b strings.Builder
	length := 0
	for i, text := range doc.Pages {
		if len(doc.Pages) > 1 {
			fmt.Fprintf(&b, "[page %d of %d]\n\n", i+1, doc.Count)
		}
		text = markdown.Visible(text)
		length += len(text)
		b.WriteString(text + "\n\n")
	}
	if d.Text = strings.TrimSpace(b.String()); length == 0 {
		d.Text = ""
		d.Notes = append(d.Notes, "the PDF holds no text; its pages are probably pictures")
	}
	if doc.Cut {
		d.Notes = append(d.Notes, fmt.Sprintf("the PDF is long: of its %d pages %d were read", doc.Count, len(doc.Pages)))
	}
	if doc.Bad > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("parts of the PDF could not be read: %d of its pages are damaged", doc.Bad))
	}
	return nil
}
