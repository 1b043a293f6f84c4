package apidoc

import (
	"encoding/json"

	"callgate/internal/protocol"
	"callgate/internal/protocol/activity"
	"callgate/internal/protocol/operations"
	"callgate/tool"
)

// Routes that are no part of the protocol, and need no token.
const (
	RouteHealth = "GET /healthz"
	RouteReady  = "GET /readyz"
)

// where are the parameters of routes without a session.
func where(others ...Parameter) More {
	return More{Query: append([]Parameter{
		{Name: "workspace", About: "the folder in which it is; without it, that in which the kernel was started"},
		{Name: "app", About: "an app file; without it, callgate.yaml of the folder"},
	}, others...)}
}

func aboutKernel() group {
	text := More{Content: "text/plain", Open: true}
	return group{"kernel", "What the kernel says of itself.", []Endpoint{
		{RouteHealth, "health", "Whether the server answers", nil, nil, text},
		{RouteReady, "ready", "Whether the kernel can serve calls, and takes new clients: one that is drained does not", nil, nil, text},
		{protocol.RouteStatus, "getStatus", "Version, counts, and what is wrong", nil, protocol.Status{}, More{}},
		{protocol.RoutePing, "ping", "A sign of life", nil, Empty{}, More{}},
		{protocol.RouteDocument, "getDocument", "This document", nil, json.RawMessage{}, More{}},
		{protocol.RouteAppSchema, "getAppSchema", "The JSON Schema of app files", nil, json.RawMessage{},
			More{Content: "application/schema+json"}},
		{protocol.RouteActivity, "getActivity", "What the kernel does now: calls, waits, tools, models, servers", nil,
			activity.Activity{}, More{}},
		{protocol.RouteMetrics, "getMetrics", "The kernel's numbers, in the text format of Prometheus", nil, nil,
			More{Content: "text/plain"}},
		{operations.RouteReload, "reload", "Have open sessions work by their app files as they are now", operations.Reload{},
			operations.Reloaded{}, More{}},
		{operations.RouteNodes, "listNodes", "The machines that share the kernel's database", nil, []operations.Node{}, More{}},
		{operations.RouteDrain, "drain", "Have a node begin nothing new, or go on", operations.Drain{}, operations.Node{},
			More{}},
		{operations.RouteNodeLocks, "listNodeLocks", "What calls at all nodes hold and wait for of what all nodes share", nil,
			[]operations.SharedClaim{}, More{}},
		{operations.RouteVerifyNodes, "verifyNodes", "Check the chains of records of all nodes", nil,
			operations.VerifiedNodes{}, More{}},
		{protocol.RouteLocks, "listLocks", "Who holds what, and who waits for it", nil, protocol.Locks{}, More{}},
	}}
}

// surfaceQuery are the parameters of the routes that show a surface.
func surfaceQuery() []Parameter {
	return []Parameter{
		{Name: "mode", About: "direct, compact_direct or discovery; without it, as the app says, else by the budget"},
		{Name: "client", About: "the name of an MCP client, whose window counts"},
		{Name: "window", About: "tokens", Type: "integer"},
		{Name: "mcp", About: "as MCP clients are shown it"},
	}
}

// idempotent are the headers of a call.
func idempotent() []Parameter {
	return []Parameter{{Name: "Idempotency-Key", About: "the call is made once, however often it is sent"}}
}

