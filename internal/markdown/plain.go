package markdown

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// plain writes the text of a tree alone: a block on lines of its own, with an
// empty line around paragraphs and the like, a dash before the items of a list,
// a tab between the cells of a row.
func plain(part *html.Node) string {
	var w plainWriter
	w.children(part)
	return string(spaced([]byte(w.b.String())))
}

type plainWriter struct {
	b    strings.Builder
	gap  string // what must stand before the next word
	mark string // and the sign of a list between them, on the word's line
}

func (w *plainWriter) children(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode {
			w.words(c.Data)
			continue
		}
		switch c.DataAtom {
		case atom.Pre:
			w.part("\n\n")
			w.raw(c)
			w.part("\n\n")
		case atom.Br:
			w.part("\n")
		case atom.Hr:
			w.part("\n\n")
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
			w.part(around)
			if c.DataAtom == atom.Li {
				w.mark = "- "
			}
			w.children(c)
			if c.DataAtom == atom.Li {
				w.mark = "" // if nothing was in it
			}
			w.part(around)
		}
	}
}

// margin is what stands around an element.
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

// part sees to it that the next word stands apart.
func (w *plainWriter) part(gap string) {
	if w.mark != "" {
		return
	}
	if len(gap) > len(w.gap) || gap != "" && (w.gap == " " || w.gap == "\t") {
		w.gap = gap
	}
}

func (w *plainWriter) words(text string) {
	for text != "" {
		rest := strings.TrimLeft(text, " \t\r\n\f")
		if len(rest) < len(text) && w.gap == "" && w.mark == "" {
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

// begin writes what stands before a word.
func (w *plainWriter) begin() {
	if w.b.Len() > 0 {
		w.b.WriteString(w.gap)
	}
	w.b.WriteString(w.mark)
	w.gap, w.mark = "", ""
}

// raw writes a text as it stands.
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

// flatten is the text of a page that is nested too deeply to be parsed: its
// words in their order, blocks on lines of their own.
func flatten(source []byte) string {
	var w plainWriter
	z := html.NewTokenizer(bytes.NewReader(source))
	for silent := atom.Atom(0); ; {
		kind := z.Next()
		switch kind {
		case html.ErrorToken:
			return string(spaced([]byte(w.b.String())))
		case html.TextToken:
			if silent == 0 {
				w.words(Visible(string(z.Text())))
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			a := atom.Lookup(name)
			switch {
			case silent != 0:
				if kind == html.EndTagToken && a == silent {
					silent = 0
				}
			case kind == html.StartTagToken && (a == atom.Script || a == atom.Style || a == atom.Noscript || a == atom.Template || a == atom.Title):
				silent = a
			case a == atom.Br:
				w.part("\n")
			default:
				w.part(margin(a))
			}
		}
	}
}
