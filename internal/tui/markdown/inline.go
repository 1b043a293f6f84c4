package markdown

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"callgate/internal/tui/termtext"
)

// node is a piece of a paragraph: text, or a run of marks that may begin or end
// an emphasis. Marks that do neither are text.
type node struct {
	text   string
	style  style
	mark   byte // * _ ~, or 0 for text
	left   int  // marks that are not used yet; the others are not shown
	opens  bool
	closes bool
	begins []style // emphases that begin after it
	ends   []style // emphases that end before it
}

// inlines reads the markup inside a paragraph.
type inlines struct {
	text     string
	at       int // the next byte to read
	textFrom int // the text that is read and not yet a node
	nodes    []node
	links    bool         // links may stand here, as they may not inside a link
	closing  []int        // of each opening bracket, where it closes; 0: nowhere
	unclosed map[int]bool // lengths of runs of backticks that none closes
}

// parseInlines gives the spans of a paragraph's text.
func parseInlines(text string) []span {
	p := &inlines{text: text, links: true}
	p.run()
	return emphasize(p.nodes)
}

func (p *inlines) run() {
	for p.at < len(p.text) {
		if n, ok := p.markup(); ok {
			p.textFrom = p.at + n
			p.at = p.textFrom
			continue
		}
		p.at++
	}
	p.flush()
}

// flush makes a node of the text that was read.
func (p *inlines) flush() {
	if p.textFrom < p.at {
		p.nodes = append(p.nodes, node{text: p.text[p.textFrom:p.at]})
	}
	p.textFrom = p.at
}

func (p *inlines) add(text string, s style) {
	p.flush()
	p.nodes = append(p.nodes, node{text: text, style: s})
}

// markup reads what begins at the next byte, if it is markup: it adds the nodes
// and returns the length.
func (p *inlines) markup() (int, bool) {
	switch c := p.text[p.at]; c {
	case '\\':
		return p.escape()
	case '`':
		return p.codeSpan()
	case '*', '_', '~':
		return p.marks(c)
	case '[':
		return p.link(p.at)
	case '!':
		return p.image()
	case '<':
		return p.autolink()
	case '&':
		return p.entity()
	case 'h', 'w':
		return p.address()
	}
	return 0, false
}

// escape reads a backslash before punctuation, or before a line break.
func (p *inlines) escape() (int, bool) {
	if p.at+1 >= len(p.text) {
		return 0, false
	}
	c := p.text[p.at+1]
	if c != '\n' && !isPunctuation(c) {
		return 0, false
	}
	p.add(string(c), 0)
	return 2, true
}

func isPunctuation(c byte) bool {
	return c > ' ' && c < 0x7f && !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z')
}

// codeSpan reads code between runs of as many backticks. Backticks that none
// close are text.
func (p *inlines) codeSpan() (int, bool) {
	size := runLength(p.text[p.at:], '`')
	inner, n, ok := p.codeAt(p.at, size)
	if !ok {
		p.add(p.text[p.at:p.at+size], 0)
		return size, true
	}
	inner = strings.ReplaceAll(inner, "\n", " ")
	if len(inner) > 2 && inner[0] == ' ' && inner[len(inner)-1] == ' ' && strings.Trim(inner, " ") != "" {
		inner = inner[1 : len(inner)-1]
	}
	p.add("`"+inner+"`", accent)
	return n, true
}

// codeAt finds the code that a run of backticks opens, and how long it is with
// its backticks.
func (p *inlines) codeAt(at, size int) (inner string, n int, ok bool) {
	if p.unclosed[size] {
		return "", 0, false
	}
	from := at + size
	for i := from; i < len(p.text); {
		next := strings.IndexByte(p.text[i:], '`')
		if next < 0 {
			break
		}
		i += next
		run := runLength(p.text[i:], '`')
		if run == size {
			return p.text[from:i], i + run - at, true
		}
		i += run
	}
	if p.unclosed == nil {
		p.unclosed = map[int]bool{}
	}
	p.unclosed[size] = true // so it is not looked for again
	return "", 0, false
}

func runLength(text string, c byte) int {
	n := 0
	for n < len(text) && text[n] == c {
		n++
	}
	return n
}

// marks reads a run of marks, and by the characters around it whether it can
// begin or end an emphasis.
func (p *inlines) marks(c byte) (int, bool) {
	n := runLength(p.text[p.at:], c)
	if strings.HasPrefix(p.text[p.at+n:], emojiMark) { // a key with an asterisk
		return 0, false
	}
	if c == '~' && n > 2 {
		p.add(p.text[p.at:p.at+n], 0)
		return n, true
	}
	before, _ := utf8.DecodeLastRuneInString(p.text[:p.at])
	after, _ := utf8.DecodeRuneInString(p.text[p.at+n:])
	if p.at == 0 {
		before = ' '
	}
	if p.at+n == len(p.text) {
		after = ' '
	}
	leftFlanking := !unicode.IsSpace(after) && (!isMark(after) || unicode.IsSpace(before) || isMark(before))
	rightFlanking := !unicode.IsSpace(before) && (!isMark(before) || unicode.IsSpace(after) || isMark(after))
	d := node{mark: c, left: n, opens: leftFlanking, closes: rightFlanking, text: p.text[p.at : p.at+n]}
	if c == '_' { // not inside a word
		d.opens = leftFlanking && (!rightFlanking || isMark(before))
		d.closes = rightFlanking && (!leftFlanking || isMark(after))
	}
	p.flush()
	p.nodes = append(p.nodes, d)
	return n, true
}

func isMark(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }

// entity reads an entity, such as &amp;. What it stands for is made safe: it
// may be a character that commands a terminal.
func (p *inlines) entity() (int, bool) {
	const longest = 32
	rest := p.text[p.at:min(p.at+longest, len(p.text))]
	end := strings.IndexByte(rest, ';')
	if end < 0 {
		return 0, false
	}
	e := rest[:end+1]
	text := html.UnescapeString(e)
	if text == e || strings.HasSuffix(text, ";") && text != ";" { // only a part of it is an entity
		return 0, false
	}
	p.add(termtext.Safe(strings.ReplaceAll(text, "\n", " ")), 0)
	return len(e), true
}
