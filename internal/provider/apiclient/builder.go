package apiclient

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"callgate/llm"
)

// MaxResponse bounds the size of one response in bytes. The longest that models give is
// far below it; a stream that has no end is cut here, while what it takes is still small.
const MaxResponse = 16 << 20

// keptOfTooLong is how much is kept of the text of a response that was cut at [MaxResponse]: enough to
// see what it was. It goes into the conversation and to the model with every turn after it.
const keptOfTooLong = 64 << 10

// ErrTooLong ends a response that exceeds the bounds.
var ErrTooLong = fmt.Errorf("the response is too long: it was cut off at %d MiB, and its beginning is kept",
	MaxResponse>>20)

// partSize is what a part counts beside its text, so that a stream of empty parts ends too.
const partSize = 256

// ResponseBuilder builds a response piece by piece. It passes each piece on to the watcher, and Finish
// returns the whole. One goroutine uses it.
type ResponseBuilder struct {
	Model    string    // as the provider names it
	Usage    llm.Usage // so far
	Warnings []string

	watch func(llm.Delta)
	parts []*part
	calls []*part // the parts that are calls, in the order of arrival
	size  int
}

// part is a part of the message. At most one of call and reasoning is set; with neither it is text.
type part struct {
	text      longText
	signature longText // of the reasoning
	call      *llm.ToolCall
	reasoning *llm.Reasoning
	order     int // among the calls
	ended     bool
	torn      bool // the limit of tokens cut the call off
}

// NewResponseBuilder begins a response. watch may be nil.
func NewResponseBuilder(watch func(llm.Delta)) *ResponseBuilder {
	if watch == nil {
		watch = func(llm.Delta) {}
	}
	return &ResponseBuilder{watch: watch}
}

// Started reports whether the response has any part yet.
func (b *ResponseBuilder) Started() bool { return len(b.parts) > 0 }

// TooLong reports whether the response exceeds [MaxResponse].
func (b *ResponseBuilder) TooLong() bool { return b.size > MaxResponse }

// Text adds text.
func (b *ResponseBuilder) Text(s string) {
	if s == "" {
		return
	}
	p := b.last()
	if p == nil || p.call != nil || p.reasoning != nil {
		p = b.add(&part{})
	}
	b.grow(p, s)
	b.watch(llm.Delta{Kind: llm.DeltaText, Text: s})
}

// BeginReasoning begins a block of reasoning and ends the one before it.
func (b *ResponseBuilder) BeginReasoning(r llm.Reasoning) {
	b.add(&part{reasoning: &r})
	b.Hold(len(r.Text) + len(r.Data) + len(r.Signature))
}

// AddReasoning adds text to the open block of reasoning. If none is open, it begins one of the provider.
func (b *ResponseBuilder) AddReasoning(provider, s string) {
	if s == "" {
		return
	}
	b.grow(b.openReasoning(provider), s)
	b.watch(llm.Delta{Kind: llm.DeltaReasoning, Text: s})
}

// AddSignature adds to the signature of the open block of reasoning. If none is open, it begins one.
func (b *ResponseBuilder) AddSignature(provider, s string) {
	b.openReasoning(provider).signature.add(s)
	b.Hold(len(s))
}

func (b *ResponseBuilder) openReasoning(provider string) *part {
	if p := b.last(); p != nil && p.reasoning != nil && p.reasoning.Call == "" {
		return p
	}
	return b.add(&part{reasoning: &llm.Reasoning{Provider: provider}})
}

// Call begins a call and returns its index. The response has the calls sorted by order, and those of the
// same order as they arrived. A call without an id gets one.
func (b *ResponseBuilder) Call(order int, id, name string) int {
	if id == "" {
		id = "call_" + rand.Text()[:16]
	}
	b.calls = append(b.calls, b.add(&part{call: &llm.ToolCall{ID: id, Name: name}, order: order}))
	b.Hold(len(id) + len(name))
	i := len(b.calls) - 1
	b.watch(llm.Delta{Kind: llm.DeltaCall, Index: i, ID: id, Name: name})
	return i
}

// CallID returns the id of a call.
func (b *ResponseBuilder) CallID(i int) string { return b.calls[i].call.ID }

// HasArgs reports whether a call has any arguments so far.
func (b *ResponseBuilder) HasArgs(i int) bool { return b.calls[i].text.size > 0 }

