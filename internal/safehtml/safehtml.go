// Package safehtml takes out of HTML that somebody else wrote what acts, loads or leads away.
//
// # Law
//
// What Clean returns is written tag by tag from lists: the elements and attributes that are named here and nothing
// else, each closed where it was opened. There is no script, no frame, no form, nothing that makes a browser ask for
// an address, and no link but to a place in the same text, however a browser nests what it reads. It takes time in
// proportion to the text, and elements are nested at most maxDepth deep: a parser that builds the tree of a
// browser makes millions of nodes of a few kilobytes. What style sheets would load is kept away by the policy of the
// page, without which nothing of this is shown.
package safehtml

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// maxDepth bounds how many elements are in each other.
const maxDepth = 64

// Clean returns the part of an HTML text that is safe to show, and the names of what was left out, sorted.
func Clean(text string) (clean string, removed []string, err error) {
	c := &cleaner{removed: map[string]bool{}}
	z := html.NewTokenizer(strings.NewReader(text))
	for {
		if z.Next() == html.ErrorToken {
			if z.Err() != io.EOF {
				return "", nil, fmt.Errorf("it cannot be read: %w", z.Err())
			}
			break
		}
		c.take(z.Token())
		if len(c.open) > maxDepth {
			return "", nil, fmt.Errorf("its elements are more than %d deep in each other", maxDepth)
		}
	}
	c.closeTo(0)
	return c.out.String(), slices.Sorted(maps.Keys(c.removed)), nil
}

// cleaner writes what stays of the tokens that it takes.
type cleaner struct {
	out      strings.Builder
	open     []string // the elements that were written and are not closed
	drawings int      // how many of them are svg
	skipping string   // the element whose content is left out; "": none
	within   int      // how many of its name are open in it
	removed  map[string]bool
}

func (c *cleaner) take(t html.Token) {
	if c.skipping != "" {
		c.skip(t)
		return
	}
	switch t.Type {
	case html.TextToken:
		c.text(t.Data)
	case html.StartTagToken, html.SelfClosingTagToken:
		c.start(t)
	case html.EndTagToken:
		c.end(t.Data)
	}
}

// skip leaves a token out, and sees whether what is left out ends with it.
func (c *cleaner) skip(t html.Token) {
	switch {
	case t.Data != c.skipping:
	case t.Type == html.StartTagToken:
		c.within++
	case t.Type == html.EndTagToken:
		if c.within--; c.within == 0 {
			c.skipping = ""
		}
	}
}

func (c *cleaner) text(text string) {
	if len(c.open) == 0 || c.open[len(c.open)-1] != "style" {
		c.out.WriteString(html.EscapeString(text))
		return
	}
	if strings.Contains(text, "<") { // it could be read as something else than a style sheet
		c.removed["a style sheet with <"] = true
		return
	}
	c.out.WriteString(text)
}

func (c *cleaner) start(t html.Token) {
	name := t.Data
	known := elements[name] && c.drawings == 0 || drawing[name] && (c.drawings > 0 || name == "svg")
	if !known {
		if name != "html" && name != "head" && name != "body" { // a whole page was given: what it shows stays
			c.removed["<"+short(name)+">"] = true
		}
		if t.Type == html.StartTagToken && withContent[name] {
			c.skipping, c.within = name, 1
		}
		return
	}
	for len(c.open) > 0 && strings.Contains(endedBy[name], " "+c.open[len(c.open)-1]+" ") {
		c.closeTo(len(c.open) - 1)
	}
	c.out.WriteString("<" + name)
	for _, a := range t.Attr {
		if c.allows(name, a) {
			c.out.WriteString(" " + a.Key + `="` + html.EscapeString(a.Val) + `"`)
		} else {
			c.removed[short(name)+" "+short(a.Key)] = true
		}
	}
	c.out.WriteString(">")
	if void[name] {
		return
	}
	c.open = append(c.open, name)
	if name == "svg" {
		c.drawings++
	}
	if t.Type == html.SelfClosingTagToken && c.drawings > 0 {
		c.closeTo(len(c.open) - 1)
	}
}

