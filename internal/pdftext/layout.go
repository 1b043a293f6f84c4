package pdftext

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/ledongthuc/pdf"
)

const (
	maxForms = 8         // nested
	maxSaved = 256       // graphics states
	maxSteps = 5_000_000 // operators of one page
)

// pageText returns the text of a page, at most about limit bytes, in the order
// in which it is drawn. A PDF has no words and no lines, only letters at
// positions; words and lines are inferred from the positions.
func pageText(p pdf.Value, fonts fontCache, limit int) (text string, err error) {
	w := &writer{fonts: fonts, limit: limit, state: state{scale: 1, page: identity}}
	defer func() {
		text = strings.ToValidUTF8(strings.TrimSpace(w.b.String()), "\ufffd")
		if r := recover(); r != nil && r != errEnough {
			err = fmt.Errorf("%v", r)
		}
	}()
	from, err := resources(p)
	if err != nil {
		return "", err
	}
	w.draw(p.Key("Contents"), from, 0)
	return "", nil
}

// errEnough ends a page that reaches a limit.
var errEnough = fmt.Errorf("enough")

// matrix maps positions: x and y to ax+cy+e and bx+dy+f.
type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

// then returns the matrix that applies m and then n.
func (m matrix) then(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// state is the graphics state, which a page can save and restore.
type state struct {
	font       *font
	size       float64
	leading    float64
	spacing    float64 // between letters
	wordSpaces float64 // added to each space
	scale      float64 // of widths
	page       matrix  // from positions of the text to positions of the page
}

// writer turns what a page draws into text.
type writer struct {
	fonts fontCache
	limit int // bytes of text
	b     strings.Builder
	steps int // operators so far

	state
	named      map[string]*font // by their names in the stream that is drawn
	saved      []state
	line, text matrix  // of the line, and of the text
	x, y, unit float64 // where the last text ended, and its size
	begun      bool
}

// draw interprets a stream of operators.
func (w *writer) draw(content, resources pdf.Value, depth int) {
	if content.Kind() != pdf.Stream && content.Kind() != pdf.Array {
		return
	}
	defer func(outer map[string]*font) { w.named = outer }(w.named)
	w.named = map[string]*font{}
	pdf.Interpret(content, func(stk *pdf.Stack, op string) {
		if w.steps++; w.steps > maxSteps || w.b.Len() > w.limit {
			panic(errEnough)
		}
		args := make([]pdf.Value, stk.Len())
		for i := len(args) - 1; i >= 0; i-- {
			args[i] = stk.Pop()
		}
		if op == "Do" && len(args) == 1 {
			w.form(resources.Key("XObject").Key(args[0].Name()), resources, depth)
			return
		}
		w.do(op, args, resources)
	})
}

// form draws a form, which is a part of a page.
func (w *writer) form(form, resources pdf.Value, depth int) {
	if depth >= maxForms || form.Key("Subtype").Name() != "Form" {
		return
	}
	if own := form.Key("Resources"); !own.IsNull() {
		resources = own
	}
	was, line, text := w.state, w.line, w.text
	w.page = matrixOf(form.Key("Matrix"), identity).then(w.page)
	w.draw(form, resources, depth+1)
	w.state, w.line, w.text = was, line, text
}

// matrixOf reads a matrix; fallback stands for a value that is not a matrix.
func matrixOf(v pdf.Value, fallback matrix) (m matrix) {
	if v.Len() != len(m) {
		return fallback
	}
	for i := range m {
		m[i] = v.Index(i).Float64()
	}
	return m
}

func number(args []pdf.Value, i int) float64 {
	if i >= len(args) {
		return 0
	}
	return args[i].Float64()
}

// numbers reads a matrix from the arguments of an operator.
func numbers(args []pdf.Value, fallback matrix) (m matrix) {
	if len(args) != len(m) {
		return fallback
	}
	for i := range m {
		m[i] = args[i].Float64()
	}
	return m
}

// do executes an operator of text; the others draw nothing that can be read.
func (w *writer) do(op string, args []pdf.Value, resources pdf.Value) {
	switch op {
	case "q":
		if len(w.saved) < maxSaved {
			w.saved = append(w.saved, w.state)
		}
	case "Q":
		if n := len(w.saved); n > 0 {
			w.state, w.saved = w.saved[n-1], w.saved[:n-1]
		}
	case "cm":
		w.page = numbers(args, identity).then(w.page)
	case "BT":
		w.line, w.text = identity, identity
	case "Tf":
		if len(args) == 2 {
			name := args[0].Name()
			if _, ok := w.named[name]; !ok {
				w.named[name] = w.fonts.get(resources, name)
			}
			w.font, w.size = w.named[name], args[1].Float64()
		}
	case "Tc":
		w.spacing = number(args, 0)
	case "Tw":
		w.wordSpaces = number(args, 0)
	case "Tz":
		w.scale = number(args, 0) / 100
	case "TL":
		w.leading = number(args, 0)
	case "Td":
		w.move(number(args, 0), number(args, 1))
	case "TD":
		w.leading = -number(args, 1)
		w.move(number(args, 0), number(args, 1))
	case "Tm":
		w.line = numbers(args, w.line)
		w.text = w.line
	case "T*":
		w.move(0, -w.leading)
	case "Tj", "'", "\"":
		if op != "Tj" {
			w.move(0, -w.leading)
		}
		if len(args) > 0 {
			w.show(args[len(args)-1].RawString())
		}
	case "TJ":
		if len(args) == 1 {
			w.showAll(args[0])
		}
	}
}

// move begins a line at a distance from where the last one began.
func (w *writer) move(x, y float64) {
	w.line = matrix{1, 0, 0, 1, x, y}.then(w.line)
	w.text = w.line
}

// showAll shows texts with shifts between them; a wide shift reads as a space.
func (w *writer) showAll(list pdf.Value) {
	for i := range list.Len() {
		v := list.Index(i)
		if v.Kind() == pdf.String {
			w.show(v.RawString())
		} else {
			w.advance(-v.Float64() / 1000 * w.size * w.scale)
		}
	}
}

// advance moves along the line.
func (w *writer) advance(by float64) {
	w.text = matrix{1, 0, 0, 1, by, 0}.then(w.text)
}

// show writes a text: on a new line if it stands above or below the text before
// it, after a space if there is a gap between them.
func (w *writer) show(raw string) {
	text := w.font.decode(raw)
	at := w.text.then(w.page)
	unit := math.Max(math.Abs(w.size)*math.Hypot(at[0], at[1]), 1e-6)
	if w.begun && text != "" {
		between := math.Max(unit, w.unit)
		switch dy, dx := math.Abs(at[5]-w.y), at[4]-w.x; {
		case dy > 2*between:
			w.b.WriteString("\n\n")
		case dy > 0.6*between, dx < -2*between:
			w.b.WriteString("\n")
		case dx > 0.18*between && !w.spaced() && !strings.HasPrefix(text, " "):
			w.b.WriteString(" ")
		}
	}
	w.b.WriteString(text)
	width := w.font.width(raw, text)*w.size + w.spacing*float64(utf8.RuneCountInString(text)) +
		w.wordSpaces*float64(strings.Count(text, " "))
	w.advance(width * w.scale)
	if text != "" {
		end := w.text.then(w.page)
		w.begun, w.x, w.y, w.unit = true, end[4], end[5], unit
	}
}

// spaced reports whether the text so far ends in a space.
func (w *writer) spaced() bool {
	s := w.b.String()
	return s == "" || s[len(s)-1] == ' ' || s[len(s)-1] == '\n'
}
