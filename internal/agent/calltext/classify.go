package calltext

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"callgate/internal/agent/calltext/laxjson"
	"callgate/llm"
)

// scanContext is what the text at hand is inside of.
type scanContext struct {
	fence   string          // the marks that close a block that is shown as it is
	thought *reasoningBlock // a thought
	nested  int             // brackets of JSON that is no call
}

// reasoningBlock is a form in which models mark what they think. Calls inside are not
// meant.
type reasoningBlock struct {
	open, close string
	to          bool // a message to somebody: it ends with any of the marks, or the text
}

var thoughts = []reasoningBlock{
	{open: "<think>", close: "</think>"},
	{open: "<thinking>", close: "</thinking>"},
	{open: "<thought>", close: "</thought>"},
	{open: "<reasoning>", close: "</reasoning>"},
	{open: "<seed:think>", close: "</seed:think>"},
	{open: "<mm:think>", close: "</mm:think>"},
	{open: "[THINK]", close: "[/THINK]"},
	{open: "<|START_THINKING|>", close: "<|END_THINKING|>"},
	{open: "<|channel>thought", close: "<channel|>"},
	{open: "<|open|>think<|sep|>", close: "<|close|>think<|sep|>"},
}

// message is one of harmony's that is no call.
var message = reasoningBlock{to: true}

var messageEnds = append([]string{"<|start|>", "<|channel|>"}, harmonyEnds...)

// classification is what stands at a place, and where it ends.
type classification struct {
	kind  kind
	from  int // where a call's markup begins
	end   int
	calls []llm.ToolCall
	place scanContext // what the text behind is inside of
}

type kind int

const (
	words kind = iota
	call
	thoughtBegins
	thoughtOver // one that was not begun here
)

// classify tells what stands at i.
func (p *Parser) classify(in *input, i int) classification {
	v := classification{end: i + 1, place: p.place}
	switch {
	case p.place.fence != "":
		return p.inFence(in, i, v)
	case p.place.thought != nil:
		return p.inThought(in, i, v)
	case !p.begun:
		v.end = i // look at it again, as what it is
		return p.newLine(in, i, v)
	}
	switch c := in.S[i]; c {
	case '\n':
		if k := in.Blank(i + 1); in.At(k) == '\n' {
			v.place.nested = 0
		}
		return p.newLine(in, i+1, v)
	case '`', '~':
		for v.end < len(in.S) && in.S[v.end] == c {
			v.end++
		}
		in.End(v.end) // the run may go on
		if len(bytes.TrimSpace(p.line)) == 0 {
			return p.block(in, i, v)
		}
		return v
	case '}':
		v.place.nested = max(0, v.place.nested-1)
		return v
	case '{':
		return p.bare(in, i, v)
	}
	return p.marked(in, i, v)
}

// inFence waits for the end of a block.
func (p *Parser) inFence(in *input, i int, v classification) classification {
	k := in.Blank(i + 1)
	if !in.Has(k, p.place.fence) {
		return v
	}
	end := k + len(p.place.fence)
	for !in.End(end) && in.S[end] == p.place.fence[0] {
		end++
	}
	if e := in.Blank(end); in.End(e) || in.S[e] == '\n' {
		v.end, v.place.fence = end, ""
	}
	return v
}

// inThought waits for the end of a thought. If it never ends, the calls in it
// are meant after all.
func (p *Parser) inThought(in *input, i int, v classification) classification {
	t := p.place.thought
	if t.to {
		if in.After(i, messageEnds) > 0 {
			v.end, v.place.thought = i, nil
		}
		return v
	}
	if in.Has(i, t.close) {
		v.end, v.place.thought = i+len(t.close), nil
		return v
	}
	if c := in.S[i]; c != '<' && c != '[' && c != ']' {
		return v
	}
	if calls, _ := in.markup(i); len(calls) == 0 {
		return v
	}
	if k := in.Index(i, t.close); k >= 0 {
		v.end = k
	} else {
		v.end, v.place.thought = i, nil
	}
	return v
}

// newLine judges what begins a line, at i, if it is a word.
func (p *Parser) newLine(in *input, i int, v classification) classification {
	k := in.Blank(i)
	c := in.At(k)
	switch {
	case laxjson.IsLetter(c):
		// Most lines begin with a word and another, and are no label's.
		if e := in.Word(k); in.At(e) == ' ' && laxjson.IsLetter(in.At(e+1)) && strings.IndexByte("tfal", c|0x20) < 0 {
			return v
		}
	case c < 0x80 && c != '>' && c != '*', c == '>' && !in.Has(k, ">>>"):
		return v
	}
	if in.Has(k, "to=") {
		if h, ok := in.header(k); ok && (h.to == "user" || h.to == "self") {
			v.end, v.kind, v.place.thought = h.end, thoughtBegins, &message
			return v
		}
	}
	if calls, end := in.line(k); len(calls) > 0 && v.place.nested == 0 {
		v.kind, v.from, v.end, v.calls = call, k, end, calls
	}
	return v
}

