package llmtool

import "encoding/json"

// Hooks are told what happens when tools of an embedding program and LLM-backed tools run. Each may be nil. They
// are called one at a time for each call, in the goroutine that runs it, and must not block. A tool without a
// model has one attempt, and "" is its model.
type Hooks struct {
	OnInternalToolCallStart    func(CallStart)    // a model is about to be asked, or a tool without one to run
	OnInternalToolCallComplete func(CallComplete) // there is a result
	OnInternalToolCallError    func(CallError)    // a model failed, or a tool without one
	OnWarning                  func(Warning)
}

// Any reports whether there is a hook.
func (h Hooks) Any() bool {
	return h.OnInternalToolCallStart != nil || h.OnInternalToolCallComplete != nil ||
		h.OnInternalToolCallError != nil || h.OnWarning != nil
}

// CallStart is the payload of OnInternalToolCallStart.
type CallStart struct {
	ToolID      string          `json:"toolId"`
	Input       json.RawMessage `json:"input"`
	ChosenModel string          `json:"chosenModel"`
	Attempt     int             `json:"attempt"` // the number of the model, from 1
}

// CallComplete is the payload of OnInternalToolCallComplete.
type CallComplete struct {
	ToolID      string          `json:"toolId"`
	Input       json.RawMessage `json:"input"`
	Output      json.RawMessage `json:"output"`
	ChosenModel string          `json:"chosenModel"`
	LatencyMs   int64           `json:"latencyMs"` // of all models
	Attempts    int             `json:"attempts"`
	Usage       *Usage          `json:"usage,omitempty"` // of all requests, the failed ones too; nil: there were none
}

// CallError is the payload of OnInternalToolCallError.
type CallError struct {
	ToolID      string          `json:"toolId"`
	Input       json.RawMessage `json:"input"`
	ChosenModel string          `json:"chosenModel"`
	Error       string          `json:"error"`
	Attempt     int             `json:"attempt"`
	WillRetry   bool            `json:"willRetry"` // another model is asked
}

// The codes of warnings.
const (
	WarnFallback = "internal_tool_fallback" // another model is asked
	WarnMismatch = "output_schema_mismatch" // an answer, or a result, did not match its schema
)

// Warning is the payload of OnWarning.
type Warning struct {
	Code         string `json:"code"`
	ToolID       string `json:"toolId"`
	FailedModel  string `json:"failedModel,omitempty"`
	ErrorMessage string `json:"errorMessage,omitempty"`
}

// Usage has the tokens and the cost of requests.
type Usage struct {
	Input  int   `json:"input"`
	Output int   `json:"output"`
	Cost   int64 `json:"cost,omitempty"` // millionths of a US dollar
	Priced bool  `json:"priced,omitempty"`
}
