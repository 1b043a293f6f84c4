package calltext

import (
	"bytes"
	"strings"

	"callgate/internal/agent/calltext/callformat"
	"callgate/internal/agent/calltext/laxjson"
	"callgate/llm"
)

// Parser finds calls in text that comes in pieces. Its zero value is ready to use.
// It is for one answer at a time and one goroutine; Close makes it ready for the
// next answer.
type Parser struct {
	// Known reports whether a tool of this name was offered. If it is nil, every
	// name is known.
	Known func(name string) bool
	// Required returns the required parameters of an offered tool, in their order. It is for
	// models that have no other way to call: if it is nil, a Python call that stands alone
	// on its line is not one.
	Required func(name string) []string

	depth int // of failed generations inside one another
	state
}

// state is the state of the text so far. It holds back the end of a piece (buf) only
// while that may begin a call. It holds back the text after the first call (held)
// only while a reasoning block that began in the prompt may still contain the call.
type state struct {
	buf     string // not yet classified; its beginning may be a call
	more    []byte // later text, too short to classify buf again
	wait    int    // the length at which buf is classified again
	line    []byte // the visible text of the current line
	context scanContext
	started bool // something was classified
	prose   bool // visible text was emitted
	held    heldBack
	calls   []llm.ToolCall
	done    int              // bytes before buf
	cuts    [][2]int         // the positions of the markup of calls
	in      callformat.Input // the text while it is classified
}

// heldBack is the text after the first call, while the call may be part of a
// reasoning block.
type heldBack struct {
	settled bool   // it is not: the reasoning has tags of its own, or has ended
	text    []byte // the text without the markup of calls
	raw     []byte // the text with it
}

// Write takes the next piece of the text, and returns the text that may be shown
// now.
func (p *Parser) Write(piece string) (visible string) {
	if len(p.buf)+len(p.more)+len(piece) < p.wait {
		p.more = append(p.more, piece...)
		return ""
	}
	p.join(piece)
	visible = p.run(false)
	if p.wait = 0; len(p.buf) > 256 { // a long call is not parsed again with each of its pieces
		p.wait = len(p.buf) + len(p.buf)/4
	}
	return visible
}

// Close ends the text. It returns the rest of the visible text, and the calls of the
// whole text in order, without IDs.
func (p *Parser) Close() (rest string, calls []llm.ToolCall) {
	rest, calls, _ = p.close()
	return rest, calls
}

// close is Close, and also returns the positions of the markup of the calls.
func (p *Parser) close() (rest string, calls []llm.ToolCall, cuts [][2]int) {
	p.join("")
	rest = p.run(true) + string(p.held.text)
	calls, cuts = p.calls, p.cuts
	p.state = state{}
	return rest, calls, cuts
}

// Parse finds the calls in a complete text.
func Parse(text string, known func(name string) bool) (visible string, calls []llm.ToolCall) {
	p := Parser{Known: known}
	visible = p.Write(text)
	rest, calls := p.Close()
	return visible + rest, calls
}

// nestedCalls finds the calls in a text inside a value of another text.
func nestedCalls(text string, known func(string) bool, depth int) []llm.ToolCall {
	p := Parser{Known: known, depth: depth}
	p.Write(text)
	_, calls := p.Close()
	return calls
}

func (p *Parser) join(piece string) {
	switch {
	case len(p.more) > 0:
		p.buf += string(append(p.more, piece...))
		p.more = p.more[:0]
	case p.buf == "":
		p.buf = piece
	default:
		p.buf += piece
	}
}

