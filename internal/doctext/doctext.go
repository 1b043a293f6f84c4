// Package doctext turns documents into sections of text whose places can be cited: lines of a
// text file, pages of a PDF, rows of a sheet.
//
// # Law
//
// A document is hostile input. What is read of one is bounded by [Limits] whatever the document
// says of itself: its bytes, what its archive unpacks to, how deep its markup nests, and how
// much text comes out. No entity is resolved, nothing outside of the document is opened, and a
// PDF is parsed in a process of its own (package pdftext). A document that cannot be read is an
// error that says why; one that is damaged in a part, or longer than the limits, is read as far
// as it goes, and Warnings say so.
//
// Every section is valid UTF-8 without control characters, and the numbers of its blocks are
// those that a reader of the document would count.
package doctext

import (
	"context"
	"fmt"
	"path"
	"strings"

	"callgate/internal/amount"
	"callgate/tool"
)

const op = "doctext.Read"

// Format is the format of a document.
type Format string

// The formats.
const (
	Markdown Format = "markdown"
	HTML     Format = "html"
	PDF      Format = "pdf"
	Word     Format = "docx"
	Sheet    Format = "xlsx"
	Slides   Format = "pptx"
	Book     Format = "epub"
	Table    Format = "csv"
	Code     Format = "code"
	Plain    Format = "text"
)

// Unit is what the numbers of a block count.
type Unit string

// The units.
const (
	Line      Unit = "line"
	Page      Unit = "page"
	Slide     Unit = "slide"
	Row       Unit = "row"       // of a sheet
	Key       Unit = "key"       // a row of a database's table: the part says which
	Paragraph Unit = "paragraph" // of a document without lines and pages
)

// Document is what a document says.
type Document struct {
	Title    string
	Format   Format
	Sections []Section
	Warnings []string // what could not be read
}

// Section is a part of a document under one heading.
type Section struct {
	Headings []string // from the outermost to its own
	Part     string   // the sheet, or the chapter's file, that Unit counts in; "": the document
	Unit     Unit
	Lead     string // a text that belongs to every block, such as the heads of a table's columns
	Blocks   []Block
}

// Block is a text that is best not divided: a paragraph, a row, a definition.
type Block struct {
	Text        string
	First, Last int // counted from 1 in the section's unit
}

// Limits bound what is read. The zero value means the defaults.
type Limits struct {
	Bytes    int // of the document; 32 MiB
	Unpacked int // of the files in an archive, together; 64 MiB
	Text     int // of the sections, together; 16 MiB
}

func (l Limits) orDefaults() Limits {
	if l.Bytes == 0 {
		l.Bytes = 32 << 20
	}
	if l.Unpacked == 0 {
		l.Unpacked = 64 << 20
	}
	if l.Text == 0 {
		l.Text = 16 << 20
	}
	return l
}

// Supported reports whether documents of this name can be read, by the ending of the name. Files
// without an ending that is known may still hold text.
func Supported(name string) bool {
	_, known := formatOf(name)
	return known
}

// Read reads a document. The name says its format; one of an unknown name is read as plain text.
func Read(ctx context.Context, name string, content []byte, l Limits) (doc *Document, err error) {
	return read(ctx, name, content, l, nil)
}

// read reads a document: as code of a language, unless that is nil.
func read(ctx context.Context, name string, content []byte, l Limits, as *language) (doc *Document, err error) {
	l = l.orDefaults()
	if len(content) > l.Bytes {
		return nil, tool.Errorf(op, tool.Limited, "%s is %s, and documents of at most %s are read", path.Base(name),
			amount.Bytes(len(content)), amount.Bytes(l.Bytes)).WithHint("split it")
	}
	format, _ := formatOf(name)
	if as != nil {
		format = Code
	}
	r := &reader{ctx: ctx, name: name, limits: l, doc: &Document{Format: format}}
	if err := r.read(format, content, as); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.flush()
	if r.cut {
		r.warn("it holds more than %s of text; the rest was left out", amount.Bytes(l.Text))
	}
	r.doc.Title = oneLine(r.doc.Title)
	return r.doc, nil
}

