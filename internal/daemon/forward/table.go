package forward

import (
	"callgate/internal/kernel/node"
	"callgate/internal/protocol"
	"callgate/internal/protocol/operations"
)

// how says how the node is found that answers a route.
type how int

const (
	here      how = iota // always this one
	named                // this one, or the one that the request names with ?node=
	byKind               // the one that has the thing whose ID is in the path
	bySession            // the one that the session's ID names
	opening              // the one that the request names, or that has the conversation which goes on; else this one
	onAll                // all of them, or the one that the request names
	code                 // as byKind, but a code is given by the node at whose terminal it is typed
)

// placement is how a route is placed.
type placement struct {
	how  how
	kind Kind   // of what the path value is an ID
	id   string // the name of the path value
	list order  // of what all nodes give
}

// placements say for every route of the API which node answers it. What is kept in a node's own files, or is about its
// process, is answered here: keys, secrets, undo, its own records and rules, its MCP clients.
func placements() map[string]placement {
	all := map[string]placement{
		protocol.RouteOpenSession:      {how: opening},
		protocol.RouteOpenConversation: {how: opening},

		protocol.RouteApprovals:     {how: onAll, list: order{at: []string{"asked_at"}}},
		protocol.RouteQuestions:     {how: onAll, list: order{at: []string{"asked_at"}}},
		protocol.RouteProposals:     {how: onAll, list: order{at: []string{"made"}}},
		protocol.RouteDoubts:        {how: onAll, list: order{at: []string{"time"}}},
		protocol.RouteConversations: {how: onAll, list: order{at: []string{"updated"}, newest: true}},
		protocol.RouteTasks: {how: onAll, kind: node.Task, list: order{
			at: []string{"times", "created"}, newest: true, after: "after", of: "conversation",
		}},

		protocol.RouteChallenge:         {how: code, kind: node.Approval, id: "id"},
		protocol.RouteQuestionChallenge: {how: code, kind: node.Question, id: "id"},
	}
	for _, route := range sessionRoutes() {
		all[route] = placement{how: bySession, id: "session"}
	}
	for kind, routes := range map[Kind][]string{
		node.Conversation: conversationRoutes(),
		node.Approval:     {protocol.RouteApproval, protocol.RouteAnswer},
		node.Question:     {protocol.RouteQuestion, protocol.RouteAnswerQuestion},
		node.Proposal:     {protocol.RouteProposal, protocol.RouteAcceptProposal, protocol.RouteRefuseProposal},
		node.Task:         {protocol.RouteTask, protocol.RouteCancelTask, protocol.RouteTaskLog},
	} {
		for _, route := range routes {
			all[route] = placement{how: byKind, kind: kind, id: "id"}
		}
	}
	for _, route := range []string{protocol.RouteCollect, protocol.RouteDoubt, protocol.RouteResolve} {
		all[route] = placement{how: byKind, kind: node.Call, id: "call"}
	}
	for _, route := range namedRoutes() {
		all[route] = placement{how: named}
	}
	for _, route := range ownRoutes() {
		all[route] = placement{how: here}
	}
	return all
}

func sessionRoutes() []string {
	return []string{
		protocol.RouteCloseSession, protocol.RouteTools, protocol.RouteTool, protocol.RouteSearch, protocol.RouteSurface,
		protocol.RouteServers, protocol.RouteRefresh, protocol.RouteRestart, protocol.RouteTrust, protocol.RouteLogs,
		protocol.RouteServerItems, protocol.RouteServerItem, protocol.RouteCall, protocol.RouteFindTools,
		protocol.RouteToolModels, protocol.RouteSkills, protocol.RouteSkillTrust, protocol.RouteModelAdvice,
		protocol.RouteChannels, protocol.RouteTestChannel, operations.RouteLearned, operations.RouteForgetLearned,
		operations.RoutePreflight, operations.RouteOwnBench, protocol.RouteLogin,
	}
}

func conversationRoutes() []string {
	return []string{
		protocol.RouteConversation, protocol.RouteDeleteConversation, protocol.RouteSendMessage, protocol.RouteResumeTurn,
		protocol.RouteAttend, protocol.RouteWake, protocol.RouteQueueMessage, protocol.RouteUnqueueMessage,
		protocol.RouteCancelTurn, protocol.RouteMoveCall, protocol.RouteCompact, protocol.RouteFork, protocol.RoutePrompt,
		protocol.RouteModels, protocol.RouteSetModel, protocol.RouteEvents, protocol.RouteAgents, protocol.RoutePermissions,
		protocol.RouteSetPermissions, protocol.RouteSetAppMode, protocol.RouteAnswerForm,
	}
}

// namedRoutes tell of a node, and change nothing.
func namedRoutes() []string {
	return []string{
		protocol.RouteStatus, protocol.RouteActivity, protocol.RouteLocks, protocol.RouteJournal, protocol.RouteFollow,
		protocol.RouteVerify, protocol.RouteExport, protocol.RouteDeliveries, protocol.RouteBackgroundApps,
		protocol.RouteTriggerEvents, protocol.RouteGrants, protocol.RouteGrant, protocol.RouteGrantSuggestions,
		protocol.RouteModelUse, operations.RouteStats, protocol.RouteArtifact,
	}
}

func ownRoutes() []string {
	return []string{
		operations.RouteNodes, operations.RouteDrain, // which are of the database, whoever is asked
		operations.RouteVerifyNodes, operations.RouteNodeLocks,
		operations.RouteUsers, operations.RouteUser, operations.RouteMe, operations.RouteRevokeUser,
		operations.RouteMySecrets, operations.RouteSetMySecret, operations.RouteDeleteMySecret,
		protocol.RoutePing, protocol.RouteMetrics, protocol.RouteStop, protocol.RouteRelease, protocol.RouteAppSchema,
		protocol.RouteMCP, protocol.RouteMCPProfile, protocol.RoutePlan, protocol.RouteConsole, operations.RouteReload,
		protocol.RoutePrune, protocol.RouteAcceptLoss, operations.RouteRetain,
		protocol.RouteTryRules,
		protocol.RouteKeepGrant, protocol.RouteRevokeGrants, protocol.RouteRetryDelivery, protocol.RouteRetryEvent,
		protocol.RouteStartBackground, protocol.RouteStopBackground, protocol.RouteTokens, protocol.RouteCreateToken,
		protocol.RouteRevokeToken, protocol.RouteConsentChallenge, protocol.RouteSecrets, protocol.RouteSetSecret,
		protocol.RouteDeleteSecret, protocol.RouteKeys, protocol.RouteCreateKey, protocol.RouteTrustKey,
		protocol.RouteRemoveKey, protocol.RouteSign, protocol.RouteUndoList, protocol.RouteUndoPreview, protocol.RouteUndo,
	}
}
