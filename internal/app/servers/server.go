// Package servers is the MCP servers of an app file: what a file may say of them,
// and how it is read.
package servers

import (
	"slices"
	"strings"
	"time"

	"callgate/internal/serverlock"
	"callgate/tool"
)

// ModulePrefix is what the modules of servers begin with: the tools of a server are
// the module mcp_<name>.
const ModulePrefix = "mcp_"

// Module is the module of a server's tools.
func Module(server string) string { return ModulePrefix + strings.ReplaceAll(server, "-", "_") }

// Has reports whether a module is that of one of these servers.
func Has(servers []Server, module string) bool {
	return slices.ContainsFunc(servers, func(s Server) bool { return Module(s.Name) == module })
}

// Server is an MCP server behind an app. Texts may hold {{secret.X}}, which is
// resolved when the server is started.
type Server struct {
	Name         string
	Command      string
	Args         []string
	Env          map[string]string
	Dir          string // that it works for; of a URL: of the project that names it; the kernel adds it
	InWorkspace  bool   // it starts there, and not in a folder of its own
	URL          string
	Transport    string // stdio, http or sse; empty: by command or url
	Protocol     string // the version of MCP; empty: the newest that it knows
	Headers      map[string]string
	OAuth        *OAuth
	Timeout      time.Duration // of a call; 0: the default
	StartTimeout time.Duration
	Concurrency  int
	EnvAllow     []string // variables of the kernel's environment that it gets
	Pin          bool     // nothing of it is shown before a human accepted it
	Tools        map[string]Tool
	Locks        []serverlock.Line // what its calls lock; it goes before a ready map
	Isolation    Isolation         // of a command
	Origin
}

// Origin is what no file says of a server: where it was read. The kernel adds it.
type Origin struct {
	FromUser   bool // it is in the user's own file
	Everywhere bool // Dir is not the file's choice: it works in the folder of each session's project
	// Hide takes values of the environment out of texts about it.
	Hide func(text string) string `json:"-"`
}

// Isolation is what a server that is a command is kept from.
type Isolation struct {
	Mode     string   // contained, sandboxed or none; empty: by where the file comes from
	Network  bool     // a sandboxed one has the network
	Readable []string // files and folders that it sees too
	Writable []string // that it may write too
}

// OAuth is what a login at a remote server needs.
type OAuth struct {
	ClientID     string
	ClientSecret string
	Issuer       string
	CallbackPort int
	Scopes       []string
}

// Tool is what the app says about one tool of a server. It goes before
// what the server says.
type Tool struct {
	Risk       tool.Risk
	SideEffect tool.SideEffect
	Effects    []tool.Effect
	Idempotent bool
	Off        bool
}