// end closes an element that is open, and those in it.
func (c *cleaner) end(name string) {
	if at := lastIndex(c.open, name); at >= 0 && (c.drawings == 0 || at >= lastIndex(c.open, "svg")) {
		c.closeTo(at)
	}
}

// closeTo closes elements until so many are open.
func (c *cleaner) closeTo(n int) {
	for len(c.open) > n {
		name := c.open[len(c.open)-1]
		c.open = c.open[:len(c.open)-1]
		c.out.WriteString("</" + name + ">")
		if name == "svg" {
			c.drawings--
		}
	}
}

func lastIndex(list []string, name string) int {
	for i, one := range slices.Backward(list) {
		if one == name {
			return i
		}
	}
	return -1
}

// short is a name that somebody made up, of a bounded length.
func short(name string) string {
	if len(name) > 30 {
		return strings.ToValidUTF8(name[:30], "") + "…"
	}
	return name
}

// allows reports whether an attribute of an element stays.
func (c *cleaner) allows(element string, a html.Attribute) bool {
	switch {
	case a.Key == "href":
		return (element == "a" || element == "use") && strings.HasPrefix(a.Val, "#")
	case a.Key == "src":
		return element == "img" && isPicture(a.Val)
	}
	return attributes[a.Key] || aria[a.Key] || (c.drawings > 0 || element == "svg") && drawingAttributes[a.Key]
}

// isPicture reports whether an address holds a picture itself.
func isPicture(address string) bool {
	for _, kind := range []string{"png", "jpeg", "gif", "webp"} {
		if strings.HasPrefix(address, "data:image/"+kind+";base64,") {
			return true
		}
	}
	return false
}

func words(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}

var (
	elements = words(`a abbr address article aside b bdi bdo blockquote br caption cite code col colgroup dd del details
		dfn div dl dt em figcaption figure footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark meter nav ol p pre
		progress q rp rt ruby s samp section small span strong style sub summary sup svg table tbody td tfoot th thead time
		tr u ul var wbr`)
	attributes = words(`align alt class colspan datetime dir headers height hidden high id lang low max min open optimum
		reversed role rowspan scope span start style tabindex title type valign value width`)
	aria = words(`aria-describedby aria-hidden aria-label aria-labelledby aria-level aria-valuemax aria-valuemin
		aria-valuenow aria-valuetext`)
	// drawing is the elements of SVG that stay, as a tokenizer writes their names.
	drawing = words(`svg g path rect circle ellipse line polyline polygon text tspan defs lineargradient radialgradient
		stop clippath mask pattern marker symbol use`)
	drawingAttributes = words(`clip-path clip-rule cx cy d dominant-baseline dx dy fill fill-opacity fill-rule font-family
		font-size font-style font-weight fx fy gradienttransform gradientunits letter-spacing marker-end marker-mid
		marker-start markerheight markerunits markerwidth mask offset opacity orient patterntransform patternunits points
		preserveaspectratio r refx refy rotate rx ry stop-color stop-opacity stroke stroke-dasharray stroke-dashoffset
		stroke-linecap stroke-linejoin stroke-miterlimit stroke-opacity stroke-width text-anchor textlength transform
		viewbox x x1 x2 y y1 y2`)
	void = words("br col hr img wbr")
	// endedBy says which element an element ends if that one is the last that is open.
	endedBy = map[string]string{
		"p": " p ", "li": " li ", "dt": " dt dd ", "dd": " dt dd ", "tr": " tr td th ", "td": " td th ", "th": " td th ",
		"tbody": " thead tbody tr td th ", "tfoot": " tbody tr td th ",
	}
	// withContent is the elements whose content is no text for a reader.
	withContent = words(`applet audio foreignobject iframe math noembed
		 noframes noscript
		object plaintext script select style template textarea title video xmp`)
)
