package apidoc

import (
	"callgate/internal/protocol"
	"callgate/internal/protocol/operations"
)

func aboutConversations() group {
	after := []Parameter{{Name: "after", About: "only events with a greater number", Type: "integer"}}
	stream := More{Stream: true}
	return group{"conversations", "Messages with an agent.", []Endpoint{
		{protocol.RouteOpenConversation, "openConversation", "Open a conversation, or go on with one",
			protocol.OpenConversation{}, protocol.Conversation{}, More{}},
		{protocol.RouteConversations, "listConversations", "List conversations, the newest first", nil,
			[]protocol.ConversationInfo{}, More{Query: []Parameter{{Name: "limit", Type: "integer"}}}},
		{protocol.RouteConversation, "getConversation", "The history of a conversation", nil, protocol.History{},
			More{Query: after}},
		{protocol.RouteDeleteConversation, "deleteConversation", "Delete a conversation", nil, Empty{}, More{}},
		{protocol.RouteSendMessage, "sendMessage", "Say something, and follow the turn", protocol.SendMessage{},
			protocol.TurnEvent{}, stream},
		{protocol.RouteResumeTurn, "resumeTurn", "Go on with a turn that was interrupted", nil, protocol.TurnEvent{}, stream},
		{protocol.RouteAttend, "attend", "Be told when a conversation should go on by itself", nil, protocol.News{}, stream},
		{protocol.RouteWake, "wake", "Have a conversation go on by itself", nil, protocol.TurnEvent{}, stream},
		{protocol.RouteQueueMessage, "queueMessage", "Say something while a turn runs; null: none runs", protocol.SendMessage{},
			(*protocol.QueuedMessage)(nil), More{}},
		{protocol.RouteUnqueueMessage, "unqueueMessage", "Take back what waits; null: nothing does", nil,
			(*protocol.QueuedMessage)(nil), More{}},
		{protocol.RouteCancelTurn, "cancelTurn", "Stop the turn; false: none ran", nil, false, More{}},
		{protocol.RouteMoveCall, "moveCall", "Let a call go on in the background", protocol.MoveCall{}, nil, More{}},
		{protocol.RouteFork, "forkConversation", "Begin a conversation with the turns of another", protocol.Fork{},
			protocol.ConversationInfo{}, More{}},
		{protocol.RouteCompact, "compactConversation", "Shorten a conversation; null: there was nothing to shorten", nil,
			(*protocol.Compaction)(nil), More{}},
		{protocol.RoutePrompt, "getPrompt", "What the model is told beside what is said", nil, protocol.Prompt{}, More{}},
		{protocol.RouteModels, "listModels", "Models that a conversation may change to", nil, []protocol.ModelChoice{}, More{}},
		{protocol.RouteSetModel, "setModel", "Have another model answer", protocol.SetModel{}, protocol.Conversation{}, More{}},
		{protocol.RouteEvents, "followConversation", "Follow the history of an open conversation", nil, protocol.HistoryEvent{},
			More{Stream: true, Query: after}},
		{protocol.RouteAgents, "listAgents", "The agents that work for a conversation", nil, []protocol.Agent{}, More{}},
		{protocol.RoutePermissions, "getPermissions", "What a conversation may do without asking", nil,
			protocol.Permissions{}, More{}},
		{protocol.RouteSetPermissions, "setPermissions", "Change what a conversation may do without asking",
			protocol.SetPermissions{}, protocol.Permissions{}, More{}},
		{protocol.RouteSetAppMode, "setAppMode", "Change the app's mode", protocol.SetAppMode{}, protocol.Conversation{}, More{}},
	}}
}

