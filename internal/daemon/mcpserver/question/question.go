// Package question carries questions to an MCP client and its answers back:
// whether a call may run, and what a server asks of the client's human, model or
// roots.
package question

import (
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// ApprovalKey is the part of a question that asks whether a call may run.
const ApprovalKey = "approval"

// Question is something that only the client can answer. Its parts are asked
// together and answered together. Make one with New.
type Question struct {
	Parts    sdk.InputRequestMap // nil: the client cannot be asked
	Approval bool                // asks whether a call may run
	answer   chan Answer
	askedAt  time.Time // set by Ask
}

// Answer is what a client answered.
type Answer struct {
	Parts sdk.InputResponseMap
	// Automatic says that the client declined by itself: no human was asked.
	Automatic bool
	Err       error // why there is no answer
}

// New makes a question.
func New(parts sdk.InputRequestMap, approval bool) *Question {
	return &Question{Parts: parts, Approval: approval, answer: make(chan Answer, 1)}
}

// Reply gives the answer. It is called once, and does not block.
func (q *Question) Reply(a Answer) { q.answer <- a }

// Answered delivers the answer.
func (q *Question) Answered() <-chan Answer { return q.answer }

// Pick returns the answers that belong to parts of this question.
func (q *Question) Pick(answers sdk.InputResponseMap) sdk.InputResponseMap {
	own := sdk.InputResponseMap{}
	for key := range q.Parts {
		if answers[key] != nil {
			own[key] = answers[key]
		}
	}
	return own
}

// Undecided reports whether q asks for an approval and the answer neither grants
// nor refuses it.
func (q *Question) Undecided(a Answer) bool {
	form := a.Form()
	return q.Approval && (form == nil || form.Action != "accept" && form.Action != "decline")
}

// isAutomatic reports whether a client refused an approval by itself, as clients
// without a human do: it came within a time in which no human reads a form.
func (q *Question) isAutomatic(a Answer, within time.Duration) bool {
	form := a.Form()
	return q.Approval && form != nil && form.Action != "accept" && time.Since(q.askedAt) < within
}

// Form is the answer to the form of an approval, or nil.
func (a Answer) Form() *sdk.ElicitResult {
	res, _ := a.Parts[ApprovalKey].(*sdk.ElicitResult)
	return res
}

// SupportsForms reports whether a client shows forms to its human.
func SupportsForms(c *sdk.ClientCapabilities) bool {
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}
