package doctext

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// html reads a page: a section for each heading, a block for each paragraph. It reads tags one
// after another and builds no tree, so that no nesting is too deep. The lines are those of the
// file, in which part names it if the page is one of several.
func (r *reader) html(text, part string) {
	p := page{r: r, part: part, line: 1}
	r.begin(Section{Part: part, Unit: Line})
	z := html.NewTokenizer(strings.NewReader(text))
	z.SetMaxBuf(maxTag)
	for !r.full() {
		kind := z.Next()
		if kind == html.ErrorToken {
			break // the end, or a tag that is longer than any
		}
		raw := z.Raw()
		started := p.line
		p.line += strings.Count(string(raw), "\n")
		switch kind {
		case html.TextToken:
			p.text(string(z.Text()), started)
		case html.StartTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			p.open(atom.Lookup(name), kind == html.SelfClosingTagToken)
		case html.EndTagToken:
			name, _ := z.TagName()
			p.close(atom.Lookup(name))
		}
	}
	p.end()
}

// maxTag bounds a single tag or text.
const maxTag = 8 << 20

// page is what is known while a page is read.
type page struct {
	r       *reader
	part    string
	outline outline
	line    int // of the file

	b           strings.Builder // the block
	first, last int             // its lines
	heading     int             // the level of the heading that is read; 0: none
	titling     bool            // the title of the page is read
	preformed   int             // how many elements keep their spaces
	skipped     atom.Atom       // the element whose text is not read; 0: none
	skipDepth   int
}

func (p *page) text(text string, started int) {
	switch {
	case p.skipped != 0:
		return
	case p.titling:
		p.r.titled(strings.TrimSpace(text))
		return
	}
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		if p.b.Len() > 0 && text != "" {
			p.space(text)
		}
		return
	}
	first := started + strings.Count(text[:strings.Index(text, trimmed)], "\n")
	if p.b.Len() == 0 {
		p.first = first
	}
	p.last = first + strings.Count(trimmed, "\n")
	if p.preformed > 0 {
		p.b.WriteString(text)
	} else {
		if text[0] <= ' ' {
			p.space(" ")
		}
		p.b.WriteString(strings.Join(strings.Fields(trimmed), " "))
		if text[len(text)-1] <= ' ' {
			p.space(" ")
		}
	}
	if p.b.Len() > maxBlock && p.heading == 0 {
		p.end()
	}
}

// space adds space, as much as the element keeps.
func (p *page) space(text string) {
	if p.preformed == 0 {
		text = " "
	}
	if p.b.Len() > 0 {
		p.b.WriteString(text)
	}
}

func (p *page) open(tag atom.Atom, closed bool) {
	if p.skipped != 0 {
		if tag == p.skipped && !closed {
			p.skipDepth++
		}
		return
	}
	switch tag {
	case atom.Script, atom.Style, atom.Nav, atom.Noscript, atom.Template, atom.Svg, atom.Math, atom.Iframe, atom.Select:
		if !closed {
			p.end()
			p.skipped, p.skipDepth = tag, 1
		}
	case atom.Title:
		p.titling = !closed
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		p.end()
		p.heading = level(tag)
	case atom.Pre:
		p.end()
		p.preformed++
	case atom.Br:
		if p.b.Len() > 0 {
			p.b.WriteString("\n")
		}
	case atom.Td, atom.Th:
		if p.b.Len() > 0 {
			p.b.WriteString(" | ")
		}
	default:
		if block(tag) {
			p.end()
		}
	}
}

func (p *page) close(tag atom.Atom) {
	if p.skipped != 0 {
		if tag == p.skipped {
			if p.skipDepth--; p.skipDepth == 0 {
				p.skipped = 0
			}
		}
		return
	}
	switch {
	case tag == atom.Title:
		p.titling = false
	case tag == atom.Pre:
		p.end()
		p.preformed = max(0, p.preformed-1)
	case level(tag) > 0, block(tag):
		p.end()
	}
}

// end ends a block; one that is a heading begins a section.
func (p *page) end() {
	text := strings.TrimRight(p.b.String(), " \n\t")
	p.b.Reset()
	at := p.heading
	if strings.TrimSpace(text) == "" {
		return
	}
	if p.heading = 0; at > 0 {
		p.r.titled(text)
		p.r.begin(Section{Headings: p.outline.enter(at, text), Part: p.part, Unit: Line})
	}
	p.r.add(text, p.first, p.last)
}

func level(tag atom.Atom) int {
	switch tag {
	case atom.H1:
		return 1
	case atom.H2:
		return 2
	case atom.H3:
		return 3
	case atom.H4:
		return 4
	case atom.H5:
		return 5
	case atom.H6:
		return 6
	default:
		return 0
	}
}

// block reports whether an element begins on a line of its own.
func block(tag atom.Atom) bool {
	switch tag {
	case atom.P, atom.Div, atom.Section, atom.Article, atom.Li, atom.Ul, atom.Ol, atom.Dl, atom.Dt, atom.Dd, atom.Tr,
		atom.Table, atom.Blockquote, atom.Header, atom.Footer, atom.Main, atom.Aside, atom.Figure, atom.Figcaption, atom.Hr,
		atom.Body, atom.Form, atom.Details, atom.Summary, atom.Thead, atom.Tbody:
		return true
	default:
		return false
	}
}