func aboutTools() group {
	call := where()
	call.Headers, call.Optional = idempotent(), true
	return group{"tools", "Tools without a session: there is one for each folder and app file that is named.", []Endpoint{
		{protocol.RouteDirectTools, "listTools", "List the tools", nil, []protocol.Tool{}, where()},
		{protocol.RouteDirectTool, "getTool", "Show one tool, with its schemas", nil, protocol.Tool{}, where()},
		{protocol.RouteDirectSearch, "searchTools", "Search by meaning, in any language", protocol.Search{},
			protocol.SearchResult{}, where()},
		{protocol.RouteDirectFind, "findTools", "Find by what is exactly known", protocol.FindTools{}, []protocol.Tool{}, where()},
		{protocol.RouteDirectCall, "callTool", "Call a tool, through the gate", protocol.DirectCall{}, tool.Result{}, call},
		{protocol.RouteCollect, "collectResult", "Wait for the end of a call", nil, tool.Result{}, More{}},
		{protocol.RouteDirectSurface, "getSurface", "The tools as a model is shown them, and what that costs", nil,
			protocol.Surface{}, where(surfaceQuery()...)},
		{protocol.RouteDirectServers, "listServers", "List the MCP servers", nil, []protocol.Server{}, where()},
		{protocol.RoutePlan, "plan", "What an agent's model would be shown", protocol.PlanRequest{}, protocol.AgentSurface{}, More{}},
	}}
}

func aboutSessions() group {
	advice := More{Query: []Parameter{{Name: "tool"}, {Name: "since", About: "a time, RFC 3339"},
		{Name: "min_calls", Type: "integer"}}}
	return group{"sessions", "A session is a view of an app in a folder. It belongs to its token.", []Endpoint{
		{protocol.RouteOpenSession, "openSession", "Open a session", protocol.OpenSession{}, protocol.Session{}, More{}},
		{protocol.RouteCloseSession, "closeSession", "Close a session", nil, Empty{}, More{}},
		{protocol.RouteTools, "listSessionTools", "List the tools of a session", nil, []protocol.Tool{}, More{}},
		{protocol.RouteTool, "getSessionTool", "Show one tool of a session", nil, protocol.Tool{}, More{}},
		{protocol.RouteSearch, "searchSessionTools", "Search the tools of a session", protocol.Search{},
			protocol.SearchResult{}, More{}},
		{protocol.RouteFindTools, "findSessionTools", "Find tools of a session by what is exactly known", protocol.FindTools{},
			[]protocol.Tool{}, More{}},
		{operations.RoutePreflight, "preflight", "What would become of calls, without making them", operations.Preflight{},
			operations.PreflightReport{}, More{}},
		{operations.RouteLearned, "listLearned", "The requests that your searches taught", nil,
			[]operations.LearnedRequest{}, More{}},
		{operations.RouteForgetLearned, "forgetLearned", "Forget some of them, and say which", operations.ForgetLearned{},
			[]operations.LearnedRequest{}, More{}},
		{protocol.RouteToolModels, "findToolModels", "Models that are good at a tool", protocol.FindModels{},
			protocol.ToolModels{}, More{}},
		{protocol.RouteModelAdvice, "getModelAdvice", "Which models a tool should ask, by its calls", nil,
			protocol.ModelAdvice{}, advice},
		{protocol.RouteSurface, "getSessionSurface", "The tools of a session as a model is shown them", nil, protocol.Surface{},
			More{Query: surfaceQuery()}},
		{protocol.RouteCall, "callSessionTool", "Call a tool in a session", protocol.CallRequest{}, tool.Result{},
			More{Headers: idempotent()}},
		{protocol.RouteSkills, "listSkills", "List the skills of a session", nil, []protocol.FoundSkill{}, More{}},
		{protocol.RouteSkillTrust, "trustSkill", "Accept a skill, or take that back", protocol.SkillTrust{}, Empty{}, More{}},
		{protocol.RouteChannels, "listChannels", "List the channels of a session's app", nil, []protocol.Channel{}, More{}},
		{protocol.RouteTestChannel, "testChannel", "Send a message that tries a channel", protocol.TestChannel{},
			protocol.Delivery{}, More{}},
	}}
}

