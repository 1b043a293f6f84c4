package app

import (
	"callgate/internal/app/apis"
	"callgate/internal/app/node"
	"callgate/internal/app/servers"
)

// mcpModule is the module whose config names the MCP servers.
const mcpModule = "mcp"

// What an app file says of MCP servers.
type (
	Server       = servers.Server
	Isolation    = servers.Isolation
	OAuth        = servers.OAuth
	ServerTool   = servers.Tool
	ServerOrigin = servers.Origin
	API          = apis.API // whose OpenAPI document becomes tools
)

// ServerModule is the module of a server's tools.
func ServerModule(server string) string { return servers.Module(server) }

// isOutside reports whether a module is that of a server or an API of an app.
func isOutside(a *App, module string) bool {
	return servers.Has(a.Servers, module) || apis.Has(a.APIs, module)
}

// readConfig reads a module whose config has one key.
func (b *moduleBlock) readConfig(e node.Entry, key string, read node.Read) {
	b.Mapping(levelModule, e, map[string]node.Read{
		"config": func(in node.Entry) { b.Mapping(levelConfig, in, map[string]node.Read{key: read}) },
	})
}
