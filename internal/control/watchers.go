package control

import (
	"context"
	"fmt"

	"callgate/internal/watch"
	"callgate/tool"
)

// Watchers is what the tools of watchers do, each on behalf of a call. A watcher that is
// not of the call's conversation, or of its owner, is NotFound.
type Watchers interface {
	Start(ctx context.Context, call tool.Call) (watch.Detail, error)
	Stop(ctx context.Context, call tool.Call, id string) (watch.Overview, error)
	Pause(ctx context.Context, call tool.Call, id string) (watch.Overview, error)
	Resume(ctx context.Context, call tool.Call, id string) (watch.Overview, error)
	// Look returns a watcher with the last checks that are kept.
	Look(ctx context.Context, call tool.Call, id string, last int) (watch.Detail, error)
	List(ctx context.Context, call tool.Call) ([]watch.Overview, error)
}

const (
	watchStartText = "Have a call made again and again, and be told when it matters: you go on meanwhile, " +
		"and get a WATCHER UPDATE. The call must be one that runs without approval. By default you are told when its " +
		"result changes; notify_when changes that. Where the source says itself that something changed (files, " +
		"resources of MCP servers, the journal), it is also checked then."
	watchStopText    = "End a watcher for good."
	watchPauseText   = "Have a watcher make no checks until watch_resume."
	watchResumeText  = "Have a paused watcher make its checks again."
	watchStatusText  = "See all about a watcher: how its last checks went, and its numbers."
	watchListText    = "See your watchers: those that run, those that are paused, and the rest."
	watchHistoryText = "See the last checks of a watcher, the newest last."
)

const watchStartSchema = `{"type":"object","properties":{
	"name":{"type":"string","maxLength":256,"description":"the tool to call, or journal for calls of this app as they end"},
	"params":{"type":"object","description":"its parameters; of journal: tool (a name or a pattern as fs.*), status (success, error, denied)"},
	"interval":{"type":"number","minimum":1,"maximum":3600,"default":30,"description":"seconds between two checks"},
	"label":{"type":"string","maxLength":256,"description":"what it is for"},
	"max_checks":{"type":"integer","minimum":0,"maximum":10000,"default":0,"description":"ends after so many; 0: no limit"},
	"expires":{"description":"ends then: seconds from now, a duration (2h30m) or a moment (ISO 8601)"},
	"notify_when":{"type":"string","description":"on_change (default), on_condition (with notify_config.expression), ` +
	`on_error (checks begin to fail or work again), every_check, summary (several checks together)"},
	"notify_config":{"type":"object","properties":{
		"expression":{"type":"string","description":"as in: result.count > 5 and error == null. ` +
	`There are result, previous, error and check.number"},
		"repeat":{"type":"boolean","description":"of on_condition: also while it stays true"},
		"batch_size":{"type":"integer","minimum":1,"maximum":100,"description":"of summary, default 10"}}},
	"notify_first":{"type":"boolean","description":"also tell the first check"},
	"actions":{"type":"array","maxItems":10,"description":"calls that follow when you are told",
		"items":{"type":"object","properties":{
			"name":{"type":"string"},
			"params":{"type":"object","description":"texts may have places: {{result.field}}, {{error}}, {{watcher.label}}"}}}}},
	"additionalProperties":true}`

const (
	watcherSchema = `{"type":"object","properties":{` + watcherID + `},"required":["watcher_id"]}`
	watcherID     = `"watcher_id":{"type":"string","maxLength":100,"description":"as watch_start told it"}`
	historySchema = `{"type":"object","properties":{` + watcherID +
		`,"last_n":{"type":"integer","minimum":1,"maximum":100,"default":10}},"required":["watcher_id"]}`
)