// block judges a fenced block: a call if that is all it holds, or else shown as
// it is.
func (p *Parser) block(in *input, i int, v classification) classification {
	f, ok := in.fence(i)
	if !ok {
		return v
	}
	v.place.nested = 0
	if len(f.calls) > 0 && !p.quote() && (in.allOffered(f.calls) || !p.prose && in.End(in.Space(f.end))) {
		v.kind, v.from, v.end, v.calls = call, i, f.end, f.calls
		return v
	}
	v.end, v.place.fence = f.head-1, f.run
	return v
}

// bare judges an object or a list without marks.
func (p *Parser) bare(in *input, i int, v classification) classification {
	if v.place.nested > 0 {
		v.place.nested++
		return v
	}
	before := bytes.TrimRight(p.line, " \t")
	if len(before) > 0 && (!sentenceEnds(before) || inCode(p.line) || p.quote()) {
		return v
	}
	calls, end := in.series(i)
	switch {
	case len(calls) > 0 && in.allOffered(calls) && in.lineEnds(end):
		v.kind, v.from, v.end, v.calls = call, i, end, calls
	case end > i:
		v.end = end // words as a whole: nothing inside is a call
	case len(before) == 0:
		v.place.nested = 1
	}
	return v
}

// marked judges what has marks.
func (p *Parser) marked(in *input, i int, v classification) classification {
	if calls, end := in.markup(i); len(calls) > 0 {
		v.end = end
		if !p.example(in, end, calls) {
			v.kind, v.from, v.calls, v.place.nested = call, i, calls, 0
		}
		return v
	}
	if t, closes, end := thoughtAt(in, i); t != nil && !inCode(p.line) {
		v.end = end
		if closes && !p.held.settled {
			v.kind = thoughtOver
		} else if !closes {
			v.kind, v.place.thought = thoughtBegins, t
		}
		return v
	}
	switch in.S[i] {
	case '[':
		return p.bare(in, i, v)
	case ']':
		v.place.nested = max(0, v.place.nested-1)
	}
	return v
}

// thoughtAt is the thought that begins or ends at i.
func thoughtAt(in *input, i int) (t *reasoningBlock, closes bool, end int) {
	next := in.At(i + 1)
	for k := range thoughts {
		t := &thoughts[k]
		if t.open[1] != next && t.close[1] != next {
			continue
		}
		if in.Has(i, t.open) {
			return t, false, i + len(t.open)
		}
		if in.Has(i, t.close) {
			return t, true, i + len(t.close)
		}
	}
	if next == '|' && (in.Has(i, "<|channel|>") || in.Has(i, "<|start|>")) {
		if h, ok := in.header(i); ok && (h.channel == "analysis" || h.to == "user" || h.to == "self") {
			return &message, false, h.end
		}
	}
	return nil, false, i
}

// example tells whether marked calls that end at end are quoted rather than
// made.
func (p *Parser) example(in *input, end int, calls []llm.ToolCall) bool {
	if inCode(p.line) || p.quote() {
		return true
	}
	for open, close := range quotes {
		if strings.HasSuffix(string(p.line), open) && in.Has(end, close) {
			return true
		}
	}
	return len(bytes.TrimSpace(p.line)) > 0 && !in.allOffered(calls) && !in.lineEnds(end)
}

var quotes = map[string]string{`"`: `"`, `'`: `'`, "“": "”", "‘": "’", "«": "»", "„": "“", "「": "」"}

// quote tells whether the line is one of a block quote.
func (p *Parser) quote() bool {
	return bytes.HasPrefix(bytes.TrimLeft(p.line, " \t"), []byte(">"))
}

// sentenceEnds tells whether a line breaks off where a call may follow, rather
// than inside a sentence or an object.
func sentenceEnds(line []byte) bool {
	if bytes.HasSuffix(line, []byte(`":`)) || bytes.HasSuffix(line, []byte(`':`)) {
		return false
	}
	r, _ := utf8.DecodeLastRune(line)
	return strings.ContainsRune(".:!?)…。：！？>*", r)
}
