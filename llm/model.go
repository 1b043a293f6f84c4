package llm

import (
	"context"
	"encoding/json"
	"time"
)

// Model answers requests. It is safe for concurrent use.
//
// watch, unless it is nil, gets each piece of the response as it arrives, one at a time and in order, in the
// goroutine that called Generate. It must not block: the stream waits for it. When ctx is done, the request to
// the provider is aborted. An error is an [*Error].
type Model interface {
	Generate(ctx context.Context, req Request, watch func(Delta)) (*Response, error)
}

// Request is everything that a model is sent. The zero value of a field leaves the choice to the provider.
//
// Providers cache the beginning that requests have in common. An adapter therefore writes tools, system and
// messages in this order, and the same values to the same bytes. A caller that keeps Tools and System, and only
// appends to Messages, is served from the cache.
type Request struct {
	Model       string // "": the configured model
	System      string
	Messages    []Message
	Tools       []ToolDef
	ToolChoice  string          // "", "none", "required", or the name of one tool
	MaxTokens   int             // of the response
	Output      json.RawMessage // the JSON Schema of the response, where the provider can hold a model to one; nil: any
	Temperature *float64
	TopP        *float64
	Stop        []string // the response ends before any of these
	Effort      string   // how much to think: low, medium, high
	ImageDetail string   // of pictures: low, high; "": the provider decides
	CacheKey    string   // the same for requests with a common beginning: a conversation's id
	Once        bool     // no turn follows: other requests have only the tools and the system prompt in common with it
	NoCache     bool     // no other request will begin like this one: write no cache
	Priority    Priority // how urgent it is where requests wait for their turn; "": as the model was opened
}

// Priority says how urgent a request is. The more urgent is sent first, where requests wait for their turn.
type Priority string

// The priorities, the most urgent first.
const (
	PriorityRetry       Priority = "retry"       // an interactive one that is sent again
	PriorityInteractive Priority = "interactive" // somebody waits for the response
	PriorityBackground  Priority = "background"  // nobody does
	PriorityLow         Priority = "low"         // it may wait for all others
)

// ToolDef is the definition of a tool that is offered to a model.
type ToolDef struct {
	Name        string          `json:"name"` // wire
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // of its arguments; an object
}

// Response is a complete response.
type Response struct {
	Message  Message  `json:"message"`
	Stop     Stop     `json:"stop"`
	Usage    Usage    `json:"usage"`
	Model    string   `json:"model,omitempty"`    // as the provider names it
	Warnings []string `json:"warnings,omitempty"` // parts of the request that had no effect
}

// Stop says why a response ended.
type Stop string

// The reasons.
const (
	StopEnd     Stop = "end"        // the model was done
	StopTools   Stop = "tool_calls" // the model waits for the results of its calls
	StopLength  Stop = "length"     // the limit of tokens cut the response off; its last call may be torn
	StopRefusal Stop = "refusal"    // the model or a filter declined
	StopPause   Stop = "pause"      // the provider paused a long turn: send the message back to continue
)

// DeltaKind says which fields a delta has.
type DeltaKind string

// The kinds of deltas.
const (
	DeltaText      DeltaKind = "text"      // Text
	DeltaReasoning DeltaKind = "reasoning" // Text
	DeltaCall      DeltaKind = "call"      // Index, ID and Name: a call begins
	DeltaArgs      DeltaKind = "args"      // Index and Text: a piece of the call's arguments
	DeltaCallEnd   DeltaKind = "call_end"  // Index: the call's arguments are complete
	DeltaUsage     DeltaKind = "usage"     // Usage so far
	DeltaEnd       DeltaKind = "end"       // Stop: the last delta of a complete response
	DeltaRetry     DeltaKind = "retry"     // Retry: the request failed, and is sent again after a wait
)

// Delta is a piece of a growing response. Index tells the calls of one response apart; their order is the one
// in the response's message, which may differ.
type Delta struct {
	Kind  DeltaKind `json:"kind"`
	Text  string    `json:"text,omitempty"`
	Index int       `json:"index,omitempty"`
	ID    string    `json:"id,omitempty"`
	Name  string    `json:"name,omitempty"`
	Usage *Usage    `json:"usage,omitempty"`
	Stop  Stop      `json:"stop,omitempty"`
	Retry *Retry    `json:"retry,omitempty"`
}

// Retry says that a request is sent again, and when. What came of the response so far counts no more if
// Replaces says so: the response begins anew.
type Retry struct {
	Attempt  int       `json:"attempt"` // the one to come: 2, 3 …
	At       time.Time `json:"at"`      // when it is made
	Kind     Kind      `json:"kind"`    // of the failure
	Why      string    `json:"why"`     // the failure, for people
	Replaces bool      `json:"replaces,omitempty"`
}

// Usage has the tokens and the cost of a response. The tokens that a cache read or wrote are part of Input, and
// reasoning is part of Output, however the provider counts.
type Usage struct {
	Input       int   `json:"input"`
	CachedInput int   `json:"cached_input,omitempty"`
	CacheWrite  int   `json:"cache_write,omitempty"`
	Output      int   `json:"output"`
	Reasoning   int   `json:"reasoning,omitempty"`
	Cost        int64 `json:"cost,omitempty"`   // millionths of a US dollar
	Priced      bool  `json:"priced,omitempty"` // the cost is known
}

// Add returns the sum of two usages. Its cost is known if both costs are.
func (u Usage) Add(v Usage) Usage {
	if u == (Usage{}) {
		return v
	}
	if v == (Usage{}) {
		return u
	}
	return Usage{
		Input:       u.Input + v.Input,
		CachedInput: u.CachedInput + v.CachedInput,
		CacheWrite:  u.CacheWrite + v.CacheWrite,
		Output:      u.Output + v.Output,
		Reasoning:   u.Reasoning + v.Reasoning,
		Cost:        u.Cost + v.Cost,
		Priced:      u.Priced && v.Priced,
	}
}
