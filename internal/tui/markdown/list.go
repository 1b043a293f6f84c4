package markdown

// list reads the items of a list.
func (p *parser) list(first marker) {
	b := block{kind: list, ordered: first.ordered(), start: first.number}
	for m := first; ; {
		b.items = append(b.items, p.item(m))
		after := p.next
		for after < len(p.lines) && isBlank(p.lines[after]) {
			after++
		}
		if after == len(p.lines) || isRule(p.lines[after]) {
			break
		}
		next, ok := markerOf(p.lines[after])
		if !ok || next.mark != first.mark {
			break
		}
		p.next, m = after, next
	}
	p.add(b)
}

// item reads an item: the lines that are indented as far as its text, and those
// that go on with its last paragraph. Models indent the items below a number by two
// spaces, which is less than its text: they belong to it all the same.
func (p *parser) item(m marker) item {
	var c container
	first := p.lines[p.next]
	indent := m.content
	c.add(first[min(m.content, len(first)):])
	for p.next++; p.next < len(p.lines); p.next++ {
		line := p.lines[p.next]
		switch {
		case isBlank(line):
			if len(c.lines) == 1 && m.empty {
				return item{} // nothing follows an empty line that follows an empty item
			}
			c.add("")
		case indentOf(line) >= indent:
			c.add(line[indent:])
		case !c.fenced && isNested(line, indentOf(first)):
			indent = indentOf(line)
			c.add(line[indent:])
		case c.continuesWith(line):
			c.add(line)
		default:
			return p.newItem(c.lines)
		}
	}
	return p.newItem(c.lines)
}

// isNested reports whether a line begins an item that stands deeper than another.
func isNested(line string, outer int) bool {
	_, ok := markerOf(line)
	return ok && indentOf(line) >= outer+2
}

func (p *parser) newItem(lines []string) item {
	i := item{blocks: parseBlocks(lines, p.depth+1)}
	if len(i.blocks) > 0 && i.blocks[0].kind == paragraph {
		i.task, i.blocks[0].text = taskOf(i.blocks[0].text)
	}
	return i
}

// taskOf takes the box from the text of a task.
func taskOf(text string) (box, rest string) {
	if len(text) < 4 || text[3] != ' ' && text[3] != '\n' {
		return "", text
	}
	switch text[:3] {
	case "[ ]":
		return "[ ] ", text[4:]
	case "[x]", "[X]":
		return "[x] ", text[4:]
	}
	return "", text
}
