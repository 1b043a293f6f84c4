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
	fromApp     = "app"
	fromClient  = "client table"
	fromDefault = "default"
)

// clientWindows lists the context windows of MCP clients by the beginning of their
// name, in lower case, letters and digits only. The protocol does not name the
// model, so this is the window of the client's default models, and the smaller one
// if in doubt: showing less at first is better than filling the window. An app can
// set another window.
var clientWindows = [...]struct {
	prefix string
	window int
}{
	{"claude", 200_000},           // claude-code, claude-ai, without a 1M window (anthropics/claude-code#84310, #11281)
	{"codex", 272_000},            // codex-mcp-client: 400k less 128k of output (openai/codex#19306)
	{"cursor", 200_000},           // cursor-vscode: reported by users outside of Max Mode, not by Cursor
	{"visualstudiocode", 128_000}, // most models of Copilot (microsoft/vscode#283194)
	{"vscode", 128_000},           // the same
	{"githubcopilot", 128_000},    // the same
	{"copilot", 128_000},          // the same
	{"gemini", 1_000_000},         // gemini-cli-mcp-client: Gemini's models have 1,048,576
	{"opencode", 200_000},         // accepts any model; assumed: the window of Claude's models
}

// window returns the reader's context window, and its source.
func (c *Config) window() (tokens int, from string) {
	switch {
	case c.Window > 0:
		return c.Window, cmp.Or(c.WindowFrom, fromApp)
	case c.Client == "" && !c.ForMCP:
		return defaultWindow, fromDefault
	}
	name := strings.Map(func(r rune) rune {
		switch {
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		}
		return -1
	}, c.Client)
	for _, known := range clientWindows {
		if strings.HasPrefix(name, known.prefix) {
			return known.window, fromClient
		}
	}
	return unknownClient, fromClient
}
