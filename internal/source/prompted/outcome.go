package prompted

import (
	"cmp"
	"errors"

	"callgate/llm"
	"callgate/tool"
)

// Outcome is how one request to a model ended, in one word.
type Outcome string

// The outcomes.
const (
	OK         Outcome = "ok"
	Truncated  Outcome = "truncated"  // the answer was cut off at its limit of tokens
	Malformed  Outcome = "malformed"  // the answer holds no JSON
	Mismatched Outcome = "mismatched" // the JSON does not match its schema
	Refused    Outcome = "refused"    // the model, or a filter, declined
	TooLong    Outcome = "too_long"   // the input does not fit the model's window
	TimedOut   Outcome = "timeout"
	Cancelled  Outcome = "cancelled"
	NoKey      Outcome = "no_key"      // the key is missing or wrong, or the account has no credit
	Limited    Outcome = "limited"     // the provider limits the rate
	OverBudget Outcome = "over_budget" // the budget of the day is used up
	Failed     Outcome = "unavailable" // the provider failed, or cannot be reached
	Invalid    Outcome = "invalid"     // the request could not be made as it is
)

// Error is a failure of one model.
type Error struct {
	Outcome Outcome
	Message string
	Err     error // may be nil
}

// Error says what went wrong.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// outcomeOf names a failure.
func outcomeOf(err error) Outcome {
	var own *Error
	if errors.As(err, &own) {
		return own.Outcome
	}
	var failed *llm.Error
	if !errors.As(err, &failed) {
		return Invalid
	}
	switch failed.Kind {
	case llm.ContextOverflow:
		return TooLong
	case llm.Refused:
		return Refused
	case llm.Timeout:
		return TimedOut
	case llm.Cancelled:
		return Cancelled
	case llm.Auth, llm.Billing:
		return NoKey
	case llm.OverBudget:
		return OverBudget
	case llm.RateLimited, llm.Overloaded:
		return Limited
	case llm.Unavailable, llm.BrokenStream:
		return Failed
	}
	return Invalid
}

// failure is the error of a call, for whoever called.
func failure(id string, err error) *tool.Error {
	var hint string
	kind := tool.Failed
	switch outcomeOf(err) {
	case Truncated:
		hint = "give it less to do, or raise max_tokens in the tool's definition"
	case Malformed, Mismatched:
		hint = "call it again, or name a better model in the tool's model_preference"
	case Refused:
		hint = "the content was declined; change it, or name models for this in model_preference.refused"
	case TooLong:
		hint = "give it less, or name a model with a larger window in model_preference.too_long"
	case TimedOut:
		kind = tool.Timeout
	case Cancelled:
		kind = tool.Cancelled
	case NoKey:
		kind, hint = tool.Unavailable, "store a key with callgate secrets set NAME"
	case Limited:
		kind, hint = tool.Limited, "try again later"
	case OverBudget:
		kind, hint = tool.Limited, "wait for the next day, or raise the budget in callgate.yaml"
	case Failed:
		kind, hint = tool.Unavailable, "try again later"
	case Invalid:
		kind = cmp.Or(kindOf(err), tool.Failed)
	}
	e := tool.Errorf("prompted.run", kind, "%s: %w", id, err)
	if hint != "" {
		return e.WithHint("%s", hint)
	}
	return e
}

// kindOf is the kind of an error that is ours already.
func kindOf(err error) tool.Kind {
	var own *tool.Error
	if errors.As(err, &own) {
		return own.Kind
	}
	return ""
}
