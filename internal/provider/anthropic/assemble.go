package anthropic

import (
	"maps"
	"slices"

	"callgate/internal/provider/apiclient"
	"callgate/llm"
)

// assembler puts a response together out of events, which open, extend and close blocks by their index.
type assembler struct {
	provider, model string
	builder         *apiclient.ResponseBuilder
	calls           map[int]openCall // by the index of their block
	stop            string
	done            bool
}

// openCall is a call in the builder, with the arguments that its block began with. They count when no others
// follow.
type openCall struct {
	call  int
	input string
}

func newAssembler(provider, model string, builder *apiclient.ResponseBuilder) *assembler {
	return &assembler{provider: provider, model: model, builder: builder, calls: map[int]openCall{}}
}

// Add reads the data of one event. Types that are not known are ignored.
func (a *assembler) Add(data []byte) (done bool, err error) {
	if string(data) == "[DONE]" { // of gateways that end every stream so
		return true, nil
	}
	var e event
	if err := apiclient.Decode(data, &e); err != nil {
		return false, err
	}
	if e.Type == "error" || e.failed() {
		return false, &apiclient.InlineError{Body: data}
	}
	switch e.Type {
	case "message_start":
		a.begin(&e.Message)
	case "content_block_start":
		a.open(e.Index, &e.ContentBlock)
	case "content_block_delta":
		a.extend(e.Index, &e.Delta)
	case "content_block_stop":
		a.close(e.Index)
	case "message_delta":
		a.end(&e.Delta.ending)
		a.count(&e.Usage)
	case "message_stop":
		a.done = true
	}
	return a.done, nil
}

// AddWhole reads the response of a server that does not stream.
func (a *assembler) AddWhole(data []byte) error {
	var r response
	if err := apiclient.Decode(data, &r); err != nil {
		return err
	}
	if r.Type == "error" || r.failed() {
		return &apiclient.InlineError{Body: data}
	}
	a.begin(&r)
	for i := range r.Content {
		a.open(i, &r.Content[i])
		a.close(i)
	}
	a.end(&r.ending)
	return nil
}

func (a *assembler) begin(r *response) {
	a.builder.Model = r.Model
	a.count(&r.Usage)
}

func (a *assembler) end(e *ending) {
	if e.StopReason != "" {
		a.stop = e.StopReason
	}
	if why := e.StopDetails.Explanation; why != "" {
		a.builder.Warn(why)
	}
}

// count adds the counts of tokens. They grow from event to event, and a count that is missing stays as it was.
// The API does not count what the cache read or wrote as input.
func (a *assembler) count(n *usage) {
	u := &a.builder.Usage
	uncached := u.Input - u.CachedInput - u.CacheWrite
	u.CachedInput, u.CacheWrite = max(u.CachedInput, n.CacheReadTokens), max(u.CacheWrite, n.CacheWriteTokens)
	u.Input = max(uncached, n.InputTokens) + u.CachedInput + u.CacheWrite
	u.Output = max(u.Output, n.OutputTokens)
	u.Reasoning = max(u.Reasoning, n.OutputTokensDetails.ThinkingTokens)
}

func (a *assembler) open(index int, b *responseBlock) {
	switch b.Type {
	case "text":
		a.builder.Text(b.Text)
	case "thinking":
		a.builder.BeginReasoning(llm.Reasoning{Provider: a.provider, Model: a.model, Signature: b.Signature})
		a.builder.AddReasoning(a.provider, b.Thinking)
	case "redacted_thinking":
		a.builder.BeginReasoning(llm.Reasoning{Provider: a.provider, Model: a.model, Data: b.Data})
	case "tool_use":
		c := openCall{call: a.builder.Call(0, b.ID, b.Name)}
		if input := string(b.Input); input != "null" {
			c.input = input
			a.builder.Hold(len(input))
		}
		a.calls[index] = c
	}
}

func (a *assembler) extend(index int, d *delta) {
	switch d.Type {
	case "text_delta":
		a.builder.Text(d.Text)
	case "thinking_delta":
		a.builder.AddReasoning(a.provider, d.Thinking)
	case "signature_delta":
		a.builder.AddSignature(a.provider, d.Signature)
	case "input_json_delta":
		if c, ok := a.calls[index]; ok {
			a.builder.Args(c.call, d.PartialJSON)
		}
	}
}

func (a *assembler) close(index int) {
	c, ok := a.calls[index]
	if !ok {
		return
	}
	if !a.builder.HasArgs(c.call) {
		a.builder.Args(c.call, c.input)
	}
	a.builder.End(c.call)
}

// isComplete reports whether the end of the response arrived.
func (a *assembler) isComplete() bool { return a.done || a.stop != "" }

// Finish returns the response, or nil if its end did not arrive.
func (a *assembler) Finish() *llm.Response {
	if !a.isComplete() {
		return nil
	}
	stop := stopOf(a.stop)
	for _, index := range slices.Sorted(maps.Keys(a.calls)) {
		if stop != llm.StopLength { // a call that was cut off has not the arguments that it began with
			a.close(index) // the blocks that the stream left open
		}
	}
	return a.builder.Finish(stop)
}

func stopOf(reason string) llm.Stop {
	switch reason {
	case "tool_use":
		return llm.StopTools
	case "max_tokens", "model_context_window_exceeded":
		return llm.StopLength
	case "refusal":
		return llm.StopRefusal
	case "pause_turn":
		return llm.StopPause
	default:
		return llm.StopEnd
	}
}
