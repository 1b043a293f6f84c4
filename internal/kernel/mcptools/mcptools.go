// Package mcptools is the module mcp: the MCP servers of an app, as tools.
//
// # Law
//
//   - The tools show and reach the servers that the app files name, as far as the session sees something of them. None
//     adds a server, accepts one or logs in to one: a server runs when a human accepted it, and not before.
//   - call_tool, read_resource and get_prompt decide nothing: each makes one call of the server's own tool, which goes
//     through the gate under that tool's name, with its rules, its approval, its locks and its record.
//   - A server belongs to all its users: it is not stopped while calls of it are under way.
//
// The module is off unless a rule of the app grants it, or something of it: a server's tools are tools of the app
// anyway.
package mcptools

import (
	"context"
	_ "embed"
	"time"

	"callgate/internal/kernel/servers"
	"callgate/internal/kernel/session"
	"callgate/internal/module"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "mcp"

// Options is what the tools need of the kernel.
type Options struct {
	Servers *servers.Set
	Session func(id string) (*session.Session, error)
}

var (
	//go:embed connect.md
	connectDoc string
	//go:embed disconnect.md
	disconnectDoc string
	//go:embed reconnect.md
	reconnectDoc string
	//go:embed list_servers.md
	listServersDoc string
	//go:embed list_tools.md
	listToolsDoc string
	//go:embed call_tool.md
	callToolDoc string
	//go:embed list_resources.md
	listResourcesDoc string
	//go:embed read_resource.md
	readResourceDoc string
	//go:embed list_prompts.md
	listPromptsDoc string
	//go:embed get_prompt.md
	getPromptDoc string
	//go:embed health.md
	healthDoc string
)

const (
	noInput     = `{"type": "object", "additionalProperties": false}`
	serverParam = `"server": {"type": "string", "minLength": 1, "maxLength": 100, "description": "The server's name, as list_servers has it."}`
	serverInput = `{"type": "object", "properties": {` + serverParam + `}, "required": ["server"], "additionalProperties": false}`
	anyServer   = `{"type": "object", "properties": {` + serverParam + `}, "additionalProperties": false}`

	callInput = `{"type": "object", "properties": {` + serverParam + `,
  "tool": {"type": "string", "minLength": 1, "maxLength": 200, "description": "The tool, as list_tools or the server names it."},
  "arguments": {"type": "object", "description": "What the tool takes."}
}, "required": ["server", "tool"], "additionalProperties": false}`
	readInput = `{"type": "object", "properties": {` + serverParam + `,
  "uri": {"type": "string", "minLength": 1, "maxLength": 4000, "description": "The resource, as list_resources has it."}
}, "required": ["server", "uri"], "additionalProperties": false}`
	promptInput = `{"type": "object", "properties": {` + serverParam + `,
  "name": {"type": "string", "minLength": 1, "maxLength": 200, "description": "The prompt, as list_prompts has it."},
  "arguments": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Values for its arguments."}
}, "required": ["server", "name"], "additionalProperties": false}`
)

// Tools makes the tools of the module.
func Tools(o Options) []*tool.Tool {
	h := &handlers{o}
	looks := tool.Runtime{Risk: tool.Low, SideEffect: tool.None, Idempotent: true}
	asks := tool.Runtime{Risk: tool.Low, SideEffect: tool.None, Idempotent: true, Network: true, Timeout: 2 * time.Minute}
	acts := tool.Runtime{Risk: tool.Medium, SideEffect: tool.External, Network: true, Timeout: 5 * time.Minute}
	own := tool.Runtime{Risk: tool.Low, SideEffect: tool.None, Control: true, Timeout: 24 * time.Hour}
	var all []*tool.Tool
	for _, d := range []module.Definition{
		{Name: "list_servers", Doc: listServersDoc, Input: noInput, Runtime: looks, Handler: h.handle(h.listServers)},
		{Name: "health", Doc: healthDoc, Input: anyServer, Runtime: looks, Handler: h.handle(h.health)},
		{Name: "list_tools", Doc: listToolsDoc, Input: serverInput, Runtime: looks, Handler: h.handle(h.listTools)},
		{Name: "list_resources", Doc: listResourcesDoc, Input: serverInput, Runtime: asks, Handler: h.handle(h.listResources)},
		{Name: "list_prompts", Doc: listPromptsDoc, Input: serverInput, Runtime: asks, Handler: h.handle(h.listPrompts)},
		{Name: "connect", Doc: connectDoc, Input: serverInput, Runtime: acts, Handler: h.handle(h.connect)},
		{Name: "disconnect", Doc: disconnectDoc, Input: serverInput, Runtime: acts, Handler: h.handle(h.disconnect)},
		{Name: "reconnect", Doc: reconnectDoc, Input: serverInput, Runtime: acts, Handler: h.handle(h.reconnect)},
		{Name: "call_tool", Doc: callToolDoc, Input: callInput, Runtime: own, Handler: forwarder{h, callTarget}},
		{Name: "read_resource", Doc: readResourceDoc, Input: readInput, Runtime: own, Handler: forwarder{h, readTarget}},
		{Name: "get_prompt", Doc: getPromptDoc, Input: promptInput, Runtime: own, Handler: forwarder{h, promptTarget}},
	} {
		d.Aliases, d.Tags = aliases[d.Name], []string{"mcp", "server", "serveur", "servidor", "サーバー"}
		d.Runtime.ParamAliases = paramAliases
		all = append(all, d.Tool(Namespace))
	}
	return all
}

// paramAliases are what other programs call the parameters.
var paramAliases = []tool.ParamAlias{
	{Name: "server_id", Param: "server", Weak: true}, {Name: "server_name", Param: "server", Weak: true},
	{Name: "tool_name", Param: "tool", Weak: true}, {Name: "args", Param: "arguments", Weak: true},
	{Name: "params", Param: "arguments", Weak: true},
}

var aliases = map[string][]string{
	"list_servers": {
		"mcp_servers", "which MCP servers are there", "lister les serveurs MCP", "MCP-Server auflisten",
		"listar servidores MCP", "列出 MCP 服务器",
	},
	"health": {
		"mcp_health", "is the MCP server running", "état du serveur MCP", "Zustand des MCP-Servers",
		"estado del servidor MCP", "MCP 服务器状态",
	},
	"list_tools": {
		"mcp_tools", "tools of an MCP server", "outils d'un serveur MCP", "Werkzeuge eines MCP-Servers",
		"herramientas de un servidor MCP",
	},
	"list_resources": {
		"mcp_resources", "resources of an MCP server", "ressources d'un serveur MCP",
		"Ressourcen eines MCP-Servers", "recursos de un servidor MCP",
	},
	"list_prompts": {
		"mcp_prompts", "prompts of an MCP server", "modèles de prompt d'un serveur MCP",
		"Prompts eines MCP-Servers",
	},
	"connect": {
		"mcp_connect", "start an MCP server", "connecter un serveur MCP", "MCP-Server verbinden",
		"conectar un servidor MCP", "连接 MCP 服务器",
	},
	"disconnect": {
		"mcp_disconnect", "stop an MCP server", "déconnecter un serveur MCP", "MCP-Server trennen",
		"desconectar un servidor MCP",
	},
	"reconnect": {
		"mcp_reconnect", "restart an MCP server", "reconnecter un serveur MCP", "MCP-Server neu starten",
		"reiniciar un servidor MCP",
	},
	"call_tool": {
		"mcp_call", "call a tool of an MCP server", "appeler un outil MCP", "MCP-Werkzeug aufrufen",
		"llamar una herramienta MCP",
	},
	"read_resource": {
		"mcp_read", "read a resource of an MCP server", "lire une ressource MCP", "MCP-Ressource lesen",
		"leer un recurso MCP",
	},
	"get_prompt": {
		"mcp_prompt", "fill in a prompt of an MCP server", "obtenir un prompt MCP", "MCP-Prompt holen",
	},
}

// handlers answer the tools.
type handlers struct{ Options }

// request is a call, as the handlers need it.
type request struct {
	op      string
	session *session.Session
	servers servers.Scoped
}

func (h *handlers) open(call tool.Call) (request, error) {
	s, err := h.Session(call.Principal.Session)
	if err != nil {
		return request{}, err
	}
	return request{call.Tool.Dotted(), s, h.Servers.In(s.Loaded().Scope)}, nil
}

type serverName struct{ Server string }

// handle reads a call.
func (h *handlers) handle(run func(context.Context, request, serverName) (*tool.Result, error)) tool.Handler {
	return tool.HandlerFunc(func(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
		in, err := module.Args[serverName](call.Tool.Dotted(), call)
		if err != nil {
			return nil, err
		}
		r, err := h.open(call)
		if err != nil {
			return nil, err
		}
		return run(ctx, r, in)
	})
}