func aboutTasks() group {
	list := More{Query: []Parameter{
		{Name: "conversation", About: "on whose behalf they run"},
		{Name: "kind", About: "watch, schedule and others", Repeated: true},
		{Name: "state", About: "only those"},
		{Name: "all", About: "also those that have ended", Type: "boolean"},
		{Name: "after", About: "the last one that is known: those before it"},
		{Name: "limit", Type: "integer"},
	}}
	log := More{Query: []Parameter{{Name: "n", About: "how many lines", Type: "integer"}}}
	return group{"tasks", "Work in the background: watchers, schedules, deliveries, calls.", []Endpoint{
		{protocol.RouteTasks, "listTasks", "List tasks, the newest first", nil, []protocol.Task{}, list},
		{protocol.RouteTask, "getTask", "Show a task", nil, protocol.Task{}, More{}},
		{protocol.RouteCancelTask, "cancelTask", "Ask for the end of a task", protocol.CancelTask{}, protocol.Task{}, More{}},
		{protocol.RouteTaskLog, "getTaskLog", "What a task wrote", nil, []protocol.TaskEntry{}, log},
	}}
}

func aboutOutside() group {
	list := More{Query: []Parameter{
		{Name: "dead", About: "only those that were given up", Type: "boolean"}, {Name: "limit", Type: "integer"},
	}}
	return group{"outside", "Messages that go out, and events that come in.", []Endpoint{
		{protocol.RouteDeliveries, "listDeliveries", "List messages that go out", nil, []protocol.Delivery{}, list},
		{protocol.RouteRetryDelivery, "retryDelivery", "Try a message again", nil, protocol.Delivery{}, More{}},
		{protocol.RouteBackgroundApps, "listBackgroundApps", "Apps that run without a client", nil,
			[]protocol.BackgroundApp{}, More{}},
		{protocol.RouteStartBackground, "startBackgroundApp", "Have an app run without a client", protocol.StartBackground{},
			protocol.BackgroundApp{}, More{}},
		{protocol.RouteStopBackground, "stopBackgroundApp", "Have it run no more", protocol.StartBackground{},
			protocol.BackgroundApp{}, More{}},
		{protocol.RouteTriggerEvents, "listTriggerEvents", "List events that came in", nil, []protocol.TriggerEvent{}, list},
		{protocol.RouteRetryEvent, "retryTriggerEvent", "Try an event again", nil, protocol.TriggerEvent{}, More{}},
	}}
}

func aboutJournal() group {
	query := []Parameter{
		{Name: "after", About: "only records with a greater number", Type: "integer"},
		{Name: "before", About: "only records with a lesser number", Type: "integer"},
		{Name: "call", About: "only records of this call"},
		{Name: "kind", About: "only records of this kind"},
		{Name: "newest", About: "the last ones that match, still oldest first", Type: "boolean"},
		{Name: "limit", Type: "integer"},
	}
	follow := More{Stream: true, Events: true, Query: []Parameter{
		{Name: "after", About: "begin after this record", Type: "integer"},
		{Name: "live", About: "also what running calls print", Type: "boolean"},
	}, Headers: []Parameter{{Name: "Last-Event-ID", About: "begin after this record"}}}
	all := More{Query: []Parameter{{Name: "all", About: "also those that are resolved", Type: "boolean"}}}
	return group{"journal", "The record of every call.", []Endpoint{
		{protocol.RouteJournal, "readJournal", "Read records, oldest first", nil, []protocol.Record{}, More{Query: query}},
		{protocol.RouteFollow, "followJournal", "Follow the journal", nil, protocol.Event{}, follow},
		{protocol.RouteVerify, "verifyJournal", "Check the chain of records", nil, protocol.VerifyReport{}, More{}},
		{protocol.RouteExport, "exportJournal", "Export records, to be verified elsewhere", nil, nil,
			More{Query: query, Content: "application/x-ndjson"}},
		{protocol.RouteDoubts, "listDoubts", "Calls that may or may not have happened", nil, []protocol.Doubt{}, all},
		{protocol.RouteDoubt, "getDoubt", "Show a call in doubt", nil, protocol.Doubt{}, More{}},
		{protocol.RouteResolve, "resolveDoubt", "Say what became of a call in doubt", protocol.ResolveDoubt{}, Empty{}, More{}},
		{protocol.RoutePrune, "pruneJournal", "Remove old records", protocol.Prune{}, protocol.PruneResult{}, More{}},
		{operations.RouteRetain, "retain", "Remove what the rules of retain no longer keep", operations.Retain{},
			operations.Retained{}, More{}},
		{protocol.RouteAcceptLoss, "acceptLoss", "Accept that records were lost", protocol.AcceptLoss{}, Empty{}, More{}},
		{protocol.RouteArtifact, "getArtifact", "A large payload, by its hash", nil, nil,
			More{Content: "application/octet-stream"}},
	}}
}

