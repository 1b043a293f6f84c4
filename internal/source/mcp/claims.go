package mcp

import (
	"encoding/json"
	"maps"
	"slices"

	"callgate/internal/serverlock"
	"callgate/tool"
)

// claim puts what the calls of a tool claim into its runtime view, and returns what
// is wrong with the locks that the app file gives it. A lock with a mode for changes
// says that the tool changes something, whatever its server says.
func claim(r *tool.Runtime, terms serverlock.Terms, input json.RawMessage, names ...string) []string {
	c := terms.Of(serverlock.Tool{Names: names, Input: input, Changes: r.SideEffect.Durable(), Said: r.Effects})
	if r.Effects = c.Effects; c.Changes && !r.SideEffect.Durable() {
		r.SideEffect = tool.External
	}
	return c.Notes
}

// unusedLocks are the lines of the app file's locks that name no tool of the server.
func unusedLocks(terms serverlock.Terms, byUpstream map[string]string) []Problem {
	if len(terms.Lines) == 0 {
		return nil
	}
	known := [][]string{{resourcesTool}, {promptsTool}}
	for _, upstream := range slices.Sorted(maps.Keys(byUpstream)) {
		known = append(known, []string{upstream, byUpstream[upstream]})
	}
	var problems []Problem
	for _, pattern := range terms.Unused(known) {
		problems = append(problems, Problem{
			Tool: pattern, Message: "the app file says what it locks, and the server does not have it",
		})
	}
	return problems
}
