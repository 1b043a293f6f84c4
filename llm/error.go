package llm

import (
	"fmt"
	"strings"
	"time"

	"callgate/tool"
)

// Kind says what sort of failure an error is, and so what can be done about it.
type Kind string

// The kinds.
const (
	RateLimited      Kind = "rate_limited"      // too many requests: wait
	Overloaded       Kind = "overloaded"        // the provider is busy: wait
	Unavailable      Kind = "unavailable"       // the provider fails or cannot be reached: wait
	BrokenStream     Kind = "broken_stream"     // the response ended too early
	Timeout          Kind = "timeout"           // the time ran out
	Cancelled        Kind = "cancelled"         // the caller cancelled
	ContextOverflow  Kind = "context_overflow"  // the conversation is too long: shorten it
	Auth             Kind = "auth"              // the key is missing, wrong, or lacks a permission
	Billing          Kind = "billing"           // the account has no credit left
	BadRequest       Kind = "bad_request"       // the provider does not accept the request as it is
	Refused          Kind = "refused"           // a filter declined the request
	FailedGeneration Kind = "failed_generation" // the model wrote a call that the provider could not read
	OverBudget       Kind = "over_budget"       // the request was not sent: the budget of the day is used up
	NoTools          Kind = "no_tools"          // the server takes no tools for this model: describe them in the prompt
)

// Error is a failure of a provider. It never holds a key.
type Error struct {
	Kind       Kind
	Provider   string
	Status     int           // of HTTP; 0 without a response
	Message    string        // from the provider, or ours
	RetryAfter time.Duration // how long the provider asks to wait; 0 if it does not say
	RequestID  string        // the provider's id of the request, for its support; "" if it gave none
	Failed     string        // for FailedGeneration: what the model wrote
	Partial    *Response     // what arrived before the failure, without calls, because half a call is useless
	Err        error         // the cause; it stays in this process
}

// Error writes the provider, the kind and the message.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Provider != "" {
		b.WriteString(e.Provider + ": ")
	}
	b.WriteString(strings.ReplaceAll(string(e.Kind), "_", " "))
	if e.Status != 0 {
		fmt.Fprintf(&b, " (%d)", e.Status)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.RequestID != "" {
		b.WriteString(" (request " + e.RequestID + ")")
	}
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, " (asks to wait %v)", e.RetryAfter.Round(time.Millisecond))
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// As lets errors.As find a [*tool.Error] in e, so that code which knows nothing of models can ask for its kind
// and hint.
func (e *Error) As(target any) bool {
	t, ok := target.(**tool.Error)
	if ok {
		*t = e.ToolError()
	}
	return ok
}

// ToolError returns the failure as an error of package tool, with a hint.
func (e *Error) ToolError() *tool.Error {
	kind, hint := tool.Failed, ""
	switch e.Kind {
	case RateLimited:
		kind, hint = tool.Limited, "wait and try again"
	case Overloaded, Unavailable:
		kind, hint = tool.Unavailable, "try again later, or name a fallback model"
	case BrokenStream:
		kind, hint = tool.Unavailable, "ask again"
	case Timeout:
		kind, hint = tool.Timeout, "ask for less, or give the brain a longer timeout"
	case Cancelled:
		kind = tool.Cancelled
	case ContextOverflow:
		kind, hint = tool.Invalid, "shorten the conversation, or use a model with a larger window"
	case Auth:
		kind, hint = tool.Denied, "check the provider's key, and what it may do"
	case Billing:
		kind, hint = tool.Denied, "add credit at the provider, or use another one"
	case BadRequest:
		kind, hint = tool.Invalid, "check the model's name and the brain's settings"
	case Refused:
		kind, hint = tool.Denied, "say it differently"
	case OverBudget:
		kind, hint = tool.Limited, "wait for the next day, or raise the budget in callgate.yaml"
	case NoTools:
		kind, hint = tool.Invalid, "write native_tool_use: false into the brain: its tools then stand in the prompt"
	case FailedGeneration:
		hint = "ask again; the model's call could not be read"
	}
	return &tool.Error{Op: "llm.Generate", Kind: kind, Message: e.Error(), Hint: hint, Err: e.Err}
}
