package app

import (
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
)

// ServerModule is the module of a server's tools.
func ServerModule(server string) string { return servers.Module(server) }

// isServer reports whether a module is that of one of these servers.
func isServer(all []Server, module string) bool { return servers.Has(all, module) }

// readServers reads tools.modules.mcp.
func (b *moduleBlock) readServers(e node.Entry) {
	r := b.WithSecrets()
	b.Mapping(levelModule, e, map[string]node.Read{
		"config": func(in node.Entry) {
			r.Mapping(levelConfig, in, map[string]node.Read{
				"servers": func(in node.Entry) { b.servers = servers.Read(r, in) },
			})
		},
	})
}
