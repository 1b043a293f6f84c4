package llmtool

import (
	"encoding/json"
	"time"
)

// Hooks are told what happens when LLM-backed tools run. Each may be nil. They are called one at a
// time for each call, in the goroutine that runs it, and must not block.
type Hooks struct {
	Start    func(CallStart)    // a model is about to be asked
	Complete func(CallComplete) // a model gave the result
	Error    func(CallError)    // a model failed
	Warning  func(Warning)
}

// CallStart is the payload of Start.
type CallStart struct {
	ToolID      string          `json:"toolId"`
	Input       json.RawMessage `json:"input"`
	ChosenModel string          `json:"chosenModel"`
	Attempt     int             `json:"attempt"` // the number of the model, from 1
}

// CallComplete is the payload of Complete.
type CallComplete struct {
	ToolID      string          `json:"toolId"`
	Input       json.RawMessage `json:"input"`
	Output      json.RawMessage `json:"output"`
	ChosenModel string          `json:"chosenModel"`
	Latency     time.Duration   `json:"latency"` // of all models
	Attempts    int             `json:"attempts"`
	Usage       Usage           `json:"usage"` // of all requests, the failed ones too
}

// CallError is the payload of Error.
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
	WarnMismatch = "output_schema_mismatch" // an answer did not match its schema
)

// Warning is the payload of Warning.
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
