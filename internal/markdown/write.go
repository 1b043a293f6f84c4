package markdown

import (
	"bytes"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/collapse"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// write makes markdown of a cleaned tree. It changes the tree.
func write(part *html.Node) (text string) {
	c := converter.NewConverter(
		converter.WithEscapeMode(converter.EscapeModeDisabled),
		converter.WithPlugins(
			basePlugin{},
			commonmark.NewCommonmarkPlugin(
				commonmark.WithListEndComment(false),
				commonmark.WithHorizontalRule("---"),
			),
			strikethrough.NewStrikethroughPlugin(),
		),
	)
	defer func() {
		if recover() != nil { // the library was not made for this tree
			text = plain(part)
		}
	}()
	doc := &html.Node{Type: html.DocumentNode}
	for n := part.FirstChild; n != nil; n = part.FirstChild {
		part.RemoveChild(n)
		doc.AppendChild(n)
	}
	part = doc // for the deferred function
	out, err := c.ConvertNode(doc)
	if err != nil {
		return plain(doc)
	}
	return string(out)
}

// basePlugin replaces the base plug-in of the library: the tree is clean
// already, and nothing is escaped.
type basePlugin struct{}

// Name returns the name of the plug-in that it replaces.
func (basePlugin) Name() string { return "base" }

// Init registers the renderers.
func (basePlugin) Init(c *converter.Converter) error {
	c.Register.PreRenderer(func(_ converter.Context, doc *html.Node) {
		collapse.Collapse(doc, &collapse.DomFuncs{IsBlockNode: func(n *html.Node) bool { return isBlock(n.DataAtom) }})
	}, converter.PriorityLate)
	for _, name := range []string{"td", "th", "summary", "legend", "caption", "option"} {
		c.Register.TagType(name, converter.TagTypeBlock, converter.PriorityEarly)
	}
	for _, level := range []string{"h1", "h2", "h3", "h4", "h5", "h6"} {
		c.Register.RendererFor(level, converter.TagTypeBlock, heading, converter.PriorityEarly)
	}
	c.Register.RendererFor("table", converter.TagTypeBlock, table, converter.PriorityEarly)
	c.Register.RendererFor("a", converter.TagTypeInline, link, converter.PriorityEarly)
	c.Register.RendererFor("img", converter.TagTypeInline, picture, converter.PriorityEarly)
	c.Register.PostRenderer(func(_ converter.Context, text []byte) []byte {
		return normalizeSpace(text)
	}, converter.PriorityStandard)
	return nil
}

// heading writes a heading without escapes, on which the library's own relies.
func heading(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
	var b bytes.Buffer
	ctx.RenderChildNodes(ctx, &b, n)
	if text := oneLine(b.String()); text != "" {
		_, _ = w.WriteString("\n\n" + strings.Repeat("#", int(n.Data[1]-'0')) + " " + text + "\n\n")
	}
	return converter.RenderSuccess
}

// link writes a link with its address as it is; the library would encode it
// again. Without an address only the content is written, without text nothing.
func link(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
	to := attr(n, "href")
	if to == "" {
		return content(ctx, w, n)
	}
	var b bytes.Buffer
	ctx.RenderChildNodes(ctx, &b, n)
	before, text, after := cutSpace(b.String())
	if text == "" {
		return converter.RenderSuccess
	}
	_, _ = w.WriteString(before + "[" + oneLine(text) + "](" + inParentheses(to) + ")" + after)
	return converter.RenderSuccess
}

// content writes the content of an element without the element.
func content(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
	ctx.RenderChildNodes(ctx, w, n)
	return converter.RenderSuccess
}

// picture writes a picture with its address as it is.
func picture(_ converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
	_, _ = w.WriteString("![" + attr(n, "alt") + "](" + inParentheses(attr(n, "src")) + ")")
	return converter.RenderSuccess
}

// cutSpace returns a text without space around it, and one space for what was
// before and after it.
func cutSpace(text string) (before, middle, after string) {
	middle = strings.TrimSpace(text)
	if middle != text && strings.TrimLeft(text, " \n") != text {
		before = " "
	}
	if middle != text && strings.TrimRight(text, " \n") != text {
		after = " "
	}
	return before, middle, after
}

// inParentheses writes an address so that its own parentheses do not end the
// link: it encodes those that do not match.
func inParentheses(to string) string {
	open := 0
	for _, c := range []byte(to) {
		switch c {
		case '(':
			open++
		case ')':
			open--
		}
		if open < 0 {
			break
		}
	}
	if open == 0 {
		return to
	}
	return strings.NewReplacer("(", "%28", ")", "%29").Replace(to)
}

// normalizeSpace reduces several empty lines to one, and removes spaces at the
// ends of lines. At this point the library holds the lines of code together by a
// marker, so they keep their spaces.
func normalizeSpace(text []byte) []byte {
	out := make([]byte, 0, len(text))
	empty := 0
	for line := range bytes.SplitSeq(bytes.TrimSpace(text), []byte("\n")) {
		line = bytes.TrimRight(line, " \t\r")
		if len(line) == 0 {
			if empty++; empty > 1 {
				continue
			}
		} else {
			empty = 0
		}
		out = append(append(out, line...), '\n')
	}
	return bytes.TrimRight(out, "\n")
}

// isBlock reports whether an element stands on lines of its own.
func isBlock(a atom.Atom) bool {
	switch a {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Caption, atom.Center, atom.Dd,
		atom.Details, atom.Dialog, atom.Dir, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure,
		atom.Footer, atom.Form, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Header, atom.Hgroup, atom.Hr,
		atom.Html, atom.Legend, atom.Li, atom.Main, atom.Menu, atom.Nav, atom.Ol, atom.Optgroup, atom.Option, atom.P,
		atom.Pre, atom.Search, atom.Section, atom.Summary, atom.Table, atom.Tbody, atom.Td, atom.Tfoot, atom.Th,
		atom.Thead, atom.Tr, atom.Ul:
		return true
	}
	return false
}
