package protocol

import (
	"encoding/json"

	"callgate/tool"
)

// CallRequest is one proposal.
type CallRequest struct {
	// ID names the call, for a client that may have to ask again what became of it:
	// under an ID that was used before the kernel makes no call, and answers with the
	// one that it knows. Empty: the kernel makes one.
	ID     string          `json:"id,omitempty"`
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args,omitempty"`
	Parent string          `json:"parent,omitempty"`
	NoWait bool            `json:"no_wait,omitempty"`
	// ModelChoice names the one model that an LLM-backed tool is to ask, which its definition or its app
	// names, and marks the calls of benchmarks.
	tool.ModelChoice
}

// Tool is a tool as a session sees it, with what its user should know.
type Tool struct {
	tool.Spec
	ID         tool.ID         `json:"id"`
	Wire       string          `json:"wire_name"`
	Signature  string          `json:"signature"`
	Risk       tool.Risk       `json:"risk_level"`
	SideEffect tool.SideEffect `json:"side_effect"`
	Idempotent bool            `json:"idempotent"`
	Policy     string          `json:"policy"` // allow, or approve
	Reason     string          `json:"reason,omitempty"`
	Claims     []tool.Effect   `json:"claims,omitempty"` // what a call claims; told of one tool, not in lists
	LLM        *LLMTool        `json:"llm,omitempty"`    // of an LLM-backed tool; told of one tool, not in lists
}

// LLMTool is what a benchmark must know of an LLM-backed tool.
type LLMTool struct {
	Digest    string   `json:"digest"`            // of its definition: what is measured of another one tells nothing of it
	Threshold float64  `json:"threshold"`         // the score, of 100, that a model must reach to be recommended
	Models    []string `json:"models"`            // that may be asked, as provider/model
	Order     []string `json:"order,omitempty"`   // that are asked for a call which chooses none, one after the other
	Compat    string   `json:"compat,omitempty"`  // the file with what was measured
	Catalog   string   `json:"catalog,omitempty"` // the app's file of models
}

// Search asks for tools by what is meant. Several queries are answered one by
// one; with none, the tools are listed by name.
type Search struct {
	Queries     []string          `json:"queries,omitempty"`
	Modules     []string          `json:"modules,omitempty"`
	Tags        []string          `json:"tags,omitempty"`
	MaxRisk     tool.Risk         `json:"max_risk,omitempty"`
	SideEffects []tool.SideEffect `json:"side_effects,omitempty"`
	Limit       int               `json:"limit,omitempty"`
	Offset      int               `json:"offset,omitempty"`
	Schemas     bool              `json:"schemas,omitempty"` // the tools whole
	Exact       bool              `json:"exact,omitempty"`   // by words, not by meaning; of one module at most
}

// SearchResult is the answer to a Search.
type SearchResult struct {
	Answers   []QueryResult `json:"answers"`
	Unmatched []string      `json:"unmatched,omitempty"` // queries that nothing answers well
	Degraded  string        `json:"degraded,omitempty"`  // why only keywords were compared
}

// QueryResult is what one query found, best first.
type QueryResult struct {
	Query string      `json:"query"`
	Total int         `json:"total"`
	Hits  []SearchHit `json:"hits"`
}

// SearchHit is one tool that was found, and why.
type SearchHit struct {
	Tool
	Score    float64 `json:"score"`
	Semantic float64 `json:"semantic"`
	Why      string  `json:"why,omitempty"`
	Like     string  `json:"like,omitempty"` // the tool's example request that is nearest
}

// Surface is the tools as a model is shown them, what that costs, and why.
type Surface struct {
	Mode            string        `json:"mode"`
	Forced          bool          `json:"forced"`
	Window          int           `json:"window"`
	WindowFrom      string        `json:"window_from"` // flag, model, app, client table, or default
	Budget          int           `json:"budget"`
	ToolTokens      int           `json:"tool_tokens"`      // what direct costs
	CompactTokens   int           `json:"compact_tokens"`   // what compact_direct costs, by the budget's rule
	DiscoveryTokens int           `json:"discovery_tokens"` // what the discovery set costs
	PerTool         []ToolCost    `json:"per_tool"`         // what direct would show, in that order
	Shown           []SurfaceTool `json:"shown"`            // the tool array
	ShownTokens     int           `json:"shown_tokens"`
	Reason          string        `json:"reason"`
	WouldChange     []string      `json:"would_change,omitempty"` // what would change the decision
	Unmatched       []string      `json:"unmatched,omitempty"`    // pinned names and direct modules that do not exist
}

// PlanRequest asks how the model of an agent would be shown the tools.
type PlanRequest struct {
	Workspace string `json:"workspace"`
	AppFile   string `json:"app_file,omitempty"` // default: callgate.yaml in the workspace, when there is one
	Agent     string `json:"agent,omitempty"`    // default: the app's entry_agent
	// WorkspaceNamed says that the user named the workspace.
	WorkspaceNamed bool   `json:"workspace_named,omitempty"`
	Mode           string `json:"mode,omitempty"`   // default: as the app says, else by the budget
	Window         int    `json:"window,omitempty"` // tokens; default: the model's
	Prompt         bool   `json:"prompt,omitempty"` // answer with the prompt too
}

// AgentSurface is the tools as the model of an agent is shown them.
type AgentSurface struct {
	Agent    string   `json:"agent"`
	Provider string   `json:"provider"`
	Model    string   `json:"model"`
	Offline  bool     `json:"offline,omitempty"` // no language model at all
	Native   bool     `json:"native_tools"`      // false: tools are described in the prompt
	ToolsWhy string   `json:"tools_why,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Prompt   *Prompt  `json:"prompt,omitempty"` // if it was asked for
	Surface
}

// ToolCost is the size of one tool's definition.
type ToolCost struct {
	Name   string `json:"name"` // dotted
	Tokens int    `json:"tokens"`
}

// SurfaceTool is one tool as it is shown.
type SurfaceTool struct {
	Name        string          `json:"name"` // wire
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"parameters"`
}
