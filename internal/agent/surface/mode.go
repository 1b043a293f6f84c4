package surface

import (
	"cmp"
	"strings"
)

// Mode is the form in which tools are shown.
type Mode string

// The modes, the fullest first.
const (
	Direct        Mode = "direct"
	CompactDirect Mode = "compact_direct"
	Discovery     Mode = "discovery"
)

// Valid reports whether m is one of the three modes.
func (m Mode) Valid() bool { return m == Direct || m == CompactDirect || m == Discovery }

// The numbers of the decision.
const (
	budgetShare    = 5   // the budget is a fifth of the window: 20 %
	fallbackTokens = 200 // a tool whose definition is not known
	compactTokens  = 30  // a name and one line
	bytesPerToken  = 4
)

// Decide returns the fullest mode whose tokens are within a fifth of the window.
// Tools without a known definition (toolTokens is zero) count 200 each.
func Decide(window, toolTokens, total int) Mode {
	if toolTokens == 0 {
		toolTokens = total * fallbackTokens
	}
	switch budget := window / budgetShare; {
	case toolTokens <= budget:
		return Direct
	case total*compactTokens <= budget:
		return CompactDirect
	default:
		return Discovery
	}
}

// The windows of readers that do not state theirs.
const (
	defaultWindow = 8_000   // an app without a setting
	unknownClient = 128_000 // an MCP client that is not in the table
)

// The sources of a plan's window.
const (
	FromFlag    = "flag"  // the reader's own wish
	FromModel   = "model" // what is known of the agent's model
	FromApp     = "app"
	fromClient  = "client table"
	fromDefault = "default"
)

// knownClient is an MCP client whose name is known.
type knownClient struct {
	prefix string
	window int  // 0: not known
	coding bool // it has tools of its own for files and commands
}

// knownClients lists MCP clients by the beginning of their name, in lower case,
// letters and digits only, with their context windows. The protocol does not name
// the model, so this is the window of the client's default models, and the smaller
// one if in doubt: showing less at first is better than filling the window. An app
// can set another window.
var knownClients = [...]knownClient{
	{"claudecode", 200_000, true},       // claude-code, without a 1M window (anthropics/claude-code#84310, #11281)
	{"claude", 200_000, false},          // claude-ai: the desktop app
	{"codex", 272_000, true},            // codex-mcp-client: 400k less 128k of output (openai/codex#19306)
	{"cursor", 200_000, true},           // cursor-vscode: reported by users outside of Max Mode, not by Cursor
	{"visualstudiocode", 128_000, true}, // most models of Copilot (microsoft/vscode#283194)
	{"vscode", 128_000, true},           // the same
	{"githubcopilot", 128_000, true},    // the same
	{"copilot", 128_000, true},          // the same
	{"gemini", 1_000_000, true},         // gemini-cli-mcp-client: Gemini's models have 1,048,576
	{"opencode", 200_000, true},         // accepts any model; assumed: the window of Claude's models
	{"qwen", 0, true},                   // Qwen Code
	{"zed", 0, true},
	{"windsurf", 0, true},
	{"cline", 0, true},
	{"roocode", 0, true},
	{"kilocode", 0, true},
	{"goose", 0, true},
	{"crush", 0, true},
	{"continue", 0, true},
	{"amp", 0, true},
	{"kiro", 0, true},
	{"junie", 0, true},
}

// clientNamed finds a client by the name that it gives itself.
func clientNamed(name string) (knownClient, bool) {
	name = strings.Map(func(r rune) rune {
		switch {
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		}
		return -1
	}, name)
	for _, known := range knownClients {
		if strings.HasPrefix(name, known.prefix) {
			return known, true
		}
	}
	return knownClient{}, false
}

// window returns the reader's context window, and its source.
func (c *Config) window() (tokens int, from string) {
	switch {
	case c.Window > 0:
		return c.Window, cmp.Or(c.WindowFrom, FromApp)
	case c.Client == "" && !c.ForMCP:
		return defaultWindow, fromDefault
	}
	known, _ := clientNamed(c.Client)
	return cmp.Or(known.window, unknownClient), fromClient
}
