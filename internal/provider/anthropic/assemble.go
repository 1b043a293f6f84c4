package anthropic

import (
	"encoding/json"
	"maps"
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"callgate/internal/provider/apiclient"
	"callgate/llm"
)

// assembler puts an answer together out of events: blocks that are opened, grown
// and closed, by index.
type assembler struct {
	provider, model string
	builder         *apiclient.ResponseBuilder
	calls           map[int64]openCall // by the index of their block
	stop            sdk.StopReason
	done            bool
}

// openCall is a call in the builder, and the arguments that came with its opening,
// which count when none follow.
type openCall struct {
	call  int
	whole string
}

func newAssembler(provider, model string, builder *apiclient.ResponseBuilder) *assembler {
	return &assembler{provider: provider, model: model, builder: builder, calls: map[int64]openCall{}}
}

// feed adds an event. Those nobody knows are passed over.
func (a *assembler) feed(e *sdk.MessageStreamEventUnion) {
	switch e.Type {
	case "message_start":
		a.builder.Model = string(e.Message.Model)
		u := e.Message.Usage
		a.count(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens, u.OutputTokensDetails.ThinkingTokens)
	case "content_block_start":
		a.open(e.Index, &e.ContentBlock)
	case "content_block_delta":
		a.grow(e.Index, &e.Delta)
	case "content_block_stop":
		a.close(e.Index)
	case "message_delta":
		if e.Delta.StopReason != "" {
			a.stop = e.Delta.StopReason
		}
		if why := e.Delta.StopDetails.Explanation; why != "" {
			a.builder.Warnings = append(a.builder.Warnings, why)
		}
		u := e.Usage
		a.count(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens, u.OutputTokensDetails.ThinkingTokens)
	case "message_stop":
		a.done = true
	}
}

// count takes the counts of tokens, which grow from event to event; one that is
// left out stays. The API counts what the cache served or took beside the input.
func (a *assembler) count(input, cached, written, output, thought int64) {
	u := &a.builder.Usage
	fresh := u.Input - u.CachedInput - u.CacheWrite
	u.CachedInput, u.CacheWrite = max(u.CachedInput, int(cached)), max(u.CacheWrite, int(written))
	u.Input = max(fresh, int(input)) + u.CachedInput + u.CacheWrite
	u.Output, u.Reasoning = max(u.Output, int(output)), max(u.Reasoning, int(thought))
}

func (a *assembler) open(index int64, b *sdk.ContentBlockStartEventContentBlockUnion) {
	switch b.Type {
	case "text":
		a.builder.Text(b.Text)
	case "thinking":
		a.builder.BeginReasoning(llm.Reasoning{Provider: a.provider, Model: a.model, Signature: b.Signature})
		a.builder.AddReasoning(a.provider, b.Thinking)
	case "redacted_thinking":
		a.builder.BeginReasoning(llm.Reasoning{Provider: a.provider, Model: a.model, Data: b.Data})
	case "tool_use":
		made := openCall{call: a.builder.Call(0, b.ID, b.Name)}
		if raw := b.JSON.Input.Raw(); raw != "null" && json.Valid([]byte(raw)) {
			made.whole = raw
		}
		a.calls[index] = made
	}
}

func (a *assembler) grow(index int64, d *sdk.MessageStreamEventUnionDelta) {
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

func (a *assembler) close(index int64) {
	c, ok := a.calls[index]
	if !ok {
		return
	}
	if a.builder.CallText(c.call) == "" {
		a.builder.Args(c.call, c.whole)
	}
	a.builder.End(c.call)
}

// isComplete reports whether the answer came to its end.
func (a *assembler) isComplete() bool { return a.done || a.stop != "" }

// build ends the answer.
func (a *assembler) build() *llm.Response {
	for _, index := range slices.Sorted(maps.Keys(a.calls)) {
		a.close(index) // those which the stream left open
	}
	return a.builder.Finish(a.ending())
}

func (a *assembler) ending() llm.Stop {
	switch a.stop {
	case sdk.StopReasonToolUse:
		return llm.StopTools
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return llm.StopLength
	case sdk.StopReasonRefusal:
		return llm.StopRefusal
	case sdk.StopReasonPauseTurn:
		return llm.StopPause
	default:
		return llm.StopEnd
	}
}
