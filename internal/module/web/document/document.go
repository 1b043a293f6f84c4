// Package document makes text of what a web server sends: pages, plain text,
// JSON, feeds, PDFs. Pictures stay pictures, and what nobody can read is said
// to be that.
package document

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"callgate/internal/markdown"
	"callgate/internal/module/fetch/body"
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

// Read makes a document of a source. An error means that it is a sort that can
// be read, and this one cannot.
func Read(ctx context.Context, s Source, opt Options) (*Document, error) {
	d := &Document{}
	kind := body.MediaType(s.Type)
	switch d.Kind = nature(kind, s.Body); d.Kind {
	case Picture:
		if d.MIME = pictureType(s.Body); d.MIME == "" || len(s.Body) > body.MaxPicture || s.Truncated {
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
func IsPage(s Source) bool { return nature(body.MediaType(s.Type), s.Body) == Page }

// nature judges by what the server says, and by the bytes where it says nothing
// that helps, or less than they do.
func nature(kind string, content []byte) Kind {
	head := content[:min(len(content), 1024)]
	switch kind {
	case "", "application/octet-stream", "binary/octet-stream", "application/force-download", "unknown/unknown", "application/unknown", "application/pdf", "application/x-pdf":
		if bytes.Contains(head, []byte("%PDF-")) {
			return PDF
		}
		if !strings.HasSuffix(kind, "pdf") {
			kind = body.MediaType(http.DetectContentType(head))
		}
	}
	switch {
	case kind == "text/html", kind == "application/xhtml+xml":
		return Page
	case kind == "application/pdf", kind == "application/x-pdf":
		return Binary // it says so, and is none
	case body.IsJSON(kind):
		return JSON
	case body.IsPicture(kind), kind == "image/jpg":
		return Picture
	case kind == "application/rss+xml", kind == "application/atom+xml", kind == "application/rdf+xml", kind == "application/feed+xml", kind == "text/xml", kind == "application/xml":
		return xmlNature(content[:min(len(content), 4096)])
	case body.IsText(kind):
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

// pictureType is the type of a picture that models can see, told from its
// bytes; "" for any other.
func pictureType(content []byte) string {
	if kind := http.DetectContentType(content); body.IsPicture(kind) {
		return kind
	}
	return ""
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
func (d *Document) pdf(ctx context.Context, content []byte) error {
	doc, err := pdftext.Read(ctx, content)
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
