// Package protocol is what a kernel and its clients say to each other: JSON over
// HTTP, on the user's unix socket or inside one process.
//
// The bodies are declared here and nowhere else; internal/daemon/wire makes them
// from the kernel's own types, so a change inside the kernel does not change the
// protocol. Golden files hold their form. A failure has an HTTP status that fits
// its kind and a body that is a tool.Error, so a client can act on kinds.
package protocol

import (
	"net/http"
	"time"

	"callgate/internal/protocol/activity"
	"callgate/internal/protocol/callid"
	"callgate/tool"
)

// Version is spoken by both sides; a client refuses a kernel of another.
const Version = 3

// The routes, in the form of http.ServeMux.
const (
	RouteStatus       = "GET /v1/status"
	RoutePing         = "GET /v1/ping"     // a sign of life, which waits for nothing
	RouteActivity     = "GET /v1/activity" // what the kernel does now
	RouteMetrics      = "GET /metrics"     // the same for Prometheus
	RouteStop         = "POST /v1/stop"
	RouteRelease      = "POST /v1/release"       // true: nobody else needs the kernel, and it ends
	RouteAppSchema    = "GET /v1/app/schema"     // of app files, for editors
	RouteMCP          = "POST /v1/mcp"           // becomes a stream of MCP messages, one a line
	RouteMCPProfile   = "POST " + MCPProfilePath // the same, for a profile
	RouteOpenSession  = "POST /v1/sessions"
	RouteCloseSession = "DELETE /v1/sessions/{session}"
	RouteTools        = "GET /v1/sessions/{session}/tools"
	RouteTool         = "GET /v1/sessions/{session}/tools/{name}"
	RouteSearch       = "POST /v1/sessions/{session}/search"
	RouteSurface      = "GET /v1/sessions/{session}/surface"
	RoutePlan         = "POST /v1/plan" // what an agent's model would be shown
	RouteServers      = "GET /v1/sessions/{session}/servers"
	RouteRefresh      = "POST /v1/sessions/{session}/servers/{server}/refresh"
	RouteRestart      = "POST /v1/sessions/{session}/servers/{server}/restart"
	RouteTrust        = "POST /v1/sessions/{session}/servers/{server}/trust"
	RouteLogin        = "POST /v1/sessions/{session}/servers/{server}/login"
	RouteLogs         = "GET /v1/sessions/{session}/servers/{server}/logs"
	RouteServerItems  = "GET /v1/sessions/{session}/servers/{server}/items/{kind}"
	RouteServerItem   = "POST /v1/sessions/{session}/servers/{server}/items/{kind}"
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
	RouteDoubt        = "GET /v1/doubts/{call}"
	RouteResolve      = "POST /v1/doubts/{call}"
	RoutePrune        = "POST /v1/journal/prune"
	RouteAcceptLoss   = "POST /v1/journal/accept-loss"
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
	Problems   []string `json:"problems,omitempty"` // sources whose tools are missing or old
	Doubts     int      `json:"doubts,omitempty"`   // calls in doubt
	Warnings   []string `json:"warnings,omitempty"` // what is wrong with the state directory, and what to do
	// Today is what models took since midnight, or since the kernel started.
	Today activity.Spend `json:"today"`
}

// MCPClient is an MCP client that a bridge speaks for.
type MCPClient struct {
	Workspace string
	AppFile   string
	Mode      string // of the surface; empty: as the app says
	Builtin   string // auto, all, none, or modules with commas between them; empty: as the app says
	Profile   string `json:",omitempty"` // the part of the app that it is given; empty: all
	// Key is what the bridge numbers its client's calls with; empty: it does not.
	Key callid.Key `json:"-"`
	// Resent is the last number that an earlier kernel may have seen.
	Resent uint64 `json:"-"`
}

// MCPHTTPClient is how MCP clients that come over HTTP are let in, as
// MCPClientHeader carries it beside their requests.
type MCPHTTPClient struct {
	MCPClient
	Token   string   // that clients bring
	NoAuth  bool     // or none
	Forms   bool     // approvals may be answered in a form at the client
	Hosts   []string // names by which they may call, beside this machine's own
	Origins []string // pages that may call
}

// MCPClientHeader carries an MCPHTTPClient from the process that faces the
// network, and MCPHTTPPath is where that process sends requests. MCPProfileHeader
// names the profile that a request is for; empty: the one of the MCPHTTPClient. A
// request for a profile has paths of its own, so that a kernel which knows no
// profiles refuses it and does not give the whole app.
const (
	MCPClientHeader  = "Callgate-MCP-Client"
	MCPProfileHeader = "Callgate-MCP-Profile"
	MCPHTTPPath      = "/v1/mcp/http"

	MCPProfilePath     = "/v1/mcp/profile" // of RouteMCPProfile
	MCPHTTPProfilePath = "/v1/mcp/http/profile"
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
	// Where asks which app files are in force, and why: see Session.
	Where bool `json:"where,omitempty"`
}

// Session is an open session.
type Session struct {
	ID        string   `json:"id"`
	Workspace string   `json:"workspace"`
	App       string   `json:"app"`
	AppFile   string   `json:"app_file,omitempty"`
	Human     bool     `json:"human,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
	// PendingConsent is what the app file asks for and nobody has accepted, for a human
	// to see and accept (see AppConsent): lines that begin with + are new, with - are
	// gone, and the last says how many are as they were.
	PendingConsent string `json:"pending_consent,omitempty"`
	// AppFiles are the app files in force as people write them: the project's, then the
	// user's own.
	AppFiles []string `json:"app_files,omitempty"`
	Where    *Where   `json:"where,omitempty"` // when it was asked for
}

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
