package markdown

// emphasize finds which marks begin and end an emphasis, by the rules of
// CommonMark, and gives the spans that result.
func emphasize(nodes []node) []span {
	e := emphasis{nodes: nodes}
	for i := range nodes {
		d := &nodes[i]
		if d.mark == 0 {
			continue
		}
		for d.closes && d.left > 0 && e.close(i) {
		}
		if d.opens && d.left > 0 {
			e.open = append(e.open, i)
		}
	}
	return spansOf(nodes)
}

// emphasis is the work of emphasize.
type emphasis struct {
	nodes  []node
	open   []int              // the marks that may begin an emphasis, by their node
	bottom map[closerKind]int // below that height of open there is no mark for such a closer
}

// closerKind is all of a closing run that decides which opening run fits it.
type closerKind struct {
	mark  byte
	opens bool
	size  int // of a tilde's run, its length; else its length modulo 3
}

// close ends an emphasis at a node, if one is open that fits.
func (e *emphasis) close(at int) bool {
	d := &e.nodes[at]
	what := closerKind{d.mark, d.opens, len(d.text) % 3}
	for i := len(e.open) - 1; i >= e.bottom[what]; i-- {
		o := &e.nodes[e.open[i]]
		if !fits(o, d) {
			continue
		}
		used, s := 1, italic
		switch {
		case d.mark == '~':
			used, s = d.left, strike
		case o.left >= 2 && d.left >= 2:
			used, s = 2, bold
		}
		o.begins = append(o.begins, s)
		d.ends = append(d.ends, s)
		o.left -= used
		d.left -= used
		if o.left == 0 {
			e.truncate(i)
		} else {
			e.truncate(i + 1)
		}
		return true
	}
	if e.bottom == nil {
		e.bottom = map[closerKind]int{}
	}
	e.bottom[what] = len(e.open)
	return false
}

// truncate forgets the open marks from a height on.
func (e *emphasis) truncate(height int) {
	e.open = e.open[:height]
	for what, bottom := range e.bottom {
		e.bottom[what] = min(bottom, height)
	}
}

// fits reports whether one run can begin what another ends.
func fits(o, d *node) bool {
	if o.mark != d.mark {
		return false
	}
	if d.mark == '~' {
		return o.left == d.left
	}
	a, b := len(o.text), len(d.text)
	return !(o.closes || d.opens) || (a+b)%3 != 0 || a%3 == 0 && b%3 == 0
}

// spansOf gives the text of nodes in the styles of the emphases around it.
func spansOf(nodes []node) []span {
	var depth [colourShift]int
	var out []span
	for _, n := range nodes {
		for _, s := range n.ends {
			depth[bitOf(s)]--
		}
		text := n.text
		if n.mark != 0 {
			text = text[:n.left]
		}
		s := n.style
		for i, d := range depth {
			if d > 0 {
				s |= 1 << i
			}
		}
		if text != "" {
			out = append(out, span{text, s})
		}
		for _, s := range n.begins {
			depth[bitOf(s)]++
		}
	}
	return out
}

func bitOf(s style) int {
	bit := 0
	for s>>bit != 1 {
		bit++
	}
	return bit
}