func aboutServers() group {
	logs := More{Query: []Parameter{{Name: "n", About: "how many lines", Type: "integer"}}}
	return group{"servers", "The MCP servers of a session's app.", []Endpoint{
		{protocol.RouteServers, "listSessionServers", "List the servers of a session", nil, []protocol.Server{}, More{}},
		{protocol.RouteRefresh, "refreshServer", "List a server's tools anew", nil, protocol.ServerStatus{}, More{}},
		{protocol.RouteRestart, "restartServer", "Start a server anew", nil, protocol.ServerStatus{}, More{}},
		{protocol.RouteTrust, "trustServer", "Accept a server or its definitions, or take that back", protocol.Trust{},
			Empty{}, More{}},
		{protocol.RouteLogs, "getServerLogs", "The last lines that a server wrote", nil, []protocol.ServerLogLine{}, logs},
		{protocol.RouteServerItems, "listServerItems", "List a server's resources, templates or prompts", nil,
			[]json.RawMessage{}, More{}},
		{protocol.RouteServerItem, "readServerItem", "Read a resource or a prompt, with a call", protocol.ServerItem{},
			json.RawMessage{}, More{}},
	}}
}

// state is the parameter of lists of what waits or was answered.
func state(values string) More {
	return More{Query: []Parameter{{Name: "state", About: "only those: " + values}}}
}

func aboutApprovals() group {
	return group{"approvals", "Calls that wait for a human.", []Endpoint{
		{protocol.RouteApprovals, "listApprovals", "List approvals", nil, []protocol.Approval{},
			state("pending, approved, denied, expired or spent")},
		{protocol.RouteApproval, "getApproval", "Show an approval, with the exact call", nil, protocol.Approval{}, More{}},
		{protocol.RouteAnswer, "answerApproval", "Approve, with other arguments too, or deny", protocol.Answer{},
			protocol.Approval{}, More{}},
	}}
}

func aboutGrants() group {
	return group{"grants", "A yes that lasts, and rules that are tried.", []Endpoint{
		{protocol.RouteGrants, "listGrants", "List the lasting grants", nil, []protocol.Grant{}, More{}},
		{protocol.RouteGrant, "getGrant", "Show a lasting grant", nil, protocol.Grant{}, More{}},
		{protocol.RouteKeepGrant, "keepGrant", "Keep a yes", protocol.KeepGrant{}, protocol.Grant{}, More{}},
		{protocol.RouteRevokeGrants, "revokeGrants", "Take lasting grants back", protocol.RevokeGrants{}, Empty{}, More{}},
		{protocol.RouteGrantSuggestions, "suggestGrants", "What could be kept, by what was approved", nil,
			[]protocol.GrantSuggestion{}, More{}},
		{protocol.RouteTryRules, "tryRules", "Try the rules of a file on recorded calls", protocol.TryRules{},
			protocol.RulesReport{}, More{}},
	}}
}

func aboutQuestions() group {
	return group{"questions", "What agents ask their user.", []Endpoint{
		{protocol.RouteQuestions, "listQuestions", "List questions", nil, []protocol.Question{},
			state("pending, answered, denied, expired or withdrawn")},
		{protocol.RouteQuestion, "getQuestion", "Show a question", nil, protocol.Question{}, More{}},
		{protocol.RouteAnswerQuestion, "answerQuestion", "Answer a question", protocol.AnswerQuestion{}, protocol.Question{}, More{}},
	}}
}

func aboutProposals() group {
	return group{"proposals", "What agents would have changed.", []Endpoint{
		{protocol.RouteProposals, "listProposals", "List proposals", nil, []protocol.Proposal{},
			state("pending, accepted or refused")},
		{protocol.RouteProposal, "getProposal", "Show a proposal, and what accepting it would do", nil, protocol.Proposal{}, More{}},
		{protocol.RouteAcceptProposal, "acceptProposal", "Accept a proposal", protocol.AcceptProposal{}, protocol.Proposal{}, More{}},
		{protocol.RouteRefuseProposal, "refuseProposal", "Refuse a proposal", protocol.RefuseProposal{}, protocol.Proposal{}, More{}},
	}}
}
