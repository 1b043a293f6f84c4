package markdown

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// plain writes the text of a tree without markdown: a block on lines of its own,
// with an empty line around paragraphs, a dash before the items of a list, a tab
// between the cells of a row.
func plain(part *html.Node) string {
	var w plainWriter
	w.children(part)
	return string(normalizeSpace([]byte(w.b.String())))
}

type plainWriter struct {
	b      strings.Builder
	gap    string // space before the next word
	bullet string // between the gap and the word
}

func (w *plainWriter) children(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode {
			w.words(c.Data)
			continue
		}
		switch c.DataAtom {
		case atom.Pre:
			w.separate("\n\n")
			w.raw(c)
			w.separate("\n\n")
		case atom.Br:
			w.separate("\n")
		case atom.Hr:
			w.separate("\n\n")
		case atom.Img:
			w.words(" " + attr(c, "alt") + " ")
		case atom.Td, atom.Th:
			w.children(c)
			w.gap = "\t"
		default:
			around := margin(c.DataAtom)
			if n.DataAtom == atom.Li && (c.DataAtom == atom.Ul || c.DataAtom == atom.Ol) {
				around = "\n"
			}
			w.separate(around)
			if c.DataAtom == atom.Li {
				w.bullet = "- "
			}
			w.children(c)
			if c.DataAtom == atom.Li {
				w.bullet = "" // of an empty item
			}
			w.separate(around)
		}
	}
}

// margin returns the space around an element.
func margin(a atom.Atom) string {
	switch a {
	case atom.Li, atom.Tr, atom.Dt, atom.Dd, atom.Option:
		return "\n"
	}
	if isBlock(a) {
		return "\n\n"
	}
	return ""
}

// separate puts at least this gap before the next word.
func (w *plainWriter) separate(gap string) {
	if w.bullet != "" {
		return
	}
	if len(gap) > len(w.gap) || gap != "" && (w.gap == " " || w.gap == "\t") {
		w.gap = gap
	}
}

func (w *plainWriter) words(text string) {
	for text != "" {
		rest := strings.TrimLeft(text, " \t\r\n\f")
		if len(rest) < len(text) && w.gap == "" && w.bullet == "" {
			w.gap = " "
		}
		if rest == "" {
			return
		}
		end := strings.IndexAny(rest, " \t\r\n\f")
		if end < 0 {
			end = len(rest)
		}
		w.begin()
		w.b.WriteString(rest[:end])
		text = rest[end:]
	}
}

// begin writes the space and the bullet before a word.
func (w *plainWriter) begin() {
	if w.b.Len() > 0 {
		w.b.WriteString(w.gap)
	}
	w.b.WriteString(w.bullet)
	w.gap, w.bullet = "", ""
}

// raw writes a text with its spaces and lines.
func (w *plainWriter) raw(n *html.Node) {
	w.begin()
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			w.b.WriteString(c.Data)
		} else if c.DataAtom == atom.Br {
			w.b.WriteByte('\n')
		}
	}
}

// flatten returns the text of a page that is nested too deeply to be parsed: its
// words in order, with blocks on lines of their own.
func flatten(source []byte) string {
	var w plainWriter
	z := html.NewTokenizer(bytes.NewReader(source))
	for skipped := atom.Atom(0); ; { // the element whose content is skipped
		kind := z.Next()
		switch kind {
		case html.ErrorToken:
			return string(normalizeSpace([]byte(w.b.String())))
		case html.TextToken:
			if skipped == 0 {
				w.words(Visible(string(z.Text())))
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			a := atom.Lookup(name)
			switch {
			case skipped != 0:
				if kind == html.EndTagToken && a == skipped {
					skipped = 0
				}
			case kind == html.StartTagToken && holdsNoText(a):
				skipped = a
			case a == atom.Br:
				w.separate("\n")
			default:
				w.separate(margin(a))
			}
		}
	}
}

func holdsNoText(a atom.Atom) bool {
	return a == atom.Script || a == atom.Style || a == atom.Noscript || a == atom.Template || a == atom.Title
}
