package protocol

import (
	"encoding/json"
	"time"
)

// RouteTryRules tries rules on recorded calls.
const RouteTryRules = "POST /v1/rules/try"

// TryRules asks what the rules of an app file would make of the calls that a
// folder's sessions made since a time.
type TryRules struct {
	Workspace string    `json:"workspace"`
	File      string    `json:"file"` // an absolute path
	Since     time.Time `json:"since,omitzero"`
}

// RulesReport says what they would make of them.
type RulesReport struct {
	Calls   int            `json:"calls"` // of the folder, that rules decided
	Groups  []RulesGroup   `json:"groups"`
	Unknown map[string]int `json:"unknown,omitempty"` // calls that cannot be judged, by the reason
}

// RulesGroup is calls of one tool that fare alike: run, ask or refuse.
type RulesGroup struct {
	Tool     string         `json:"tool"`
	Before   string         `json:"before"`
	Now      string         `json:"now"`
	Why      string         `json:"why"`
	Count    int            `json:"count"`
	Examples []RulesExample `json:"examples"` // the newest
}

// RulesExample is one call of a group.
type RulesExample struct {
	Call string          `json:"call"`
	Time time.Time       `json:"time"`
	Args json.RawMessage `json:"args,omitempty"`
}
