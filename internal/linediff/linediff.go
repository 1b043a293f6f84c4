// Package linediff compares two texts line by line.
package linediff

import (
	"fmt"
	"strings"
)

// Line is one line of a unified diff. Sign is '+', '-' or ' ', and '@' for the
// head of a hunk; 0 is a line of plain text, which belongs to no difference.
type Line struct {
	Sign byte
	Text string
}

// String writes the line as a unified diff has it. The head of a hunk has its sign in its
// text, and plain text has none.
func (l Line) String() string {
	if l.Sign == '@' || l.Sign == 0 {
		return l.Text
	}
	return string(rune(l.Sign)) + l.Text
}

// context is the number of equal lines shown around a change.
const context = 3

// unendedMark stands behind a last line that has no end. No other line has a newline in it.
const unendedMark = "\n\\ no newline at the end"

// maxWork bounds the search for the shortest script. Texts that differ in more
// lines are shown as the whole old one and the whole new one.
const maxWork = 500

// Unified returns the changes that turn old into new, with a few lines around
// each. It is empty if the texts are equal.
func Unified(old, new string) []Line {
	script := script(split(old), split(new))
	var out []Line
	eachHunk(script, func(from, to int) {
		out = append(out, head(script, from, to))
		out = append(out, script[from:to]...)
	})
	return out
}

// eachHunk visits the parts of a script with changes in them, each with a few equal lines
// around it.
func eachHunk(script []Line, visit func(from, to int)) {
	for i := 0; i < len(script); {
		if script[i].Sign == ' ' {
			i++
			continue
		}
		from := max(i-context, 0)
		to, quiet := i, 0
		for ; to < len(script) && quiet <= 2*context; to++ {
			if quiet++; script[to].Sign != ' ' {
				quiet = 0
			}
		}
		to = max(to-max(quiet-context, 0), i+1)
		visit(from, to)
		i = to
	}
}

// head is the line that says where a hunk lies in both texts.
func head(script []Line, from, to int) Line {
	a, b := 1, 1
	for _, l := range script[:from] {
		a, b = a+inOld(l), b+inNew(l)
	}
	la, lb := 0, 0
	for _, l := range script[from:to] {
		la, lb = la+inOld(l), lb+inNew(l)
	}
	if la == 0 {
		a--
	}
	if lb == 0 {
		b--
	}
	return Line{'@', fmt.Sprintf("@@ -%d,%d +%d,%d @@", a, la, b, lb)}
}

// inOld is 1 for a line of the old text, else 0.
func inOld(l Line) int {
	if l.Sign == '+' {
		return 0
	}
	return 1
}

// inNew is 1 for a line of the new text, else 0.
func inNew(l Line) int {
	if l.Sign == '-' {
		return 0
	}
	return 1
}

func split(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		return lines[:len(lines)-1]
	}
	lines[len(lines)-1] += unendedMark
	return lines
}

// script is every line of both texts, with its sign.
func script(a, b []string) []Line {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out []Line
	add := func(sign byte, lines []string) {
		for _, l := range lines {
			out = append(out, Line{sign, strings.TrimSuffix(l, "\n")})
		}
	}
	add(' ', a[:head])
	for _, m := range middle(a[head:len(a)-tail], b[head:len(b)-tail]) {
		add(m.sign, m.lines)
	}
	add(' ', a[len(a)-tail:])
	return out
}

// run is a sequence of lines with the same sign.
type run struct {
	sign  byte
	lines []string
}

// middle finds the shortest script (Myers: An O(ND) Difference Algorithm).
func middle(a, b []string) []run {
	if len(a) == 0 || len(b) == 0 {
		return []run{{'-', a}, {'+', b}}
	}
	most := min(len(a)+len(b), maxWork)
	at := make([]int, 2*most+3) // furthest x on each diagonal, from -most-1 on
	var trail [][]int
	for d := 0; d <= most; d++ {
		trail = append(trail, append([]int(nil), at...))
		for k := -d; k <= d; k += 2 {
			x := step(at, k, d, most)
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			at[k+most+1] = x
			if x >= len(a) && x-k >= len(b) {
				return walk(a, b, trail, most)
			}
		}
	}
	return []run{{'-', a}, {'+', b}}
}

// step is the furthest x that an edit onto a diagonal reaches.
func step(at []int, k, d, most int) int {
	down, right := at[k+most+2], 0
	if k > -most-1 {
		right = at[k+most] + 1
	}
	if k == -d || k != d && right-1 < down {
		return down
	}
	return right
}

// walk reads the script off the trail, from its end.
func walk(a, b []string, trail [][]int, most int) []run {
	var back []run
	x, y := len(a), len(b)
	for d := len(trail) - 1; d > 0; d-- {
		at, k := trail[d], x-y
		before := k - 1
		if k == -d || k != d && at[k+most] < at[k+most+2] {
			before = k + 1
		}
		px := at[before+most+1]
		py := px - before
		for x > px && y > py {
			x, y = x-1, y-1
			back = append(back, run{' ', a[x : x+1]})
		}
		if x == px {
			y--
			back = append(back, run{'+', b[y : y+1]})
		} else {
			x--
			back = append(back, run{'-', a[x : x+1]})
		}
	}
	for x > 0 {
		x--
		back = append(back, run{' ', a[x : x+1]})
	}
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return back
}
