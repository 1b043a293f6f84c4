package calltext

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"callgate/internal/agent/calltext/callformat"
	"callgate/internal/agent/calltext/laxjson"
	"callgate/llm"
)

// scanContext is what surrounds the current position.
type scanContext struct {
	fence     string          // the closing marks of a fenced block without calls
	reasoning *reasoningBlock // a reasoning block
	nested    int             // the open brackets of JSON that is not a call
}

// reasoningBlock is a format of a model's reasoning. Markup inside is not a call.
type reasoningBlock struct {
	open, close string
	isMessage   bool // a harmony message: it ends with any of harmony's tokens, or the text
}

var reasoningBlocks = []reasoningBlock{
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

// message is a harmony message that is not a call.
var message = reasoningBlock{isMessage: true}

// classification is the kind of the text at a position, and its end.
type classification struct {
	kind    kind
	from    int // the start of a call's markup
	end     int
	calls   []llm.ToolCall
	context scanContext // the context of the text after it
}

type kind int

const (
	plainText kind = iota
	call
	reasoningBegins
	reasoningEnds // a block that did not begin in this text
)

// classify returns what stands at i.
func (p *Parser) classify(in *callformat.Input, i int) classification {
	c := classification{end: i + 1, context: p.context}
	switch {
	case p.context.fence != "":
		return p.inFence(in, i, c)
	case p.context.reasoning != nil:
		return p.inReasoning(in, i, c)
	case !p.started:
		c.end = i // the same position is classified again, as more than a line's start
		return p.newLine(in, i, c)
	}
	switch b := in.S[i]; b {
	case '\n':
		if k := in.Blank(i + 1); in.At(k) == '\n' {
			c.context.nested = 0
		}
		return p.newLine(in, i+1, c)
	case '`', '~':
		for c.end < len(in.S) && in.S[c.end] == b {
			c.end++
		}
		in.End(c.end) // more marks may follow
		if len(bytes.TrimSpace(p.line)) == 0 {
			return p.block(in, i, c)
		}
		return c
	case '}':
		c.context.nested = max(0, c.context.nested-1)
		return c
	case '{':
		return p.unmarked(in, i, c)
	}
	return p.marked(in, i, c)
}

// inFence looks for the end of a fenced block.
func (p *Parser) inFence(in *callformat.Input, i int, c classification) classification {
	k := in.Blank(i + 1)
	if !in.Has(k, p.context.fence) {
		return c
	}
	end := k + len(p.context.fence)
	for !in.End(end) && in.S[end] == p.context.fence[0] {
		end++
	}
	if e := in.Blank(end); in.End(e) || in.S[e] == '\n' {
		c.end, c.context.fence = end, ""
	}
	return c
}

// inReasoning looks for the end of a reasoning block. If the block never ends, the
// calls in it count after all.
func (p *Parser) inReasoning(in *callformat.Input, i int, c classification) classification {
	block := p.context.reasoning
	if block.isMessage {
		if callformat.IsHarmonyEnd(in, i) {
			c.end, c.context.reasoning = i, nil
		}
		return c
	}
	if in.Has(i, block.close) {
		c.end, c.context.reasoning = i+len(block.close), nil
		return c
	}
	if b := in.S[i]; b != '<' && b != '[' && b != ']' {
		return c
	}
	if calls, _ := callformat.ReadMarkup(in, i); len(calls) == 0 {
		return c
	}
	if k := in.Index(i, block.close); k >= 0 {
		c.end = k
	} else {
		c.end, c.context.reasoning = i, nil
	}
	return c
}

// newLine classifies a line that begins at i with a word.
func (p *Parser) newLine(in *callformat.Input, i int, c classification) classification {
	k := in.Blank(i)
	b := in.At(k)
	switch {
	case laxjson.IsLetter(b):
		// Most lines begin with two words, the first of which begins no label.
		e := in.Word(k)
		if in.At(e) == ' ' && laxjson.IsLetter(in.At(e+1)) && strings.IndexByte("tfal", b|0x20) < 0 {
			return c
		}
	case b < 0x80 && b != '>' && b != '*', b == '>' && !in.Has(k, ">>>"):
		return c
	}
	if in.Has(k, "to=") {
		if h, ok := callformat.ReadHeader(in, k); ok && (h.To == "user" || h.To == "self") {
			c.end, c.kind, c.context.reasoning = h.End, reasoningBegins, &message
			return c
		}
	}
	if calls, end := callformat.ReadLine(in, k); len(calls) > 0 && c.context.nested == 0 {
		c.kind, c.from, c.end, c.calls = call, k, end, calls
	}
	return c
}

// block classifies a fenced block: calls if it contains nothing else, plain text
// otherwise.
func (p *Parser) block(in *callformat.Input, i int, c classification) classification {
	f, ok := callformat.ReadFence(in, i)
	if !ok {
		return c
	}
	c.context.nested = 0
	if len(f.Calls) > 0 && !p.inBlockQuote() && (in.AllOffered(f.Calls) || !p.prose && in.End(in.Space(f.End))) {
		c.kind, c.from, c.end, c.calls = call, i, f.End, f.Calls
		return c
	}
	c.end, c.context.fence = f.Body-1, f.Marks
	return c
}

// unmarked classifies an object or a list without marks.
func (p *Parser) unmarked(in *callformat.Input, i int, c classification) classification {
	if c.context.nested > 0 {
		c.context.nested++
		return c
	}
	before := bytes.TrimRight(p.line, " \t")
	if len(before) > 0 && (!sentenceEnds(before) || inCode(p.line) || p.inBlockQuote()) {
		return c
	}
	calls, end := callformat.ReadSeries(in, i)
	switch {
	case len(calls) > 0 && in.AllOffered(calls) && in.LineEnds(end):
		c.kind, c.from, c.end, c.calls = call, i, end, calls
	case end > i:
		c.end = end // plain text: nothing inside is a call
	case len(before) == 0:
		c.context.nested = 1
	}
	return c
}

// marked classifies text that may have marks of its own.
func (p *Parser) marked(in *callformat.Input, i int, c classification) classification {
	if calls, end := callformat.ReadMarkup(in, i); len(calls) > 0 {
		c.end = end
		if !p.isQuoted(in, end, calls) {
			c.kind, c.from, c.calls, c.context.nested = call, i, calls, 0
		}
		return c
	}
	if block, closes, end := reasoningAt(in, i); block != nil && !inCode(p.line) {
		c.end = end
		if closes && !p.held.settled {
			c.kind = reasoningEnds
		} else if !closes {
			c.kind, c.context.reasoning = reasoningBegins, block
		}
		return c
	}
	switch in.S[i] {
	case '[':
		return p.unmarked(in, i, c)
	case ']':
		c.context.nested = max(0, c.context.nested-1)
	}
	return c
}

// reasoningAt returns the reasoning block that begins or ends at i.
func reasoningAt(in *callformat.Input, i int) (block *reasoningBlock, closes bool, end int) {
	next := in.At(i + 1)
	for k := range reasoningBlocks {
		block := &reasoningBlocks[k]
		if block.open[1] != next && block.close[1] != next {
			continue
		}
		if in.Has(i, block.open) {
			return block, false, i + len(block.open)
		}
		if in.Has(i, block.close) {
			return block, true, i + len(block.close)
		}
	}
	if next == '|' && (in.Has(i, "<|channel|>") || in.Has(i, "<|start|>")) {
		if h, ok := callformat.ReadHeader(in, i); ok && (h.Channel == "analysis" || h.To == "user" || h.To == "self") {
			return &message, false, h.End
		}
	}
	return nil, false, i
}

// isQuoted reports whether marked calls that end at end are quoted rather than made.
func (p *Parser) isQuoted(in *callformat.Input, end int, calls []llm.ToolCall) bool {
	if inCode(p.line) || p.inBlockQuote() {
		return true
	}
	for open, close := range quotes {
		if strings.HasSuffix(string(p.line), open) && in.Has(end, close) {
			return true
		}
	}
	return len(bytes.TrimSpace(p.line)) > 0 && !in.AllOffered(calls) && !in.LineEnds(end)
}

var quotes = map[string]string{`"`: `"`, `'`: `'`, "“": "”", "‘": "’", "«": "»", "„": "“", "「": "」"}

// inBlockQuote reports whether the line belongs to a block quote.
func (p *Parser) inBlockQuote() bool {
	return bytes.HasPrefix(bytes.TrimLeft(p.line, " \t"), []byte(">"))
}

// sentenceEnds reports whether a line ends where a call may follow, rather than
// inside a sentence or an object.
func sentenceEnds(line []byte) bool {
	if bytes.HasSuffix(line, []byte(`":`)) || bytes.HasSuffix(line, []byte(`':`)) {
		return false
	}
	r, _ := utf8.DecodeLastRune(line)
	return strings.ContainsRune(".:!?)…。：！？>*", r)
}