// HasAllArgs reports whether the arguments of a call are a complete JSON object.
func (b *ResponseBuilder) HasAllArgs(i int) bool {
	text := &b.calls[i].text
	return text.endsWith('}') && json.Valid([]byte(text.text()))
}

// Warn adds a warning to the response.
func (b *ResponseBuilder) Warn(text string) {
	b.Warnings = append(b.Warnings, text)
	b.Hold(len(text) + partSize)
}

// Hold counts bytes that an [Assembler] keeps by itself, so that they too are bounded.
func (b *ResponseBuilder) Hold(n int) { b.size += n }

// Args adds to the arguments of a call, unless the call has ended.
func (b *ResponseBuilder) Args(i int, s string) {
	if s == "" || b.calls[i].ended {
		return
	}
	b.grow(b.calls[i], s)
	b.watch(llm.Delta{Kind: llm.DeltaArgs, Index: i, Text: s})
}

// End ends the arguments of a call.
func (b *ResponseBuilder) End(i int) {
	if !b.calls[i].ended {
		b.calls[i].ended = true
		b.watch(llm.Delta{Kind: llm.DeltaCallEnd, Index: i})
	}
}

// Finish ends the response and returns it. Providers disagree about the reason for which a response with
// calls stopped; here it is always the calls, unless the limit of tokens cut the response off.
func (b *ResponseBuilder) Finish(stop llm.Stop) *llm.Response {
	for i := range b.calls {
		b.calls[i].torn = stop == llm.StopLength && !b.HasAllArgs(i)
		b.End(i)
	}
	switch {
	case stop == llm.StopEnd && len(b.calls) > 0:
		stop = llm.StopTools
	case stop == llm.StopTools && len(b.calls) == 0:
		stop = llm.StopEnd
	}
	if b.Usage != (llm.Usage{}) {
		usage := b.Usage
		b.watch(llm.Delta{Kind: llm.DeltaUsage, Usage: &usage})
	}
	b.watch(llm.Delta{Kind: llm.DeltaEnd, Stop: stop})
	return b.response(stop, true)
}

// Partial returns what has arrived so far without the calls, or nil if nothing has.
func (b *ResponseBuilder) Partial() *llm.Response {
	if !b.Started() {
		return nil
	}
	return b.response("", false)
}

// beginning is Partial with no more than the beginning of its text.
func (b *ResponseBuilder) beginning() *llm.Response {
	left := keptOfTooLong
	r := &llm.Response{Message: llm.Message{Role: llm.Assistant}, Usage: b.Usage, Model: b.Model}
	for _, p := range b.parts {
		if p.call != nil || p.reasoning != nil || left <= 0 {
			continue
		}
		text := strings.ToValidUTF8(p.text.start(left), "")
		left -= len(text)
		r.Message.Parts = append(r.Message.Parts, llm.Part{Text: text})
	}
	return r
}

func (b *ResponseBuilder) response(stop llm.Stop, withCalls bool) *llm.Response {
	sorted := slices.Clone(b.calls)
	slices.SortStableFunc(sorted, func(x, y *part) int { return cmp.Compare(x.order, y.order) })
	r := &llm.Response{Message: llm.Message{Role: llm.Assistant}, Stop: stop, Usage: b.Usage, Model: b.Model,
		Warnings: b.Warnings}
	for _, p := range b.parts {
		if p.call != nil {
			if !withCalls {
				continue
			}
			p, sorted = sorted[0], sorted[1:]
		}
		r.Message.Parts = append(r.Message.Parts, p.content())
	}
	return r
}

func (p *part) content() llm.Part {
	switch {
	case p.call != nil:
		call := *p.call
		call.Args = Args(p.text.text())
		if p.torn && p.text.size == 0 { // of {} nobody would know that something is missing
			call.Args = json.RawMessage(`""`)
		}
		return llm.Part{Call: &call}
	case p.reasoning != nil:
		reasoning := *p.reasoning
		reasoning.Text += p.text.text()
		reasoning.Signature += p.signature.text()
		return llm.Part{Reasoning: &reasoning}
	default:
		return llm.Part{Text: p.text.text()}
	}
}

func (b *ResponseBuilder) last() *part {
	if len(b.parts) == 0 {
		return nil
	}
	return b.parts[len(b.parts)-1]
}

func (b *ResponseBuilder) add(p *part) *part {
	b.parts = append(b.parts, p)
	b.Hold(partSize)
	return p
}

func (b *ResponseBuilder) grow(p *part, s string) {
	p.text.add(s)
	b.Hold(len(s))
}
