package llm

import (
	"context"
	"encoding/json"
)

// Model answers requests. It is safe for concurrent use.
//
// watch, unless it is nil, is given each piece of the answer as it comes, one
// at a time and in order, by the goroutine that called Generate. It must not
// block: the stream waits for it. When ctx is done the request is aborted at the
// provider. An error is an [*Error].
type Model interface {
	Generate(ctx context.Context, req Request, watch func(Delta)) (*Response, error)
}

// Request is all that a model is told. The zero value of a field leaves the
// choice to the provider.
//
// Providers cache what two requests have in common from their beginning. An
// adapter therefore writes tools, system and messages in that order and to the
// same bytes each time; a caller who keeps Tools and System, and only appends
// to Messages, is served from the cache.
type Request struct {
	Model       string // "" is the model that was configured
	System      string
	Messages    []Message
	Tools       []ToolDef
	ToolChoice  string // "", "none", "required", or the name of one tool
	MaxTokens   int    // of the answer
	Temperature *float64
	TopP        *float64
	Stop        []string // the answer ends before any of these
	Effort      string   // how much to think: low, medium, high
	CacheKey    string   // requests with the same key share a prefix: a session's id
	NoCache     bool     // nobody will ask with this prefix again: write no cache
}

// ToolDef is a tool as it is offered to a model.
type ToolDef struct {
	Name        string          `json:"name"` // wire
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // of its arguments; an object
}

// Response is a whole answer.
type Response struct {
	Message  Message  `json:"message"`
	Stop     Stop     `json:"stop"`
	Usage    Usage    `json:"usage"`
	Model    string   `json:"model,omitempty"`    // as the provider names it
	Warnings []string `json:"warnings,omitempty"` // what of the request was not honoured
}

// Stop is why an answer ended.
type Stop string

// The endings.
const (
	StopEnd     Stop = "end"        // the model had said what it wanted
	StopTools   Stop = "tool_calls" // it waits for the results of its calls
	StopLength  Stop = "length"     // the limit of tokens cut it off; its last call may be torn
	StopRefusal Stop = "refusal"    // the model or a filter declined
	StopPause   Stop = "pause"      // the provider paused a long turn: send the message back to go on
)

// DeltaKind says what a delta carries.
type DeltaKind string

// The kinds of deltas.
const (
	DeltaText      DeltaKind = "text"      // Text
	DeltaReasoning DeltaKind = "reasoning" // Text
	DeltaCall      DeltaKind = "call"      // Index, ID and Name of a call that begins
	DeltaArgs      DeltaKind = "args"      // Index, and Text: a piece of its arguments
	DeltaCallEnd   DeltaKind = "call_end"  // Index: its arguments are whole
	DeltaUsage     DeltaKind = "usage"     // Usage so far
	DeltaEnd       DeltaKind = "end"       // Stop: the last delta of a whole answer
)

// Delta is a piece of a growing answer. Index tells the calls of one answer
// apart; it is no promise of their order, which the response's message gives.
type Delta struct {
	Kind  DeltaKind `json:"kind"`
	Text  string    `json:"text,omitempty"`
	Index int       `json:"index,omitempty"`
	ID    string    `json:"id,omitempty"`
	Name  string    `json:"name,omitempty"`
	Usage *Usage    `json:"usage,omitempty"`
	Stop  Stop      `json:"stop,omitempty"`
}

// Usage is what an answer took. Cached and written tokens are part of Input,
// and reasoning is part of Output, whatever way the provider counts.
type Usage struct {
	Input       int   `json:"input"`
	CachedInput int   `json:"cached_input,omitempty"`
	CacheWrite  int   `json:"cache_write,omitempty"`
	Output      int   `json:"output"`
	Reasoning   int   `json:"reasoning,omitempty"`
	Cost        int64 `json:"cost,omitempty"`   // millionths of a US dollar
	Priced      bool  `json:"priced,omitempty"` // the cost is known
}

// Add sums two usages. The cost of the sum is known when both are.
func (u Usage) Add(v Usage) Usage {
	if u == (Usage{}) {
		return v
	}
	if v == (Usage{}) {
		return u
	}
	return Usage{
		Input: u.Input + v.Input, CachedInput: u.CachedInput + v.CachedInput, CacheWrite: u.CacheWrite + v.CacheWrite,
		Output: u.Output + v.Output, Reasoning: u.Reasoning + v.Reasoning,
		Cost: u.Cost + v.Cost, Priced: u.Priced && v.Priced,
	}
}
