package calltext

import (
	"bytes"
	"strings"

	"callgate/internal/agent/calltext/laxjson"
	"callgate/llm"
)

// Parser finds calls in text that comes in pieces. Its zero value is ready. It
// is for one answer at a time and one goroutine; Close makes it ready for the
// next answer.
type Parser struct {
	// Known tells whether a tool of this name was offered. A nil Known knows
	// every name.
	Known func(name string) bool

	depth int // of failed generations inside one another
	state
}

// state is what is known of the text so far. It holds back a piece's tail (buf)
// only while that may begin a call, and what follows the first call (doubt) only
// while a thought that the prompt began may still turn out to contain it.
type state struct {
	buf   string // not yet judged; what it begins with may be a call
	more  []byte // came since, and is not worth judging again yet
	wait  int    // how long buf must be to be judged again
	line  []byte // what was shown of the current line
	place scanContext
	begun bool // something was judged
	prose bool // words were shown
	held  heldBack
	calls []llm.ToolCall
	done  int      // bytes before buf
	cuts  [][2]int // where the markup of calls stood
	in    input    // the text while it is judged
}

// heldBack is what follows the first call, while that may yet be part of a thought.
type heldBack struct {
	settled bool // it may not: thoughts have tags of their own, or have ended
	words   []byte
	all     []byte // the words, with the markup of the calls
}

// Write takes the next piece of the text, and returns what of the text so far
// may be shown now.
func (p *Parser) Write(piece string) (visible string) {
	if len(p.buf)+len(p.more)+len(piece) < p.wait {
		p.more = append(p.more, piece...)
		return ""
	}
	p.join(piece)
	visible = p.run(false)
	if p.wait = 0; len(p.buf) > 256 { // a long call is not read anew with each of its pieces
		p.wait = len(p.buf) + len(p.buf)/4
	}
	return visible
}

// Close ends the text. It returns what is left to show, and the calls of the
// whole text in their order, without IDs.
func (p *Parser) Close() (rest string, calls []llm.ToolCall) {
	rest, calls, _ = p.close()
	return rest, calls
}

// close is Close, and tells where the markup of the calls stood.
func (p *Parser) close() (rest string, calls []llm.ToolCall, cuts [][2]int) {
	p.join("")
	rest = p.run(true) + string(p.held.words)
	calls, cuts = p.calls, p.cuts
	p.state = state{}
	return rest, calls, cuts
}

// Parse is a [Parser] for a text that is there as a whole.
func Parse(text string, known func(name string) bool) (visible string, calls []llm.ToolCall) {
	p := Parser{Known: known}
	visible = p.Write(text)
	rest, calls := p.Close()
	return visible + rest, calls
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

// run judges the text at hand, and returns what may be shown.
func (p *Parser) run(final bool) string {
	out := visibleText{s: p.buf}
	in := &p.in
	*in = input{Text: laxjson.Text{S: p.buf, Final: final}, known: p.Known}
	i := 0
	for i < len(in.S) {
		if k := p.next(in.S, i); k > i {
			p.emit(&out, i, k)
			i = k
			continue
		}
		in.NeedMore, in.depth = false, p.depth
		v := p.classify(in, i)
		if in.NeedMore {
			break
		}
		p.begun = true
		prose, thinking := p.prose && v.kind != thoughtOver, p.place.thought != nil
		p.place = v.place
		switch v.kind {
		case call:
			p.emit(&out, i, v.from)
			p.cut(in.S[v.from:v.end], p.done+v.from, v.calls)
		case thoughtOver:
			p.retract(&out)
			p.emit(&out, i, v.end)
		case thoughtBegins:
			p.releaseHeld(&out)
			p.emit(&out, i, v.end)
		default:
			p.emit(&out, i, v.end)
		}
		if thinking || v.kind == thoughtOver {
			p.prose = prose // a thought is none
		}
		i = v.end
	}
	p.buf = in.S[i:]
	p.done += i
	return out.String()
}

// visibleText gathers what may be shown. As long as that is one piece of s, nothing is
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

func (o *visibleText) write(words []byte) {
	o.before = append(append(o.before, o.s[o.from:o.to]...), words...)
	o.from = o.to
}

func (o *visibleText) String() string {
	if len(o.before) == 0 {
		return o.s[o.from:o.to]
	}
	o.write(nil)
	return string(o.before)
}

// emit lets words go.
func (p *Parser) emit(out *visibleText, from, to int) {
	words := out.s[from:to]
	if k := strings.LastIndexByte(words, '\n'); k >= 0 {
		p.line = append(p.line[:0], words[k+1:]...)
	} else {
		p.line = append(p.line, words...)
	}
	p.prose = p.prose || p.place.thought == nil && strings.TrimSpace(words) != ""
	if len(p.calls) == 0 || p.held.settled {
		out.add(from, to)
		return
	}
	p.held.words = append(p.held.words, words...)
	p.held.all = append(p.held.all, words...)
}

// cut takes the markup of calls out of the words.
func (p *Parser) cut(markup string, at int, calls []llm.ToolCall) {
	p.calls = append(p.calls, calls...)
	p.cuts = append(p.cuts, [2]int{at, at + len(markup)})
	if !p.held.settled {
		p.held.all = append(p.held.all, markup...)
	}
	if k := strings.LastIndexByte(markup, '\n'); k >= 0 {
		p.line = p.line[:0]
	}
}

// releaseHeld ends the doubt whether the calls so far were part of a thought: they
// were not.
func (p *Parser) releaseHeld(out *visibleText) {
	out.write(p.held.words)
	p.held = heldBack{settled: true}
}

// retract takes calls back that turn out to have been part of a thought which
// the prompt began. Their markup is words again.
func (p *Parser) retract(out *visibleText) {
	out.write(p.held.all)
	p.calls, p.cuts, p.held = nil, nil, heldBack{settled: true}
}

// startBytes are the bytes at which something may begin.
var startBytes = func() (set [256]bool) {
	for _, c := range "\n<[]{}`~" {
		set[c] = true
	}
	return set
}()

// next is the next place from i on at which something may begin, or end.
func (p *Parser) next(s string, i int) int {
	if !p.begun {
		return i
	}
	if p.place.fence != "" {
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

// inCode tells whether a line breaks off inside `code`.
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
