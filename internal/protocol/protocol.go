// Package protocol is what a kernel and its clients say to each other: JSON
// over HTTP, on the user's unix socket or inside one process.
//
// The bodies are the house's own words (calls, results, approvals, records)
// and a few more that stand here. A failure has an HTTP status that fits its
// kind and a body that is a tool.Error, so a client can act on kinds.
package protocol

import (
	"encoding/json"
	"net/http"
	"time"

	"callgate/internal/arbiter/lock"
	"callgate/internal/journal"
	"callgate/tool"
)

// Version is spoken by both sides; a client refuses a kernel of another.
const Version = 1

// The routes, in the form of http.ServeMux.
const (
	RouteStatus    = "GET /v1/status"
	RouteOpen      = "POST /v1/sessions"
	RouteClose     = "DELETE /v1/sessions/{session}"
	RouteTools     = "GET /v1/sessions/{session}/tools"
	RouteTool      = "GET /v1/sessions/{session}/tools/{name}"
	RouteCall      = "POST /v1/sessions/{session}/calls"
	RouteCollect   = "GET /v1/calls/{call}/result"
	RouteApprovals = "GET /v1/approvals"
	RouteApproval  = "GET /v1/approvals/{id}"
	RouteAnswer    = "POST /v1/approvals/{id}/answer"
	RouteLocks     = "GET /v1/locks"
	RouteJournal   = "GET /v1/journal"
	RouteFollow    = "GET /v1/journal/follow"
	RouteVerify    = "GET /v1/journal/verify"
	RouteExport    = "GET /v1/journal/export"
	RouteDoubts    = "GET /v1/doubts"
	RouteResolve   = "POST /v1/doubts/{call}"
	RouteRetain    = "POST /v1/journal/retain"
	RouteArtifact  = "GET /v1/artifacts/{ref}"
)

// KeyHeader carries the human's key, on requests that need its authority.
const KeyHeader = "Callgate-Human-Key"

// Status is what a kernel says of itself.
type Status struct {
	Protocol int       `json:"protocol"`
	Version  string    `json:"version"`
	PID      int       `json:"pid"`
	State    string    `json:"state"`
	Started  time.Time `json:"started"`
	Sessions int       `json:"sessions"`
	Calls    int       `json:"calls"` // under way
	Tools    int       `json:"tools"`
	Problems []string  `json:"problems,omitempty"` // sources that could not bring their tools
}

// OpenSession asks for a session in a folder.
type OpenSession struct {
	Workspace string `json:"workspace"`
	AppFile   string `json:"app_file,omitempty"` // default: callgate.yaml in the workspace, when there is one
	Agent     string `json:"agent,omitempty"`
	Lane      string `json:"lane,omitempty"`
	// Human asks that approvals may be answered in this very process: it needs
	// the human's key and a terminal.
	Human bool `json:"human,omitempty"`
}

// Session is an open session.
type Session struct {
	ID        string   `json:"id"`
	Workspace string   `json:"workspace"`
	App       string   `json:"app"`
	AppFile   string   `json:"app_file,omitempty"`
	Human     bool     `json:"human,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
}

// Call is one proposal.
type Call struct {
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args,omitempty"`
	Parent string          `json:"parent,omitempty"`
	NoWait bool            `json:"no_wait,omitempty"`
}

// Tool is a tool as a session sees it, with what its user should know.
type Tool struct {
	tool.Spec
	ID         tool.ID         `json:"id"`
	Wire       string          `json:"wire_name"`
	Signature  string          `json:"signature"`
	Risk       tool.Risk       `json:"risk_level"`
	SideEffect tool.SideEffect `json:"side_effect"`
	Idempotent bool            `json:"idempotent"`
	Policy     string          `json:"policy"` // allow, or approve
	Reason     string          `json:"reason,omitempty"`
}

// Answer settles an approval.
type Answer struct {
	Approve  bool            `json:"approve"`
	Args     json.RawMessage `json:"args,omitempty"`
	Always   bool            `json:"always,omitempty"`
	Feedback string          `json:"feedback,omitempty"`
	By       string          `json:"by,omitempty"`
}

// Event is one line of the stream that RouteFollow gives: a record, none of
// which is missed, or a piece of what a running call prints, which may be.
type Event struct {
	Record *journal.Record `json:"record,omitempty"`
	Output *journal.Output `json:"output,omitempty"`
}

// Resolve says what became of a call in doubt.
type Resolve struct {
	Happened bool   `json:"happened"`
	By       string `json:"by,omitempty"`
}

// Retain asks that epochs which ended before a time be dropped.
type Retain struct {
	Before time.Time `json:"before"`
}

// Retained is what was dropped.
type Retained struct {
	Records   uint64 `json:"records"`
	Artifacts int    `json:"artifacts"`
}

// Locks is who holds what, and who waits for it.
type Locks = lock.Snapshot

// HTTPStatus is the status code that fits a kind of failure.
func HTTPStatus(k tool.Kind) int {
	switch k {
	case tool.Invalid:
		return http.StatusBadRequest
	case tool.NotFound:
		return http.StatusNotFound
	case tool.Denied:
		return http.StatusForbidden
	case tool.Conflict, tool.Ambiguous, tool.InDoubt:
		return http.StatusConflict
	case tool.Limited:
		return http.StatusTooManyRequests
	case tool.Busy:
		return http.StatusLocked
	case tool.Timeout:
		return http.StatusGatewayTimeout
	case tool.Unavailable, tool.Cancelled:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}
