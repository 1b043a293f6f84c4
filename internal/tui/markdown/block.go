package markdown

import (
	"strings"
)

// kind is the kind of a block.
type kind uint8

const (
	paragraph kind = iota
	heading
	rule
	code
	quote
	list
	table
)

// block is a part of a document. Which fields are set depends on its kind.
type block struct {
	kind    kind
	text    string  // of a paragraph or a heading, with its markup; of code, the code
	level   int     // of a heading
	info    string  // of code: what stands after the fence
	blocks  []block // of a quote
	items   []item  // of a list
	ordered bool    // of a list
	start   int     // of an ordered list: its first number
	table   tableData
}

// item is one entry of a list.
type item struct {
	task   string // "[ ] " or "[x] "; "" for an item that is not a task
	blocks []block
}

// maxDepth limits how deep quotes and lists nest; below, text stays a paragraph.
const maxDepth = 16

// parser reads the blocks of some lines. It reads containers by taking the
// lines that belong to one, removing the container's marks from them, and
// reading what is left with a parser of its own.
type parser struct {
	lines []string
	next  int // the line to read
	depth int // containers around these lines
	out   []block
}

func parseBlocks(lines []string, depth int) []block {
	p := &parser{lines: lines, depth: depth}
	for p.next < len(p.lines) {
		p.block()
	}
	return p.out
}

func (p *parser) add(b block) { p.out = append(p.out, b) }

// block reads the block that begins at the next line.
func (p *parser) block() {
	line := p.lines[p.next]
	if isBlank(line) {
		p.next++
		return
	}
	if indentOf(line) >= codeIndent {
		p.indentedCode()
		return
	}
	if f, ok := fenceOf(line); ok {
		p.fencedCode(f)
		return
	}
	if level, text, ok := headingOf(line); ok {
		p.next++
		p.add(block{kind: heading, level: level, text: text})
		return
	}
	if isRule(line) {
		p.next++
		p.add(block{kind: rule})
		return
	}
	if p.depth < maxDepth {
		if isQuote(line) {
			p.quote()
			return
		}
		if m, ok := markerOf(line); ok {
			p.list(m)
			return
		}
	}
	if p.isTable(p.next) {
		p.table()
		return
	}
	p.paragraph()
}

// paragraph reads lines up to an empty one, or one that begins another block.
func (p *parser) paragraph() {
	begin := p.next
	for p.next++; p.next < len(p.lines); p.next++ {
		line := p.lines[p.next]
		if level := underlineOf(line); level > 0 {
			p.add(block{kind: heading, level: level, text: joinLines(p.lines[begin:p.next])})
			p.next++
			return
		}
		if isBlank(line) || interrupts(line) || p.isTable(p.next) {
			break
		}
	}
	p.add(block{kind: paragraph, text: joinLines(p.lines[begin:p.next])})
}

// joinLines joins the lines of a paragraph without their indentation. Spaces at
// the end of a line stand for a line break, and every line break is kept anyway.
func joinLines(lines []string) string {
	bare := make([]string, len(lines))
	for i, line := range lines {
		bare[i] = strings.Trim(line, " ")
	}
	return strings.Join(bare, "\n")
}

// indentedCode reads lines that are indented as code.
func (p *parser) indentedCode() {
	begin, end := p.next, p.next
	for ; p.next < len(p.lines); p.next++ {
		switch line := p.lines[p.next]; {
		case isBlank(line):
		case indentOf(line) >= codeIndent:
			end = p.next + 1
		default:
			p.addCode(begin, end, codeIndent, "")
			return
		}
	}
	p.addCode(begin, end, codeIndent, "")
}

// fencedCode reads the code between a fence and the one that closes it, or the
// end of the text.
func (p *parser) fencedCode(open fence) {
	begin := p.next + 1
	for p.next = begin; p.next < len(p.lines); p.next++ {
		if open.isClosedBy(p.lines[p.next]) {
			p.addCode(begin, p.next, open.indent, open.info)
			p.next++
			return
		}
	}
	p.addCode(begin, p.next, open.indent, open.info)
}

// addCode adds lines as code, less their indentation.
func (p *parser) addCode(begin, end, indent int, info string) {
	bare := make([]string, 0, end-begin)
	for _, line := range p.lines[begin:end] {
		bare = append(bare, line[min(indentOf(line), indent):])
	}
	p.add(block{kind: code, text: strings.Join(bare, "\n"), info: info})
}

// quote reads a quotation.
func (p *parser) quote() {
	var c container
	for ; p.next < len(p.lines); p.next++ {
		line := p.lines[p.next]
		if isQuote(line) {
			line = strings.TrimLeft(line, " ")[1:]
			c.add(strings.TrimPrefix(line, " "))
		} else if !c.continuesWith(line) {
			break
		} else {
			c.add(line)
		}
	}
	p.add(block{kind: quote, blocks: parseBlocks(c.lines, p.depth+1)})
}

// container collects the lines of a quote or of an item.
type container struct {
	lines  []string
	fenced bool // the last line is in a block of code that is open
	open   fence
}

func (c *container) add(line string) {
	c.lines = append(c.lines, line)
	if c.fenced {
		c.fenced = !c.open.isClosedBy(line)
	} else {
		c.open, c.fenced = fenceOf(line)
	}
}

// continuesWith reports whether a line without the container's marks goes on
// with a paragraph in it.
func (c *container) continuesWith(line string) bool {
	if c.fenced || len(c.lines) == 0 || isBlank(line) || interrupts(line) {
		return false
	}
	if _, isItem := markerOf(line); isItem {
		return false
	}
	last := c.lines[len(c.lines)-1]
	if isBlank(last) || isRule(last) || indentOf(last) >= codeIndent {
		return false
	}
	_, _, isHeading := headingOf(last)
	_, closed := fenceOf(last)
	return !isHeading && !closed
}