// WatcherTools makes the tools of watchers, which are of a feature.
func WatcherTools(w Watchers, feature string) []*tool.Tool {
	t := watcherTools{w}
	all := []*tool.Tool{
		define(Namespace, "watch_start", watchStartText, watchStartSchema, t.start),
		define(Namespace, "watch_stop", watchStopText, watcherSchema, t.change(w.Stop, "stopped")),
		define(Namespace, "watch_pause", watchPauseText, watcherSchema, t.change(w.Pause, "paused")),
		define(Namespace, "watch_resume", watchResumeText, watcherSchema, t.change(w.Resume, "resumed")),
		define(Namespace, "watch_status", watchStatusText, watcherSchema, t.status),
		define(Namespace, "watch_list", watchListText, `{"type":"object","properties":{}}`, t.list),
		define(Namespace, "watch_history", watchHistoryText, historySchema, t.history),
	}
	for _, one := range all {
		one.Runtime.Feature = feature
	}
	all[0].Runtime.Idempotent = false
	return all
}

// watcherTools answers the tools of watchers.
type watcherTools struct{ watchers Watchers }

// watcherArgs are the arguments of the tools that name a watcher.
type watcherArgs struct {
	ID   string `json:"watcher_id"`
	Last int    `json:"last_n"`
}

func (t watcherTools) start(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
	d, err := t.watchers.Start(ctx, call)
	if err != nil {
		return nil, err
	}
	hint := "you are told with a WATCHER UPDATE; do not wait for it or ask again and again"
	if d.Status != watch.Running {
		hint = "it has ended already: " + d.Why
	}
	first := any(d.LastResult)
	if d.LastError != nil {
		first = "failed: " + *d.LastError
	}
	return tool.OK(fmt.Sprintf("the watcher %s is %s: %s", d.ID, d.Status, d.Tool), struct {
		watch.Overview
		First any    `json:"first_check,omitempty"`
		Hint  string `json:"hint"`
	}{d.Overview, first, hint})
}

// change makes the handler of a tool that changes where a watcher stands.
func (t watcherTools) change(
	do func(context.Context, tool.Call, string) (watch.Overview, error), done string,
) tool.HandlerFunc {
	return func(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
		var in watcherArgs
		if err := parseArgs(call, &in); err != nil {
			return nil, err
		}
		o, err := do(ctx, call, in.ID)
		if err != nil {
			return nil, err
		}
		return tool.OK(fmt.Sprintf("the watcher %s is %s", o.ID, done), o)
	}
}

func (t watcherTools) status(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
	var in watcherArgs
	if err := parseArgs(call, &in); err != nil {
		return nil, err
	}
	d, err := t.watchers.Look(ctx, call, in.ID, watch.LastEntries)
	if err != nil {
		return nil, err
	}
	return tool.OK(fmt.Sprintf("the watcher %s is %s, after %d checks", d.ID, d.Status, d.Checks), d)
}

func (t watcherTools) history(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
	in := watcherArgs{Last: 10}
	if err := parseArgs(call, &in); err != nil {
		return nil, err
	}
	if in.Last < 1 || in.Last > watch.MaxHistory {
		return nil, tool.Errorf(call.Tool.Dotted(), tool.Invalid, "last_n is %d, and must be 1 to %d",
			in.Last, watch.MaxHistory)
	}
	d, err := t.watchers.Look(ctx, call, in.ID, in.Last)
	if err != nil {
		return nil, err
	}
	return tool.OK(fmt.Sprintf("%d of %d checks", len(d.History), d.Checks), struct {
		ID      string        `json:"watcher_id"`
		Checks  int           `json:"check_count"`
		History []watch.Entry `json:"history"`
	}{d.ID, d.Checks, d.History})
}

func (t watcherTools) list(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
	all, err := t.watchers.List(ctx, call)
	if err != nil {
		return nil, err
	}
	count := map[watch.Status]int{}
	for _, o := range all {
		count[o.Status]++
	}
	return tool.OK(fmt.Sprintf("%d watchers, %d running", len(all), count[watch.Running]), struct {
		Watchers []watch.Overview `json:"watchers"`
		Total    int              `json:"total"`
		Running  int              `json:"running"`
		Paused   int              `json:"paused"`
	}{all, len(all), count[watch.Running], count[watch.Paused]})
}
