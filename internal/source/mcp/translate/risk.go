package translate

import (
	"slices"

	"callgate/tool"
)

// ToolConfig is what the app file says of one tool. It wins over what is
// inferred.
type ToolConfig struct {
	Risk       tool.Risk       `json:"risk,omitempty"`
	SideEffect tool.SideEffect `json:"side_effect,omitempty"`
	Effects    []tool.Effect   `json:"effects,omitempty"`
	Idempotent bool            `json:"idempotent,omitempty"`
	Off        bool            `json:"off,omitempty"` // not published
}

var (
	// destroying words make the risk of a tool high, wherever they stand.
	destroying = set("delete", "drop", "destroy", "remove", "kill", "purge", "truncate", "wipe", "erase", "rm",
		"unlink", "uninstall", "terminate")
	// reading words indicate a tool that only reads.
	reading = set("get", "list", "search", "read", "describe", "count", "fetch", "check", "browse", "view", "show",
		"find", "lookup", "ping", "info", "status", "health")
	// changing words indicate that it does not.
	changing = set("create", "update", "insert", "upsert", "add", "edit", "modify", "write", "send", "upload", "rename",
		"move", "replace", "append", "save", "store", "publish", "deploy", "execute", "exec", "start", "stop", "restart",
		"enable", "disable", "cancel", "merge", "push", "submit", "install", "apply", "archive", "clear", "revoke", "grant",
		"invite", "approve", "reject", "transfer", "sync", "register", "configure", "reset", "manage", "control", "restore",
		"resume", "pause", "block", "unblock", "lock", "unlock", "ban", "rotate", "scale", "generate", "make", "build",
		"trigger", "assign", "reply", "toggle", "subscribe", "unsubscribe", "pay", "buy", "book")
	// ambiguous words are nouns as often as verbs: a post, a run, a set.
	ambiguous = set("post", "put", "patch", "set", "commit", "comment", "order", "share", "mark", "import", "export",
		"copy", "change", "run", "call", "open", "close", "release", "fork", "vote", "like", "follow", "schedule", "log",
		"track", "sign", "click", "type", "fill", "press")
)

func set(list ...string) map[string]bool {
	m := make(map[string]bool, len(list))
	for _, word := range list {
		m[word] = true
	}
	return m
}

// riskByName infers the risk from a name alone. A name that says nothing does
// not count as a read.
func riskByName(name string) (tool.Risk, tool.SideEffect) {
	w := words(name)
	switch {
	case slices.ContainsFunc(w, func(s string) bool { return destroying[s] }):
		return tool.High, tool.External
	case isReadOnlyName(w):
		return tool.Low, tool.Read
	default:
		return tool.Medium, tool.External
	}
}

// isReadOnlyName reports whether the words of a name say that nothing is
// changed: there is a word for reading, and no word for changing in the place of
// a verb. That is the first or last place, as in update_status and list_create,
// or after a conjunction, as in get_or_create; in get_start_time it is part of a
// noun.
func isReadOnlyName(w []string) bool {
	if !slices.ContainsFunc(w, func(s string) bool { return reading[s] }) {
		return false
	}
	leads := reading[w[0]]
	for i, word := range w {
		last := i == len(w)-1
		switch {
		case word == "check" && !last && (w[i+1] == "in" || w[i+1] == "out"):
			return false
		case changing[word] && (i == 0 || last || !leads || w[i-1] == "and" || w[i-1] == "or"):
			return false
		case ambiguous[word] && !leads:
			return false
		case ambiguous[word] && i > 0 && (w[i-1] == "and" || w[i-1] == "or"):
			return false
		}
	}
	return true
}

// Runtime is the kernel's view of a tool: from its annotations or else from its
// name, overridden by the app file. A name or a description that says that it
// destroys outweighs both. The note says where annotations were not believed.
func (d Definition) Runtime(cfg ToolConfig) (r tool.Runtime, note string) {
	r.Network = true
	h := d.hints()
	says := func(hint *bool, want bool) bool { return hint != nil && *hint == want }
	r.Risk, r.SideEffect = riskByName(d.Name)
	leads := words(d.Name)
	destroys, by := len(leads) > 0 && destroying[leads[0]], "name"
	if !destroys && d.destroysBySelf() {
		destroys, by = true, "description"
		r.Risk, r.SideEffect = tool.High, tool.External
	}
	switch {
	case says(h.ReadOnly, true) && destroys:
		note = "its annotations call it read-only, and its " + by + " does not; it counts as destructive"
	case says(h.ReadOnly, true):
		r.Risk, r.SideEffect, r.Idempotent = tool.Low, tool.Read, true
	case says(h.Destructive, true):
		r.Risk, r.SideEffect = tool.High, tool.External
	case says(h.Destructive, false) && destroys:
		note = "its annotations call it harmless, and its " + by + " does not; it counts as destructive"
	case says(h.Destructive, false):
		r.Risk, r.SideEffect = tool.Medium, tool.External
	}
	r.Idempotent = r.Idempotent || r.SideEffect == tool.Read || says(h.Idempotent, true)
	if cfg.Risk != "" {
		r.Risk = cfg.Risk
	}
	if cfg.SideEffect != "" {
		r.SideEffect = cfg.SideEffect
	}
	r.Effects = cfg.Effects
	r.Idempotent = r.Idempotent || cfg.Idempotent
	return r, note
}
