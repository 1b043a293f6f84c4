package importer

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/importer/configtree"
	"callgate/internal/importer/translate"
)

// client is what is known of one program's configs.
type client struct {
	name    string
	project []string // its files below a project's folder
	user    []string // its files of the user, below a root
	keys    []string // where it looks for servers; the first is where they belong
	also    []string // where people write them by mistake
	toml    bool
	syntax  translate.Syntax
	fields  func(Entry) []configtree.Field // how it writes a server
	where   string                         // its files, for people
}

// root is a folder of the user's files: ~ is the home folder, @config the XDG
// one, @support the system's folder for the settings of programs, and @local the
// second such folder of Windows. A variable can move the others.
func (e Env) root(name string) string {
	home := func(parts ...string) string {
		if e.Home == "" {
			return ""
		}
		return filepath.Join(append([]string{e.Home}, parts...)...)
	}
	switch {
	case name == "~":
		return e.Home
	case name == "@support" && e.GOOS == "darwin":
		return home("Library", "Application Support")
	case name == "@support" && e.GOOS == "windows":
		return cmp.Or(e.Getenv("APPDATA"), home("AppData", "Roaming"))
	case name == "@config" || name == "@support":
		return e.Config
	case name == "@local" && e.GOOS == "windows":
		return cmp.Or(e.Getenv("LOCALAPPDATA"), home("AppData", "Local"))
	case name == "@claude":
		return cmp.Or(e.Getenv("CLAUDE_CONFIG_DIR"), e.Home)
	case name == "@codex":
		return cmp.Or(e.Getenv("CODEX_HOME"), home(".codex"))
	case name == "@copilot":
		return cmp.Or(e.Getenv("COPILOT_HOME"), home(".copilot"))
	case name == "@opencode":
		return e.Getenv("OPENCODE_CONFIG")
	}
	return ""
}

// generic is any file that names servers in one of the usual ways.
const generic = "mcp.json"

// registry is a server.json of the MCP registry.
const registry = "registry"

func clients() []client {
	return []client{
		{name: "claude-code", project: []string{".mcp.json"}, user: []string{"@claude/.claude.json"},
			keys: []string{"mcpServers", "servers"}, fields: plainEntry,
			where: ".mcp.json in the project, or ~/.claude.json for all projects"},
		{name: "claude-desktop", user: []string{"@support/Claude/claude_desktop_config.json"},
			keys: []string{"mcpServers"}, also: []string{"servers"}, fields: plainEntry,
			where: "claude_desktop_config.json in ~/Library/Application Support/Claude (macOS), %APPDATA%\\Claude " +
				"(Windows) or ~/.config/Claude (Linux)"},
		{name: "cursor", project: []string{".cursor/mcp.json"}, user: []string{"~/.cursor/mcp.json"},
			keys: []string{"mcpServers"}, also: []string{"servers"}, fields: plainEntry,
			where: ".cursor/mcp.json in the project, or ~/.cursor/mcp.json for all projects"},
		{name: "vscode", project: []string{".vscode/mcp.json"},
			user: []string{"@support/Code/User/mcp.json", "@support/Code - Insiders/User/mcp.json"},
			keys: []string{"servers"}, also: []string{"mcpServers"}, fields: typedEntry("stdio"),
			where: ".vscode/mcp.json in the project, or the file that the command \"MCP: Open User Configuration\" opens"},
		{name: "codex", project: []string{".codex/config.toml"}, user: []string{"@codex/config.toml"},
			keys: []string{"mcp_servers"}, toml: true, fields: codexEntry,
			where: "~/.codex/config.toml, or .codex/config.toml in a project that it trusts"},
		{name: "opencode",
			project: []string{"opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"},
			user:    []string{"@config/opencode/opencode.json", "@config/opencode/opencode.jsonc", "@opencode"},
			keys:    []string{"mcp", "mcp.servers"}, also: []string{"mcpServers"}, syntax: translate.BracesEnv,
			fields: commandListEntry,
			where:  "opencode.json in the project, or ~/.config/opencode/opencode.json for all projects"},
		{name: "gemini-cli", project: []string{".gemini/settings.json"}, user: []string{"~/.gemini/settings.json"},
			keys: []string{"mcpServers"}, syntax: translate.BareDollar, fields: plainEntry,
			where: ".gemini/settings.json in the project, or ~/.gemini/settings.json for all projects"},
		{name: "qwen-code", project: []string{".qwen/settings.json"}, user: []string{"~/.qwen/settings.json"},
			keys: []string{"mcpServers"}, syntax: translate.BareDollar, fields: plainEntry,
			where: ".qwen/settings.json in the project, or ~/.qwen/settings.json for all projects"},
		{name: "crush", project: []string{".crush.json", "crush.json"},
			user: []string{"@config/crush/crush.json", "@local/crush/crush.json"}, keys: []string{"mcp"},
			also: []string{"mcpServers"}, syntax: translate.BareDollar | translate.Commands, fields: typedEntry("stdio"),
			where: "crush.json in the project, or ~/.config/crush/crush.json for all projects"},
		{name: "copilot", user: []string{"@copilot/mcp-config.json"}, keys: []string{"mcpServers"},
			also: []string{"servers"}, syntax: translate.BareDollar, fields: toolsEntry,
			where: "~/.copilot/mcp-config.json"},
		{name: "windsurf", user: []string{"~/.codeium/windsurf/mcp_config.json"}, keys: []string{"mcpServers"},
			also: []string{"servers"}, fields: plainEntry,
			where: "~/.codeium/windsurf/mcp_config.json"},
		{name: generic, project: []string{"mcp.json"}, keys: []string{"mcpServers", "servers", "mcp.servers", "mcp"},
			fields: plainEntry,
			where:  "the file where your client keeps its MCP servers"},
	}
}

