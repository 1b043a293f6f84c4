// Package manual shows the pages of docs/ as HTML.
//
// # Law
//
//   - Only pages of the program are shown, and nothing that anybody wrote since it was built.
//   - A page brings no HTML of its own: it is left out. There is no script, no style and no picture
//     from elsewhere in what is made, so the policy of the console holds for it too.
//   - A link leads to another page, to a place in one, or to a web site; one that leads to a file
//     of the repository is a text.
package manual

import (
	"bytes"
	"html/template"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"callgate/docs"
	"callgate/tool"
)

// Root is where the pages are found: the contents there, each page and each picture below.
const Root = "/docs"

// Page is a page as it is shown.
type Page struct {
	Title    string
	Contents bool // it lists the others
	HTML     template.HTML
}

// Find returns the page of a name; "" is the contents.
func Find(name string) (Page, error) {
	if name == "" {
		name = docs.Contents
	}
	page, ok := docs.Find(name)
	if !ok {
		return Page{}, tool.Errorf("console", tool.NotFound, "the documentation has no page %s", tool.Truncate(name)).
			WithHint("Docs, beside this text, lists them")
	}
	return Page{Title: page.Title, Contents: page.Name == docs.Contents, HTML: render(page.Text)}, nil
}

// Picture serves the drawing that the address ends with.
func Picture(w http.ResponseWriter, r *http.Request) error {
	data, ok := docs.Picture(path.Base(r.URL.Path))
	if !ok {
		return tool.Errorf("console", tool.NotFound, "the documentation has no such picture")
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	_, err := w.Write(data)
	return err
}

var markdown = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(
			// alignment by a style would be refused by the console's policy
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
		),
		goldmark.WithParserOptions(
			parser.WithAutoHeadingID(),
			parser.WithASTTransformers(util.Prioritized(links{}, 100)),
		),
	)
})

// forReaders are what tables and blocks of code need so that keys and screen readers get through
// them. No text of a page has these tags: it is escaped.
var forReaders = strings.NewReplacer(
	"<table>", `<div class="scroll" tabindex="0" role="region" aria-label="table"><table>`, "</table>", "</table></div>",
	"<pre>", `<pre tabindex="0">`, "<th></th>", "<td></td>",
)

func render(page string) template.HTML {
	var b bytes.Buffer
	context := parser.NewContext(parser.WithIDs(&places{seen: map[string]int{}}))
	if err := markdown().Convert([]byte(page), &b, parser.WithContext(context)); err != nil {
		return template.HTML(template.HTMLEscapeString(page)) // a buffer takes everything
	}
	return template.HTML(forReaders.Replace(b.String()))
}

// links has links and pictures lead to what the console serves.
type links struct{}

// Transform changes the links of a page.
func (links) Transform(page *ast.Document, _ text.Reader, _ parser.Context) {
	var dead []ast.Node
	_ = ast.Walk(page, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		to, ok := []byte(nil), true
		switch n := n.(type) {
		case *ast.Link:
			to, ok = address(n.Destination)
			n.Destination = to
		case *ast.Image:
			to, ok = picture(n.Destination)
			n.Destination = to
		}
		if !ok {
			dead = append(dead, n)
		}
		return ast.WalkContinue, nil
	})
	for _, n := range dead {
		words := ast.NewEmphasis(1)
		for child := n.FirstChild(); child != nil; child = n.FirstChild() {
			words.AppendChild(words, child)
		}
		n.Parent().ReplaceChild(n.Parent(), n, words)
	}
}

// address is where a link leads here.
func address(link []byte) ([]byte, bool) {
	to := string(link)
	if strings.HasPrefix(to, "https://") || strings.HasPrefix(to, "http://") {
		return link, true
	}
	file, place, _ := strings.Cut(to, "#")
	if place != "" {
		place = "#" + placePrefix + place
	}
	if file == "" {
		return []byte(place), place != ""
	}
	page, ok := docs.Find(file)
	if !ok || path.Ext(file) != ".md" {
		return nil, false
	}
	if page.Name == docs.Contents {
		return []byte(Root + place), true
	}
	return []byte(Root + "/" + page.Name + place), true
}

// picture is where a picture of docs/pictures is served.
func picture(link []byte) ([]byte, bool) {
	name := path.Base(string(link))
	_, ok := docs.Picture(name)
	return []byte(Root + "/pictures/" + name), ok
}

// placePrefix begins the ID of every heading, so that none is that of another part of the console.
const placePrefix = "doc-"

// places makes the IDs of a page's headings, as GitHub does.
type places struct{ seen map[string]int }

// Generate returns the ID of a heading.
func (p *places) Generate(heading []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(string(heading))) {
		switch {
		case r == ' ' || r == '-':
			b.WriteByte('-')
		case r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || r > 127:
			b.WriteRune(r)
		}
	}
	id := placePrefix + b.String()
	p.seen[id]++
	if n := p.seen[id]; n > 1 {
		id += "-" + string(rune('0'+n-1))
	}
	return []byte(id)
}

// Put notes an ID that a page gives itself, which none does.
func (p *places) Put(id []byte) { p.seen[string(id)]++ }