// run classifies the buffered text, and returns what may be shown.
func (p *Parser) run(final bool) string {
	out := visibleText{s: p.buf}
	in := &p.in
	*in = callformat.Input{
		Text: laxjson.Text{S: p.buf, Final: final}, Known: p.Known, Required: p.Required, Nested: nestedCalls,
	}
	i := 0
	for i < len(in.S) {
		if k := p.next(in.S, i); k > i {
			p.emit(&out, i, k)
			i = k
			continue
		}
		in.NeedMore, in.Depth = false, p.depth
		c := p.classify(in, i)
		if in.NeedMore {
			break
		}
		p.started = true
		prose, inReasoning := p.prose && c.kind != reasoningEnds, p.context.reasoning != nil
		p.context = c.context
		switch c.kind {
		case call:
			p.emit(&out, i, c.from)
			p.cut(in.S[c.from:c.end], p.done+c.from, c.calls)
		case reasoningEnds:
			p.retract(&out)
			p.emit(&out, i, c.end)
		case reasoningBegins:
			p.releaseHeld(&out)
			p.emit(&out, i, c.end)
		default:
			p.emit(&out, i, c.end)
		}
		if inReasoning || c.kind == reasoningEnds {
			p.prose = prose // reasoning does not count as prose
		}
		i = c.end
	}
	p.buf = in.S[i:]
	p.done += i
	return out.String()
}

// visibleText collects visible text. As long as it is one piece of s, nothing is
// copied.
type visibleText struct {
	s        string
	from, to int
	before   []byte
}

func (o *visibleText) add(from, to int) {
	if o.to != from {
		o.write(nil)
		o.from = from
	}
	o.to = to
}

func (o *visibleText) write(text []byte) {
	o.before = append(append(o.before, o.s[o.from:o.to]...), text...)
	o.from = o.to
}

func (o *visibleText) String() string {
	if len(o.before) == 0 {
		return o.s[o.from:o.to]
	}
	o.write(nil)
	return string(o.before)
}

// emit adds text to the visible text, or holds it back.
func (p *Parser) emit(out *visibleText, from, to int) {
	text := out.s[from:to]
	if k := strings.LastIndexByte(text, '\n'); k >= 0 {
		p.line = append(p.line[:0], text[k+1:]...)
	} else {
		p.line = append(p.line, text...)
	}
	p.prose = p.prose || p.context.reasoning == nil && strings.TrimSpace(text) != ""
	if len(p.calls) == 0 || p.held.settled {
		out.add(from, to)
		return
	}
	p.held.text = append(p.held.text, text...)
	p.held.raw = append(p.held.raw, text...)
}

// cut removes the markup of calls from the visible text.
func (p *Parser) cut(markup string, at int, calls []llm.ToolCall) {
	p.calls = append(p.calls, calls...)
	p.cuts = append(p.cuts, [2]int{at, at + len(markup)})
	if !p.held.settled {
		p.held.raw = append(p.held.raw, markup...)
	}
	if k := strings.LastIndexByte(markup, '\n'); k >= 0 {
		p.line = p.line[:0]
	}
}

// releaseHeld emits the held text: the calls so far were not part of a reasoning
// block.
func (p *Parser) releaseHeld(out *visibleText) {
	out.write(p.held.text)
	p.held = heldBack{settled: true}
}

// retract drops the calls so far: they were part of a reasoning block that began in
// the prompt. Their markup is visible text.
func (p *Parser) retract(out *visibleText) {
	out.write(p.held.raw)
	p.calls, p.cuts, p.held = nil, nil, heldBack{settled: true}
}

// startBytes are the bytes that may begin a call, a fence or a reasoning block.
var startBytes = func() (set [256]bool) {
	for _, c := range "\n<[]{}`~" {
		set[c] = true
	}
	return set
}()

// next returns the next index from i on at which something may begin or end.
func (p *Parser) next(s string, i int) int {
	if !p.started {
		return i
	}
	if p.context.fence != "" {
		if k := strings.IndexByte(s[i:], '\n'); k >= 0 {
			return i + k
		}
		return len(s)
	}
	for ; i < len(s); i++ {
		if startBytes[s[i]] {
			return i
		}
	}
	return i
}

// inCode reports whether a line ends inside `code`.
func inCode(line []byte) bool {
	open := 0
	for len(line) > 0 {
		k := bytes.IndexByte(line, '`')
		if k < 0 {
			break
		}
		line = line[k:]
		run := len(line) - len(bytes.TrimLeft(line, "`"))
		switch open {
		case 0:
			open = run
		case run:
			open = 0
		}
		line = line[run:]
	}
	return open > 0
}
