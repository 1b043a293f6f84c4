package search

import (
	"slices"
	"strings"

	"callgate/tool"
)

// The limits of a request.
const (
	DefaultLimit = 5
	MaxLimit     = 200
	MaxQueries   = 20
	maxOffset    = 10_000_000
	maxQuery     = 4000 // bytes of a query that are read
)

// Request asks for tools. Each query has an answer of its own. A request
// without queries lists the catalog by name.
type Request struct {
	Queries []string
	Filter  Filter
	Limit   int // per query; 0 is DefaultLimit
	Offset  int // the number of each query's results to skip
	// Used is the number of recent calls of each tool by the caller, by dotted
	// name. A tool that was used is more likely to be meant again.
	Used map[string]int
	// Mode leaves one half out, to measure the other.
	Mode Mode
}

// Mode says which half of the engine answers.
type Mode int

// The modes.
const (
	Both Mode = iota
	Keywords
	Semantic
)

// Filter narrows a search. The zero value accepts every tool.
type Filter struct {
	Modules     []string          // any of these
	Tags        []string          // any of these
	MaxRisk     tool.Risk         // at most this
	SideEffects []tool.SideEffect // any of these
}

// Response is the answer to a request.
type Response struct {
	Answers []Answer
	// Unmatched are the queries without a good answer. Their answers hold the
	// best tools nevertheless.
	Unmatched []string
	// Degraded says why only keywords were used; empty: meaning was used, too.
	Degraded string
}

// Answer holds the results of one query.
type Answer struct {
	Query string
	Hits  []Hit // best first
	Total int   // the number of results, with those beyond the limit
}

// Hit is one tool that was found, with the reasons.
type Hit struct {
	Tool     *tool.Tool
	Score    float64 // orders the hits of one query; 0 in a request without queries
	Semantic float64 // similarity of the meanings of query and tool, -1 to 1
	Matches  []Match // the words of the query that the tool has
	Like     string  // the example request of the tool that is nearest in meaning; empty: none is nearer than its text
	Private  bool    // Like is the searcher's own, and not for a model that another app names
	Part     string  // the part of a request for several things that found the tool; empty: the whole request did
}

// Match is one word of a query that a tool has.
type Match struct {
	Word  string // as written in the query
	Found string // as written in the tool, if it differs
	Field string // name, alias, tag, description …
	How   string // exact, stem, prefix, typo, synonym …
}

// Passes reports whether the filter accepts a tool.
func (f Filter) Passes(t *tool.Tool) bool {
	inModule := func(module string) bool { return within(t.ID.Namespace, module) }
	if len(f.Modules) > 0 && !slices.ContainsFunc(f.Modules, inModule) {
		return false
	}
	if len(f.Tags) > 0 && !slices.ContainsFunc(f.Tags, func(want string) bool {
		return slices.ContainsFunc(t.Spec.Tags, func(tag string) bool { return strings.EqualFold(tag, want) })
	}) {
		return false
	}
	if f.MaxRisk != "" && t.Runtime.Risk.Level() > f.MaxRisk.Level() {
		return false
	}
	return len(f.SideEffects) == 0 || slices.Contains(f.SideEffects, sideEffect(t))
}

// within reports whether a module is the given one, or a part of it.
func within(module, of string) bool {
	return module == of || strings.HasPrefix(module, of) && len(module) > len(of) && module[len(of)] == '.'
}

// sideEffect is the side effect of a tool, or the default.
func sideEffect(t *tool.Tool) tool.SideEffect {
	if t.Runtime.SideEffect == "" {
		return tool.Write
	}
	return t.Runtime.SideEffect
}

// open reports whether the filter accepts every tool.
func (f Filter) open() bool {
	return len(f.Modules) == 0 && len(f.Tags) == 0 && f.MaxRisk == "" && len(f.SideEffects) == 0
}
