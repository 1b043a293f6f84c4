package web

import (
	"maps"
	"slices"

	"callgate/internal/protocol"
	"callgate/internal/protocol/operations"
	"callgate/internal/token"
	"callgate/tool"
)

// roles are the routes of the protocol that are served over the network, and who may use them. What is
// not here is for processes of this machine: streams of bridges, codes that a person types at a
// terminal, what a human said in a form of an editor (whose word for it nobody over the network can give), what
// opens any folder or tells any address of requests, and whatever ends or releases the kernel.
func roles() map[string]token.Role {
	all := map[string]token.Role{}
	for role, routes := range map[token.Role][]string{
		token.Viewer: viewerRoutes(), token.Operator: operatorRoutes(), token.Approver: approverRoutes(),
		token.Admin: adminRoutes(),
	} {
		for _, r := range routes {
			all[r] = role
		}
	}
	return all
}

// viewerRoutes change nothing. A session is a view of an app, in which a viewer makes no calls.
func viewerRoutes() []string {
	return []string{
		protocol.RouteStatus, protocol.RoutePing, protocol.RouteAppSchema, protocol.RouteOpenSession,
		protocol.RouteCloseSession, protocol.RouteTools, protocol.RouteTool, protocol.RouteSearch, protocol.RouteSurface,
		protocol.RouteFindTools, protocol.RouteToolModels, protocol.RoutePlan, protocol.RouteServers, protocol.RouteLogs,
		protocol.RouteServerItems, protocol.RouteSkills, protocol.RouteChannels, protocol.RouteModelAdvice,
		protocol.RouteApprovals, protocol.RouteApproval, protocol.RouteLocks, protocol.RouteJournal, protocol.RouteFollow,
		protocol.RouteVerify, protocol.RouteExport, protocol.RouteDoubts, protocol.RouteDoubt, protocol.RouteArtifact,
		protocol.RouteTasks, protocol.RouteTask, protocol.RouteTaskLog, protocol.RouteDeliveries,
		protocol.RouteBackgroundApps, protocol.RouteTriggerEvents, protocol.RouteQuestions, protocol.RouteQuestion,
		protocol.RouteModelUse, operations.RouteStats, protocol.RouteConversations, protocol.RouteConversation,
		protocol.RouteAgents,
		protocol.RouteGrants, protocol.RouteGrant, protocol.RouteGrantSuggestions,
		protocol.RouteKeys, protocol.RouteProposals, protocol.RouteProposal,
		protocol.RouteActivity, protocol.RouteMetrics, operations.RouteLearned, operations.RouteNodes,
		operations.RouteVerifyNodes, operations.RouteNodeLocks, operations.RouteMe,
	}
}

// operatorRoutes have calls made and agents work. Each call is judged by the gate.
func operatorRoutes() []string {
	return []string{
		protocol.RouteCall, protocol.RouteCollect, protocol.RouteServerItem, protocol.RouteRefresh, protocol.RouteRestart,
		protocol.RouteCancelTask, protocol.RouteOpenConversation, protocol.RouteSendMessage, protocol.RouteResumeTurn,
		protocol.RouteAttend, protocol.RouteWake, protocol.RouteQueueMessage, protocol.RouteUnqueueMessage,
		protocol.RouteCancelTurn, protocol.RouteMoveCall, protocol.RouteCompact, protocol.RouteFork, protocol.RoutePrompt,
		protocol.RouteModels, protocol.RouteSetModel, protocol.RouteEvents, protocol.RoutePermissions,
		protocol.RouteSetPermissions, protocol.RouteSetAppMode, protocol.RouteDeleteConversation, operations.RoutePreflight,
		operations.RouteForgetLearned,
	}
}

// approverRoutes are a human's word. The kernel judges each once more, and refuses some of them to every
// token: nobody signs over the network, and no token makes a token.
func approverRoutes() []string {
	return []string{
		protocol.RouteAnswer, protocol.RouteAnswerQuestion, protocol.RouteKeepGrant, protocol.RouteRevokeGrants,
		protocol.RouteAcceptProposal, protocol.RouteRefuseProposal, protocol.RouteTrust, protocol.RouteSkillTrust,
		protocol.RouteUndoList, protocol.RouteUndoPreview, protocol.RouteUndo, protocol.RouteTestChannel,
		protocol.RouteRetryDelivery, protocol.RouteRetryEvent, protocol.RouteStartBackground, protocol.RouteStopBackground,
		operations.RouteMySecrets, operations.RouteSetMySecret, operations.RouteDeleteMySecret,
	}
}

// adminRoutes change the kernel's own records.
func adminRoutes() []string {
	return []string{
		protocol.RouteTokens, protocol.RouteRevokeToken, protocol.RouteSecrets, protocol.RouteSetSecret,
		protocol.RouteDeleteSecret, protocol.RouteResolve, protocol.RoutePrune, protocol.RouteAcceptLoss,
		protocol.RouteRemoveKey, protocol.RouteTryRules, operations.RouteReload, operations.RouteRetain,
		operations.RouteDrain, operations.RouteUsers, operations.RouteUser, operations.RouteRevokeUser,
	}
}

// profiled are the routes for tokens of one profile, which is a part of an app: what shows or does more
// than that part is not theirs.
func profiled() []string {
	return []string{
		protocol.RouteStatus, protocol.RoutePing, protocol.RouteOpenSession, protocol.RouteCloseSession, protocol.RouteTools,
		protocol.RouteTool, protocol.RouteSearch, protocol.RouteSurface, protocol.RouteCall,
	}
}

// RoleOf is the role that a route needs of who comes over the network; false: it is not served there.
func RoleOf(pattern string) (token.Role, bool) {
	role, ok := roles()[pattern]
	return role, ok
}

// Allows returns an error unless a token may use a route.
func Allows(who token.Token, pattern string) error {
	role, ok := RoleOf(pattern)
	switch {
	case !ok:
		return tool.Errorf("web", tool.Denied, "this is not served over the network")
	case !who.Role.Includes(role):
		return tool.Errorf("web", tool.Denied, "the token %s has the role %s, and this needs %s", who.Name, who.Role, role)
	case who.Profile != "" && !slices.Contains(profiled(), pattern):
		return aboutMore(who)
	}
	return nil
}

func aboutMore(who token.Token) error {
	return tool.Errorf("web", tool.Denied, "the token %s is for the profile %s, and this is about more", who.Name,
		who.Profile)
}

// Routes lists what of the protocol is served over the network.
func Routes() []string { return slices.Sorted(maps.Keys(roles())) }

// DirectRoutes lists the routes that stand for those of a session.
func DirectRoutes() []string { return slices.Sorted(maps.Keys(directRoutes())) }
