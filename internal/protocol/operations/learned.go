package operations

import "time"

// RouteLearned lists the requests that the searches of whoever has a session taught: the answer is a list of
// LearnedRequest. RouteForgetLearned removes some of them: the body is a ForgetLearned, the answer is what went.
const (
	RouteLearned       = "GET /v1/sessions/{session}/learned"
	RouteForgetLearned = "POST /v1/sessions/{session}/learned/forget"
)

// LearnedRequest is a request that led to a call that went well.
type LearnedRequest struct {
	Tool    string    `json:"tool"` // its dotted name
	Request string    `json:"request"`
	Seen    int       `json:"seen"` // how often
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
}

// ForgetLearned says which requests are forgotten. What is set must all fit.
type ForgetLearned struct {
	All   bool   `json:"all,omitempty"`
	Tool  string `json:"tool,omitempty"`  // those that led to this tool
	Words string `json:"words,omitempty"` // those with these words
}