func formatOf(name string) (f Format, known bool) {
	switch ending := strings.ToLower(path.Ext(name)); ending {
	case ".md", ".markdown", ".mdx", ".mdown":
		return Markdown, true
	case ".html", ".htm", ".xhtml":
		return HTML, true
	case ".pdf":
		return PDF, true
	case ".docx":
		return Word, true
	case ".xlsx", ".xlsm":
		return Sheet, true
	case ".pptx":
		return Slides, true
	case ".epub":
		return Book, true
	case ".csv", ".tsv":
		return Table, true
	case ".txt", ".text", ".rst", ".adoc", ".asciidoc", ".org", ".log", ".json", ".yaml", ".yml", ".toml", ".ini",
		".cfg", ".conf", ".xml", ".tex", ".properties", ".env", ".sql", ".graphql", ".proto", ".css", ".scss":
		return Plain, true
	default:
		if _, ok := languages[ending]; ok {
			return Code, true
		}
		return Plain, false
	}
}

func (r *reader) read(f Format, content []byte, as *language) error {
	switch f {
	case PDF:
		return r.pdf(content)
	case Word, Sheet, Slides, Book:
		return r.archive(f, content)
	}
	text, err := r.decode(content, f == HTML)
	if err != nil {
		return err
	}
	switch f {
	case Markdown:
		r.markdown(text)
	case HTML:
		r.html(text, "")
	case Table:
		r.table(text)
	case Code:
		if as == nil {
			known := languages[strings.ToLower(path.Ext(r.name))]
			as = &known
		}
		r.code(text, *as)
	default:
		r.plain(text)
	}
	return nil
}

// reader makes the sections of one document.
type reader struct {
	ctx    context.Context
	name   string
	limits Limits
	doc    *Document

	section Section // being made
	size    int     // of the text so far
	cut     bool    // the limit of text was reached
}

// What a section and a block take beside their text, in bytes. A hostile document has millions of
// them with no text to speak of.
const (
	sectionSize = 64
	blockSize   = 8
)

// begin ends a section and begins the next. Its headings are repeated with every part of it, so
// they count as its text does.
func (r *reader) begin(s Section) {
	r.flush()
	r.section = s
	size := sectionSize
	for _, h := range s.Headings {
		size += len(h)
	}
	r.charge(size)
}

// charge counts what is read, and reports whether there may be more.
func (r *reader) charge(size int) bool {
	if r.size += size; r.size > r.limits.Text {
		r.cut = true
	}
	return !r.full()
}

func (r *reader) flush() {
	if len(r.section.Blocks) > 0 {
		r.doc.Sections = append(r.doc.Sections, r.section)
	}
	r.section.Blocks = nil
}

// add adds a block to the section, and reports whether there may be more.
func (r *reader) add(text string, first, last int) bool {
	if r.cut || r.ctx.Err() != nil {
		return false
	}
	text = clean(text)
	if strings.TrimSpace(text) == "" {
		return true
	}
	if !r.charge(blockSize + len(text) + len(r.section.Lead)) {
		return false
	}
	r.section.Blocks = append(r.section.Blocks, Block{text, first, max(first, last)})
	return true
}

// full reports whether nothing more is read.
func (r *reader) full() bool { return r.cut || r.ctx.Err() != nil }

// maxWarnings bounds what is said of one document.
const maxWarnings = 20

// warn says what could not be read, on one line: what is named in it, the document named.
func (r *reader) warn(format string, args ...any) {
	if len(r.doc.Warnings) < maxWarnings {
		r.doc.Warnings = append(r.doc.Warnings, oneLine(fmt.Sprintf(format, args...)))
	}
}

// invalid is the error of a document that cannot be read.
func (r *reader) invalid(format string, args ...any) *tool.Error {
	e := tool.Errorf(op, tool.Invalid, format, args...)
	e.Message = oneLine(path.Base(r.name)) + " cannot be read: " + oneLine(e.Message)
	return e
}
