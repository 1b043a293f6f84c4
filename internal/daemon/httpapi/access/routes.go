package access

import (
	"maps"
	"net/http"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/proposal"
	"callgate/internal/protocol"
	"callgate/internal/protocol/operations"
	"callgate/tool"
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
	all := each(one(conversations, contents), protocol.RouteConversation, protocol.RoutePrompt, protocol.RouteModels,
		protocol.RouteEvents, protocol.RouteAgents, protocol.RoutePermissions)
	maps.Copy(all, each(one(conversations, speaks),
		protocol.RouteDeleteConversation, protocol.RouteSendMessage, protocol.RouteResumeTurn, protocol.RouteAttend,
		protocol.RouteWake, protocol.RouteQueueMessage, protocol.RouteUnqueueMessage, protocol.RouteMoveCall,
		protocol.RouteCompact, protocol.RouteFork, protocol.RouteSetModel, protocol.RouteSetPermissions,
		protocol.RouteSetAppMode,
	))
	all[protocol.RouteCancelTurn] = one(conversations, stops)
	all[protocol.RouteOpenConversation] = opening
	all[protocol.RouteConversations] = several(conversations, nil)
	return all
}

// itemRoutes are about something else that somebody asked for.
func itemRoutes() map[string]judge {
	return map[string]judge{
		protocol.RouteApprovals: several(approvals, nil), protocol.RouteApproval: one(approvals, facts),
		protocol.RouteAnswer:    one(approvals, speaks),
		protocol.RouteQuestions: several(questions, nil), protocol.RouteQuestion: one(questions, facts),
		protocol.RouteAnswerQuestion: one(questions, speaks),
		protocol.RouteTasks:          several(tasks, olderTasks), protocol.RouteTask: one(tasks, facts),
		protocol.RouteTaskLog: one(tasks, contents), protocol.RouteCancelTask: one(tasks, facts),
		protocol.RouteProposals: several(proposals, nil), protocol.RouteProposal: one(proposals, contents),
		protocol.RouteAcceptProposal: accepting, protocol.RouteRefuseProposal: one(proposals, speaks),
		protocol.RouteDeliveries:    several(deliveries, nil),
		protocol.RouteRetryDelivery: one(deliveries, speaks),
		protocol.RouteJournal:       several(records, moreRecords),
		protocol.RouteFollow:        shared, // what is seen of it its handler asks: see Records
		protocol.RouteDoubts:        several(doubts, nil), protocol.RouteDoubt: one(doubts, facts),
		protocol.RouteResolve: one(doubts, stops),
		protocol.RouteCollect: one(calls, contents), protocol.RouteArtifact: artifact,
	}
}

// accepting is for who accepts a proposal. What changes rules, tools or skills holds for everybody who works there: of
// users, only an administrator says yes to it.
func accepting(q *request, next route.Func) error {
	return one(proposals, speaks)(q, func(w http.ResponseWriter, r *http.Request) error {
		if q.by.user == "" || q.by.isAdmin {
			return next(w, r)
		}
		list, err := q.by.guard.kernel.Proposals.List(r.Context(), "")
		if err != nil {
			return err
		}
		for _, p := range list {
			if p.ID == r.PathValue(proposals.param) && p.Kind == proposal.Change {
				return next(w, r)
			}
		}
		return tool.Errorf("httpapi", tool.Denied, "this would hold for everybody who works here, and the token %s stands "+
			"for %s alone", q.by.login.Name, q.by.login.User).WithHint("an administrator may accept it, or the kernel's own user")
	})
}

// kernelRoutes are about the kernel, or about everybody.
func kernelRoutes() map[string]judge {
	all := each(shared, protocol.RouteStatus, protocol.RoutePing, protocol.RouteAppSchema, protocol.RouteOpenSession,
		protocol.RoutePlan, operations.RouteMe, operations.RouteMySecrets, operations.RouteSetMySecret,
		operations.RouteDeleteMySecret)
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
		operations.RouteDrain, operations.RouteVerifyNodes, operations.RouteNodeLocks,
		operations.RouteUsers, operations.RouteUser, operations.RouteRevokeUser,
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