func aboutUndo() group {
	list := More{Query: []Parameter{{Name: "workspace"}, {Name: "conversation"}}}
	return group{"undo", "Files put back to what they were before calls changed them.", []Endpoint{
		{protocol.RouteUndoList, "listUndo", "What can be undone", nil, []protocol.UndoItem{}, list},
		{protocol.RouteUndoPreview, "previewUndo", "What undoing would do", protocol.UndoTarget{}, protocol.UndoPreview{}, More{}},
		{protocol.RouteUndo, "undo", "Undo", protocol.Undo{}, protocol.Undone{}, More{}},
	}}
}

func aboutModels() group {
	use := More{Query: []Parameter{{Name: "tool"}, {Name: "since", About: "a time, RFC 3339"}}}
	since := More{Query: []Parameter{
		{Name: "since", About: "a time, RFC 3339"}, {Name: "limit", About: "how many records are looked at; without it, all"},
	}}
	return group{"models", "How models did, and the gate.", []Endpoint{
		{protocol.RouteModelUse, "getModelUse", "What LLM-backed tools asked of models", nil, []protocol.ModelUse{}, use},
		{operations.RouteStats, "getStats", "What the gate did", nil, operations.Stats{}, since},
	}}
}

func aboutAdministration() group {
	return group{"administration", "Secrets, tokens and keys.", []Endpoint{
		{protocol.RouteSecrets, "listSecrets", "The names of the secrets", nil, []protocol.Secret{}, More{}},
		{protocol.RouteSetSecret, "setSecret", "Set a secret", protocol.SetSecret{}, Empty{}, More{}},
		{protocol.RouteDeleteSecret, "deleteSecret", "Delete a secret", protocol.DeleteSecret{}, Empty{}, More{}},
		{protocol.RouteTokens, "listTokens", "List the tokens, without their values", nil, []protocol.Token{}, More{}},
		{protocol.RouteRevokeToken, "revokeToken", "End a token", nil, protocol.Token{}, More{}},
		{operations.RouteUsers, "listUsers", "Who the users are, what they have and have used; never what they wrote", nil,
			[]operations.User{}, More{}},
		{operations.RouteUser, "getUser", "One user", nil, operations.User{}, More{}},
		{operations.RouteMe, "getMe", "The user of the token that asks, with what they have used", nil, operations.User{},
			More{}},
		{operations.RouteMySecrets, "listMySecrets", "The names of the secrets of the user of the token that asks", nil,
			[]protocol.Secret{}, More{}},
		{operations.RouteSetMySecret, "setMySecret", "Set a secret of one's own", operations.SetMySecret{}, Empty{}, More{}},
		{operations.RouteDeleteMySecret, "deleteMySecret", "Delete a secret of one's own", nil, Empty{},
			More{Query: []Parameter{{Name: "app", About: "the app that it is for"}}}},
		{operations.RouteRevokeUser, "revokeUser", "End all tokens and logins of a user", nil, operations.User{}, More{}},
		{protocol.RouteKeys, "listKeys", "List the signing keys", nil, []protocol.Key{}, More{}},
		{protocol.RouteRemoveKey, "removeKey", "Remove a signing key", nil, Empty{}, More{}},
	}}
}
