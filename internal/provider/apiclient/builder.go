package apiclient

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"math/big"
	"slices"
	"strings"

	"callgate/llm"
)

// MaxAnswer bounds what one answer may hold; a stream that goes on past it is
// no answer any more.
const MaxAnswer = 64 << 20

// pieceSize is what a piece weighs beside its text, so that a stream of empty
// pieces ends too.
const pieceSize = 256

// ResponseBuilder is an answer that grows. Pieces are put in as they come; each is told
// to the watcher first, and Finish gives the whole. It is used by one goroutine.
type ResponseBuilder struct {
	Model    string    // as the provider names it
	Usage    llm.Usage // so far
	Warnings []string

	watch func(llm.Delta)
	parts []*piece
	calls []*piece // those of parts that are calls, as they came
	size  int
}

// piece is a part that grows. Exactly one of call and reasoning is set, or
// neither: then it is text.
type piece struct {
	text      strings.Builder
	call      *llm.ToolCall
	reasoning *llm.Reasoning
	order     int // among the calls
	ended     bool
}

// NewResponseBuilder begins an answer. A nil watch means that nobody watches.
func NewResponseBuilder(watch func(llm.Delta)) *ResponseBuilder {
	if watch == nil {
		watch = func(llm.Delta) {}
	}
	return &ResponseBuilder{watch: watch}
}

// Started reports whether anything of the answer has been told.
func (d *ResponseBuilder) Started() bool { return len(d.parts) > 0 }

// TooLong reports whether the answer is longer than any answer may be.
func (d *ResponseBuilder) TooLong() bool { return d.size > MaxAnswer }

// Text adds words.
func (d *ResponseBuilder) Text(s string) {
	if s == "" {
		return
	}
	p := d.last()
	if p == nil || p.call != nil || p.reasoning != nil {
		p = d.add(&piece{})
	}
	d.grow(p, s)
	d.watch(llm.Delta{Kind: llm.DeltaText, Text: s})
}

// BeginReasoning begins a block of reasoning; the one before it is closed.
func (d *ResponseBuilder) BeginReasoning(r llm.Reasoning) { d.add(&piece{reasoning: &r}) }

// AddReasoning adds words to the block of reasoning that is open, and AddSignature its seal.
// Both begin a block of the given provider if none is open.
func (d *ResponseBuilder) AddReasoning(provider, s string) {
	if s == "" {
		return
	}
	d.grow(d.thinking(provider), s)
	d.watch(llm.Delta{Kind: llm.DeltaReasoning, Text: s})
}

// AddSignature adds to the seal of the block of reasoning that is open.
func (d *ResponseBuilder) AddSignature(provider, s string) {
	d.thinking(provider).reasoning.Signature += s
}

func (d *ResponseBuilder) thinking(provider string) *piece {
	if p := d.last(); p != nil && p.reasoning != nil && p.reasoning.Call == "" {
		return p
	}
	return d.add(&piece{reasoning: &llm.Reasoning{Provider: provider}})
}

// Call begins a call and returns its index. Calls come out of the draft sorted
// by order, and those of equal order as they came. A call without an id is
// given one.
func (d *ResponseBuilder) Call(order int, id, name string) int {
	if id == "" {
		id = "call_" + rand.Text()[:16]
	}
	d.calls = append(d.calls, d.add(&piece{call: &llm.ToolCall{ID: id, Name: name}, order: order}))
	i := len(d.calls) - 1
	d.watch(llm.Delta{Kind: llm.DeltaCall, Index: i, ID: id, Name: name})
	return i
}

// CallID is the id of a call.
func (d *ResponseBuilder) CallID(i int) string { return d.calls[i].call.ID }

// CallText is the arguments of a call so far.
func (d *ResponseBuilder) CallText(i int) string { return d.calls[i].text.String() }

