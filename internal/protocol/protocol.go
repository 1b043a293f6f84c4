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

	"callgate/internal/gate/lock"
	"callgate/internal/journal"
	"callgate/internal/source/mcp"
	"callgate/internal/source/mcp/trust"
	"callgate/tool"
)

// Version is spoken by both sides; a client refuses a kernel of another.
const Version = 1

// The routes, in the form of http.ServeMux.
const (
	RouteStatus       = "GET /v1/status"
	RouteStop         = "POST /v1/stop"
	RouteAppSchema    = "GET /v1/app/schema" // of app files, for editors
	RouteMCP          = "POST /v1/mcp"       // becomes a stream of MCP messages, one a line
	RouteOpenSession  = "POST /v1/sessions"
	RouteCloseSession = "DELETE /v1/sessions/{session}"
	RouteTools        = "GET /v1/sessions/{session}/tools"
	RouteTool         = "GET /v1/sessions/{session}/tools/{name}"
	RouteSearch       = "POST /v1/sessions/{session}/search"
	RouteSurface      = "GET /v1/sessions/{session}/surface"
	RouteServers      = "GET /v1/sessions/{session}/servers"
	RouteRefresh      = "POST /v1/sessions/{session}/servers/{server}/refresh"
	RouteRestart      = "POST /v1/sessions/{session}/servers/{server}/restart"
	RouteTrust        = "POST /v1/sessions/{session}/servers/{server}/trust"
	RouteLogin        = "POST /v1/sessions/{session}/servers/{server}/login"
	RouteLogs         = "GET /v1/sessions/{session}/servers/{server}/logs"
	RouteServerItems  = "GET /v1/sessions/{session}/servers/{server}/offers/{kind}"
	RouteServerItem   = "POST /v1/sessions/{session}/servers/{server}/offers/{kind}"
	RouteCall         = "POST /v1/sessions/{session}/calls"
	RouteCollect      = "GET /v1/calls/{call}/result"
	RouteApprovals    = "GET /v1/approvals"
	RouteApproval     = "GET /v1/approvals/{id}"
	RouteAnswer       = "POST /v1/approvals/{id}/answer"
	RouteLocks        = "GET /v1/locks"
	RouteJournal      = "GET /v1/journal"
	RouteFollow       = "GET /v1/journal/follow"
	RouteVerify       = "GET /v1/journal/verify"
	RouteExport       = "GET /v1/journal/export"
	RouteDoubts       = "GET /v1/doubts"
	RouteResolve      = "POST /v1/doubts/{call}"
	RoutePrune        = "POST /v1/journal/retain"
	RouteArtifact     = "GET /v1/artifacts/{ref}"
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
	Modules  []string  `json:"modules"` // built in: an app file turns them on and off
	// Background says that it was started for its clients: it ends when nobody
	// needs it, and a client of another version may end it.
	Background bool     `json:"background,omitempty"`
	Problems   []string `json:"problems,omitempty"` // sources that could not bring their tools
}

// MCPClient is an MCP client that a bridge speaks for.
type MCPClient struct {
	Workspace string
	AppFile   string
	Mode      string // of the surface; empty: as the app says
}

// MCPHTTPClient is how MCP clients that come over HTTP are let in, as GuestHeader
// carries it beside their requests.
type MCPHTTPClient struct {
	MCPClient
	Token   string   // that clients bring
	NoAuth  bool     // or none
	Forms   bool     // approvals may be answered in a form at the client
	Hosts   []string // names by which they may call, beside this machine's own
	Origins []string // pages that may call
}

// MCPClientHeader carries a WebGuest from the process that faces the network, and
// WebPath is where it sends requests.
const (
	MCPClientHeader = "Callgate-Guest"
	MCPHTTPPath     = "/v1/web"
)

// Upgrade is the name of the stream that RouteMCP becomes.
const Upgrade = "callgate-mcp"

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
	// PendingConsent is what the app file would have done by itself, for a human to
	// see and accept: see AppConsent.
	PendingConsent string `json:"unaccepted,omitempty"`
}

// AppConsent is the name of what an app file does by itself, where a server is
// named in a Trust.
const AppConsent = "(app)"

// CallRequest is one proposal.
type CallRequest struct {
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

// Search asks for tools by what is meant. Several queries are answered one by
// one; with none, the tools are listed by name.
type Search struct {
	Queries     []string          `json:"queries,omitempty"`
	Modules     []string          `json:"modules,omitempty"`
	Tags        []string          `json:"tags,omitempty"`
	MaxRisk     tool.Risk         `json:"max_risk,omitempty"`
	SideEffects []tool.SideEffect `json:"side_effects,omitempty"`
	Limit       int               `json:"limit,omitempty"`
	Offset      int               `json:"offset,omitempty"`
	Schemas     bool              `json:"schemas,omitempty"` // the tools whole
}

// SearchResult is the answer to a Search.
type SearchResult struct {
	Answers   []QueryResult `json:"answers"`
	Unmatched []string      `json:"unmatched,omitempty"` // queries that nothing answers well
	Degraded  string        `json:"degraded,omitempty"`  // why keywords alone were looked at
}

// QueryResult is what one query found, best first.
type QueryResult struct {
	Query string      `json:"query"`
	Total int         `json:"total"`
	Hits  []SearchHit `json:"hits"`
}

// SearchHit is one tool that was found, and why.
type SearchHit struct {
	Tool
	Score    float64 `json:"score"`
	Semantic float64 `json:"meaning"`
	Why      string  `json:"why,omitempty"`
}

// Server is an MCP server behind a session's app.
type Server struct {
	mcp.Status
	Module   string       `json:"module"`
	Launch   string       `json:"launch"`         // what it runs, or where it is
	Accepted bool         `json:"accepted"`       // a human let it run
	Held     []trust.Held `json:"held,omitempty"` // tools that wait for a human
	Problems []string     `json:"problems,omitempty"`
}

// Trust is a human's word on a server: that it may run, and which of its held
// tools may be shown.
type Trust struct {
	Launch string                `json:"launch,omitempty"` // as it was shown; empty: nothing is said of it
	Accept []trust.DefinitionRef `json:"accept,omitempty"`
	Reject []trust.DefinitionRef `json:"reject,omitempty"`
	By     string                `json:"by,omitempty"`
}

// Login is one line of the stream that RouteLogin gives: first the page on
// which the human logs in, then how it ended.
type Login struct {
	URL   string      `json:"url,omitempty"`
	Done  bool        `json:"done,omitempty"`
	Error *tool.Error `json:"error,omitempty"`
}

// The kinds of what servers offer beside tools.
const (
	Resources = "resources"
	Templates = "templates"
	Prompts   = "prompts"
)

// ServerItem asks for one resource by its URI, or one prompt by its name.
type ServerItem struct {
	Name string            `json:"name"`
	Args map[string]string `json:"args,omitempty"`
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

// ResolveDoubt says what became of a call in doubt.
type ResolveDoubt struct {
	Happened bool   `json:"happened"`
	By       string `json:"by,omitempty"`
}

// Prune asks that epochs which ended before a time be dropped.
type Prune struct {
	Before time.Time `json:"before"`
}

// PruneResult is what was dropped.
type PruneResult struct {
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
