package protocol

import (
	"encoding/json"
	"time"
)

// The routes of lasting grants.
const (
	RouteGrants           = "GET /v1/grants"
	RouteGrant            = "GET /v1/grants/{id}"
	RouteKeepGrant        = "POST /v1/grants"
	RouteRevokeGrants     = "POST /v1/grants/revoke"
	RouteGrantSuggestions = "GET /v1/grants/suggestions"
)

// Choice is a way in which a yes to an approval may last.
type Choice struct {
	Text       string          `json:"text"`  // as a human is shown it
	Match      json.RawMessage `json:"match"` // the pattern over the arguments
	Exact      bool            `json:"exact,omitempty"`
	Everywhere bool            `json:"everywhere,omitempty"`
	App        string          `json:"app,omitempty"` // the ID of the app for which it counts at every node
}

// Remember says that a yes lasts.
type Remember struct {
	Choice int       `json:"choice"`          // of the approval's choices, from 1
	Until  time.Time `json:"until,omitzero"`  // zero: until it is revoked
	Grant  string    `json:"grant,omitempty"` // the lasting grant; the kernel sets it
}

// Grant is a lasting grant: a human's yes that is kept.
type Grant struct {
	ID       string          `json:"id"`
	Tool     string          `json:"tool"` // dotted
	Text     string          `json:"text"` // as the human was shown it
	Match    json.RawMessage `json:"match"`
	Exact    bool            `json:"exact,omitempty"`    // it means one call
	Folder   string          `json:"folder,omitempty"`   // empty: everywhere
	App      string          `json:"app,omitempty"`      // the ID of the app for which it counts at every node
	AppFile  string          `json:"app_file,omitempty"` // of a tool that an app brings
	Until    time.Time       `json:"until,omitzero"`
	Made     time.Time       `json:"made"`
	By       string          `json:"by,omitempty"`
	Approval string          `json:"approval,omitempty"` // that was answered with it
	Uses     GrantUses       `json:"uses,omitzero"`
}

// GrantUses is what a lasting grant has let through.
type GrantUses struct {
	Count int       `json:"count"`
	Last  time.Time `json:"last,omitzero"`
	Calls []string  `json:"calls,omitempty"` // the last of them, newest last
}

// GrantSuggestion is a pattern whose calls a human approved again and again, and never denied.
type GrantSuggestion struct {
	Grant    Grant             `json:"grant"` // what would be kept
	Approved int               `json:"approved"`
	Last     time.Time         `json:"last"`
	Examples []json.RawMessage `json:"examples"` // arguments, the newest first
}

// KeepGrant makes a lasting grant that a human was shown.
type KeepGrant struct {
	Grant Grant  `json:"grant"`
	By    string `json:"by,omitempty"`
}

// RevokeGrants revokes lasting grants.
type RevokeGrants struct {
	IDs []string `json:"ids"`
	By  string   `json:"by,omitempty"`
}