// Clients lists the programs whose configs are known.
func Clients() []string {
	var names []string
	for _, c := range clients() {
		names = append(names, c.name)
	}
	return names
}

func clientOf(s Source) client {
	name := s.Client
	if name == generic && strings.EqualFold(filepath.Ext(s.Path), ".toml") {
		name = "codex"
	}
	var otherwise client
	for _, c := range clients() {
		if c.name == name {
			return c
		}
		otherwise = c
	}
	return otherwise // the generic one
}

// path is where the servers of a file are, or belong, and whether the client
// looks there.
func (c client) path(root *configtree.Value, s Source, goos string) (path []string, own bool) {
	if s.Folder != "" && c.name == "claude-code" {
		return []string{"projects", folderKey(root, s.Folder, goos), "mcpServers"}, true
	}
	deeper := nested(root.Get("mcp"))
	for i, key := range slices.Concat(c.keys, c.also) {
		path := strings.Split(key, ".")
		v := root
		for _, name := range path {
			v = v.Get(name)
		}
		if v != nil && !(key == "mcp" && deeper) && !(key == "mcp.servers" && !deeper) {
			return path, i < len(c.keys)
		}
	}
	return []string{c.keys[0]}, true
}

// nested reports whether the servers are one level deeper, below mcp.servers, and
// servers is not the name of a server.
func nested(mcp *configtree.Value) bool {
	in := mcp.Get("servers")
	isServer := in.Get("type") != nil || in.Get("command") != nil || in.Get("url") != nil
	return in != nil && in.Kind == configtree.Object && !isServer
}

// folderKey is the name that a folder has among the projects of a file.
func folderKey(root *configtree.Value, folder, goos string) string {
	projects := root.Get("projects")
	if projects == nil || projects.Kind != configtree.Object {
		return folder
	}
	clean := func(path string) string {
		path = strings.TrimRight(filepath.ToSlash(path), "/")
		if goos == "windows" {
			path = strings.ToLower(strings.ReplaceAll(path, `\`, "/"))
		}
		return path
	}
	wanted := []string{clean(folder)}
	if real, err := filepath.EvalSymlinks(folder); err == nil { // some clients write that one
		wanted = append(wanted, clean(real))
	}
	for _, m := range projects.Members {
		if slices.Contains(wanted, clean(m.Name)) {
			return m.Name
		}
	}
	return folder
}
