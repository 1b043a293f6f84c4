package access

import (
	"maps"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/protocol"
	"callgate/internal/protocol/operations"
)

// judges is the table: who may use each route that is served over the network, beside the role that it takes.
func judges() map[string]judge {
	all := map[string]judge{}
	for _, part := range []map[string]judge{sessionRoutes(), conversationRoutes(), itemRoutes(), kernelRoutes()} {
		maps.Copy(all, part)
	}
	return all
}

// each has one judge for several routes.
func each(j judge, patterns ...string) map[string]judge {
	all := map[string]judge{}
	for _, p := range patterns {
		all[p] = j
	}
	return all
}

// sessionRoutes are about one session, which is of one token.
func sessionRoutes() map[string]judge {
	return each(inSession(shared),
		protocol.RouteCloseSession, protocol.RouteTools, protocol.RouteTool, protocol.RouteSearch, protocol.RouteSurface,
		protocol.RouteFindTools, protocol.RouteToolModels, protocol.RouteServers, protocol.RouteServerItems,
		protocol.RouteServerItem, protocol.RouteSkills, protocol.RouteChannels, protocol.RouteModelAdvice,
		protocol.RouteCall, operations.RoutePreflight, operations.RouteLearned, operations.RouteForgetLearned,
	)
}

// conversationRoutes are about one conversation.
func conversationRoutes() map[string]judge {
	all := each(one(conversations, contents),
		protocol.RouteConversation, protocol.RouteDeleteConversation, protocol.RouteSendMessage, protocol.RouteResumeTurn,
		protocol.RouteAttend, protocol.RouteWake, protocol.RouteQueueMessage, protocol.RouteUnqueueMessage,
		protocol.RouteMoveCall, protocol.RouteCompact, protocol.RouteFork, protocol.RoutePrompt, protocol.RouteModels,
		protocol.RouteSetModel, protocol.RouteEvents, protocol.RouteAgents, protocol.RoutePermissions,
		protocol.RouteSetPermissions, protocol.RouteSetAppMode,
	)
	all[protocol.RouteCancelTurn] = one(conversations, stops)
	all[protocol.RouteOpenConversation] = opening
	all[protocol.RouteConversations] = several(conversations, nil)
	return all
}

// itemRoutes are about something else that somebody asked for.
func itemRoutes() map[string]judge {
	return map[string]judge{
		protocol.RouteApprovals: several(approvals, nil), protocol.RouteApproval: one(approvals, facts),
		protocol.RouteAnswer:    one(approvals, contents),
		protocol.RouteQuestions: several(questions, nil), protocol.RouteQuestion: one(questions, facts),
		protocol.RouteAnswerQuestion: one(questions, contents),
		protocol.RouteTasks:          several(tasks, olderTasks), protocol.RouteTask: one(tasks, facts),
		protocol.RouteTaskLog: one(tasks, contents), protocol.RouteCancelTask: one(tasks, facts),
		protocol.RouteProposals: several(proposals, nil), protocol.RouteProposal: one(proposals, contents),
		protocol.RouteAcceptProposal: one(proposals, contents), protocol.RouteRefuseProposal: one(proposals, contents),
		protocol.RouteDeliveries:    several(deliveries, nil),
		protocol.RouteRetryDelivery: one(deliveries, facts),
		protocol.RouteJournal:       several(records, moreRecords),
		protocol.RouteFollow:        shared, // what is seen of it its handler asks: see Records
		protocol.RouteDoubts:        several(doubts, nil), protocol.RouteDoubt: one(doubts, facts),
		protocol.RouteResolve: one(doubts, stops),
		protocol.RouteCollect: one(calls, contents), protocol.RouteArtifact: artifact,
	}
}

// kernelRoutes are about the kernel, or about everybody.
func kernelRoutes() map[string]judge {
	all := each(shared, protocol.RouteStatus, protocol.RoutePing, protocol.RouteAppSchema, protocol.RouteOpenSession,
		protocol.RoutePlan)
	maps.Copy(all, each(everybodys, protocol.RouteExport, protocol.RouteTryRules, protocol.RouteUndoList,
		protocol.RouteUndoPreview, protocol.RouteUndo))
	maps.Copy(all, each(inSession(closed), protocol.RouteRefresh, protocol.RouteRestart, protocol.RouteTrust,
		protocol.RouteSkillTrust, protocol.RouteLogs, protocol.RouteTestChannel))
	maps.Copy(all, each(closed,
		protocol.RouteLocks, protocol.RouteVerify, protocol.RouteActivity, protocol.RouteMetrics, protocol.RouteModelUse,
		operations.RouteStats, protocol.RouteGrants, protocol.RouteGrant, protocol.RouteKeepGrant,
		protocol.RouteRevokeGrants, protocol.RouteGrantSuggestions, protocol.RouteKeys, protocol.RouteRemoveKey,
		protocol.RouteBackgroundApps, protocol.RouteStartBackground, protocol.RouteStopBackground,
		protocol.RouteTriggerEvents, protocol.RouteRetryEvent, protocol.RouteTokens, protocol.RouteRevokeToken,
		protocol.RouteSecrets, protocol.RouteSetSecret, protocol.RouteDeleteSecret, protocol.RoutePrune,
		protocol.RouteAcceptLoss, operations.RouteReload, operations.RouteRetain, operations.RouteNodes,
		operations.RouteDrain,
	))
	return all
}

// inSession is for routes of a session: another's does not exist, and of the own one another judge decides.
func inSession(then judge) judge {
	return func(q *request, next route.Func) error {
		id := q.r.PathValue("session")
		s, err := q.by.guard.kernel.Sessions.Get(id)
		if err != nil || q.by.isOthers(s.Principal().User) {
			return absent("open session", id)
		}
		return then(q, next)
	}
}
