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

// Request asks for tools. Several queries are answered one by one; with none,
// the catalog is browsed by name.
type Request struct {
	Queries []string
	Filter  Filter
	Limit   int // per query; 0 is DefaultLimit
	Offset  int // how many of each query's results to pass over
	// Used is how often the reader called a tool of late, by dotted name: what
	// was useful once is likely to be meant again.
	Used map[string]int
	// Half leaves one half out, to see what each is worth.
	Half Mode
}

// Mode is which half of the engine answers.
type Mode int

// The halves.
const (
	Both Mode = iota
	Keywords
	Semantic
)

// Filter narrows a search. The zero value lets everything pass.
type Filter struct {
	Modules     []string          // any of these
	Tags        []string          // any of these
	MaxRisk     tool.Risk         // at most this
	SideEffects []tool.SideEffect // any of these
}

// Response is the answer to a request.
type Response struct {
	Answers []Answer
	// Unmatched are the queries that nothing answers well. What was found for
	// them is in their answers all the same.
	Unmatched []string
	// Degraded says why keywords alone were looked at; empty: they were not.
	Degraded string
}

// Answer is what one query found.
type Answer struct {
	Query string
	Hits  []Hit // best first
	Total int   // how many there are in all
}

// Hit is one tool that was found, and why.
type Hit struct {
	Tool     *tool.Tool
	Score    float64 // orders the hits of one query; browsing gives 0
	Semantic float64 // how near query and tool are in meaning, -1 to 1
	Matches  []Match // which words of the query the tool has
}

// Match is one word of a query that a tool has.
type Match struct {
	Word  string // as it stands in the query
	Found string // as it stands in the tool, when it differs
	Field string // where: name, alias, tag, description …
	How   string // exact, stem, prefix, typo, synonym …
}

// Passes reports whether a tool is let through.
func (f Filter) Passes(t *tool.Tool) bool {
	if len(f.Modules) > 0 && !slices.ContainsFunc(f.Modules, func(m string) bool { return within(t.ID.Namespace, m) }) {
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

// within reports whether a module is another, or part of it.
func within(module, of string) bool {
	return module == of || strings.HasPrefix(module, of) && len(module) > len(of) && module[len(of)] == '.'
}

// sideEffect is a tool's side effect with its default spelled out.
func sideEffect(t *tool.Tool) tool.SideEffect {
	if t.Runtime.SideEffect == "" {
		return tool.Write
	}
	return t.Runtime.SideEffect
}

// open reports whether a filter lets everything pass.
func (f Filter) open() bool {
	return len(f.Modules) == 0 && len(f.Tags) == 0 && f.MaxRisk == "" && len(f.SideEffects) == 0
}