// Args adds a piece of the arguments of a call.
func (d *ResponseBuilder) Args(i int, s string) {
	if s == "" || d.calls[i].ended {
		return
	}
	d.grow(d.calls[i], s)
	d.watch(llm.Delta{Kind: llm.DeltaArgs, Index: i, Text: s})
}

// End closes the arguments of a call.
func (d *ResponseBuilder) End(i int) {
	if !d.calls[i].ended {
		d.calls[i].ended = true
		d.watch(llm.Delta{Kind: llm.DeltaCallEnd, Index: i})
	}
}

// Finish ends the answer and gives it whole. Providers differ in whether an
// answer with calls stopped for them; here it always did.
func (d *ResponseBuilder) Finish(stop llm.Stop) *llm.Response {
	for i := range d.calls {
		d.End(i)
	}
	switch {
	case stop == llm.StopEnd && len(d.calls) > 0:
		stop = llm.StopTools
	case stop == llm.StopTools && len(d.calls) == 0:
		stop = llm.StopEnd
	}
	if d.Usage != (llm.Usage{}) {
		usage := d.Usage
		d.watch(llm.Delta{Kind: llm.DeltaUsage, Usage: &usage})
	}
	d.watch(llm.Delta{Kind: llm.DeltaEnd, Stop: stop})
	return d.response(stop, true)
}

// Partial is what has come so far, without its calls, or nil.
func (d *ResponseBuilder) Partial() *llm.Response {
	if !d.Started() {
		return nil
	}
	return d.response("", false)
}

func (d *ResponseBuilder) response(stop llm.Stop, whole bool) *llm.Response {
	sorted := slices.Clone(d.calls)
	slices.SortStableFunc(sorted, func(a, b *piece) int { return cmp.Compare(a.order, b.order) })
	r := &llm.Response{Message: llm.Message{Role: llm.Assistant}, Stop: stop, Usage: d.Usage, Model: d.Model, Warnings: d.Warnings}
	next := 0
	for _, p := range d.parts {
		switch {
		case p.call != nil:
			if whole {
				r.Message.Parts = append(r.Message.Parts, sorted[next].part())
			}
			next++
		default:
			r.Message.Parts = append(r.Message.Parts, p.part())
		}
	}
	return r
}

func (p *piece) part() llm.Part {
	switch {
	case p.call != nil:
		call := *p.call
		call.Args = Args(p.text.String())
		return llm.Part{Call: &call}
	case p.reasoning != nil:
		reasoning := *p.reasoning
		reasoning.Text += p.text.String()
		return llm.Part{Reasoning: &reasoning}
	default:
		return llm.Part{Text: p.text.String()}
	}
}

func (d *ResponseBuilder) last() *piece {
	if len(d.parts) == 0 {
		return nil
	}
	return d.parts[len(d.parts)-1]
}

func (d *ResponseBuilder) add(p *piece) *piece {
	d.parts = append(d.parts, p)
	d.size += pieceSize
	return p
}

func (d *ResponseBuilder) grow(p *piece, s string) {
	p.text.WriteString(s)
	d.size += len(s)
}

// Args reads the arguments of a call as a model wrote them, by the law of
// [llm.ToolCall]. An object that was quoted once too often is unquoted.
func Args(text string) json.RawMessage {
	raw := bytes.TrimSpace([]byte(text))
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	if !json.Valid(raw) {
		quoted, _ := json.Marshal(text) // of a string
		return quoted
	}
	var inner string
	if raw[0] == '"' && json.Unmarshal(raw, &inner) == nil {
		if in := strings.TrimSpace(inner); strings.HasPrefix(in, "{") && json.Valid([]byte(in)) {
			return json.RawMessage(in)
		}
	}
	return raw
}

// ShortID is an id of n letters and digits that stands for one which a provider
// would not take. The same id always gives the same one, so that a call and its
// result still meet.
func ShortID(id string, n int) string {
	sum := sha256.Sum256([]byte(id))
	digits := new(big.Int).SetBytes(sum[:]).Text(36)
	return (strings.Repeat("0", n) + digits)[len(digits):][:n]
}
