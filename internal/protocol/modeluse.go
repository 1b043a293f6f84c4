package protocol

import "time"

// The routes that say how models did at LLM-backed tools.
const (
	RouteModelUse    = "GET /v1/models/use"
	RouteModelAdvice = "GET /v1/sessions/{session}/models/advice"
)

// ModelUse is how one model did at one tool.
type ModelUse struct {
	Tool     string `json:"tool"`
	Model    string `json:"model"`
	Calls    int    `json:"calls"`
	Attempts int    `json:"attempts"` // requests
	// Judged are the calls that say something of the model, and Succeeded those to which it gave the
	// result.
	Judged    int            `json:"judged"`
	Succeeded int            `json:"succeeded"`
	Repaired  int            `json:"repaired"` // calls in which it was shown a mistake
	Outcomes  map[string]int `json:"outcomes"` // of the requests
	Input     int            `json:"input"`    // tokens
	Output    int            `json:"output"`
	Cost      int64          `json:"cost"`   // millionths of a US dollar
	Priced    bool           `json:"priced"` // all of the cost is known
	Median    time.Duration  `json:"median"` // of a call
	P95       time.Duration  `json:"p95"`
}

// ModelAdvice is which models a tool should ask.
type ModelAdvice struct {
	Tool   string   `json:"tool"`
	Now    []string `json:"now"`
	Models []string `json:"models,omitempty"` // empty: as now
	Reason string   `json:"reason"`
	// Choices are tools.llm.models of the app file as they would be, and AppFile is that file; "":
	// there is none.
	Choices map[string][]string `json:"choices,omitempty"`
	AppFile string              `json:"app_file,omitempty"`
}
