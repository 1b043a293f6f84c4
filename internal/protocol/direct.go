package protocol

import (
	"encoding/json"

	"callgate/tool"
)

// The routes of tools for clients over the network that open no session: theirs is one for each folder and
// app file that they name, with ?workspace= and ?app=.
const (
	RouteDirectTools   = "GET /v1/tools"
	RouteDirectTool    = "GET /v1/tools/{name}"
	RouteDirectSearch  = "POST /v1/tools/search"
	RouteDirectFind    = "POST /v1/tools/find"
	RouteDirectCall    = "POST /v1/tools/{name}/call"
	RouteDirectSurface = "GET /v1/surface"
	RouteDirectServers = "GET /v1/servers"
)

// RouteDocument gives the OpenAPI document of what is served over the network.
const RouteDocument = "GET /v1/openapi.json"

// DirectCall is a CallRequest whose tool is named in the path.
type DirectCall struct {
	ID     string          `json:"id,omitempty"`
	Name   string          `json:"name,omitempty"` // as the path has it
	Args   json.RawMessage `json:"args,omitempty"`
	Parent string          `json:"parent,omitempty"`
	NoWait bool            `json:"no_wait,omitempty"`
	tool.ModelChoice
}
