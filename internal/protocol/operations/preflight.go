// Package operations is the bodies and routes of what somebody needs who operates a kernel: a check of what a job
// will need, a reload of app files, and what is kept for how long.
package operations

import (
	"encoding/json"

	"callgate/tool"
)

// RoutePreflight judges calls without making them: the body is a Preflight, the answer a PreflightReport.
const RoutePreflight = "POST /v1/sessions/{session}/preflight"

// Preflight asks what would become of calls, and whether what the app needs is there.
type Preflight struct {
	Calls []PreflightCall `json:"calls,omitempty"`
}

// PreflightCall is a call that is judged, and not made.
type PreflightCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"` // without them the tool is judged, and not one call of it
}

// PreflightReport is what the kernel found.
type PreflightReport struct {
	Calls   []Judgement `json:"calls"`
	Modules []Problem   `json:"modules,omitempty"` // that cannot be used as the app sets them up
	Models  []Problem   `json:"models,omitempty"`  // that could not be asked
}

// Judgement is what would become of a call.
type Judgement struct {
	Name    string      `json:"name"`              // as it was asked for
	Tool    string      `json:"tool,omitempty"`    // that answers to the name
	Verdict Verdict     `json:"verdict,omitempty"` // empty with an error
	Reason  string      `json:"reason,omitempty"`
	Depends bool        `json:"depends,omitempty"` // rules look at arguments, and none were given
	Error   *tool.Error `json:"error,omitempty"`   // why it would not run
}

// Verdict is whether a call would run by itself.
type Verdict string

// The verdicts of calls that are not refused.
const (
	Allowed Verdict = "allow"
	Asked   Verdict = "approve" // a human would be asked
)

// Problem is something that is missing, and whose it is.
type Problem struct {
	Name string `json:"name"` // of a module, or of an agent and its model
	Text string `json:"text"`
}
