package surface

import (
	"cmp"
	"strings"
)

// Mode is how tools are shown.
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

// Decide is the decision itself: the fullest mode whose tokens are within a
// fifth of the window. Tools of which no definition is known (no tokens, yet
// some in number) count 200 each.
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

// Windows of readers that do not tell theirs.
const (
	defaultWindow = 8_000   // an app that says nothing
	unknownClient = 128_000 // an MCP client that the table does not know
)

// Where a plan's window is from.
const (
	FromFlag    = "flag"  // the reader's own wish
	FromModel   = "model" // what is known of the agent's model
	fromApp     = "app"
	fromClient  = "client table"
	fromDefault = "default"
)

// clientWindows are the context windows of MCP clients, by the beginning of
// the name they introduce themselves with, in lower case and without what is
// not a letter or a digit. The protocol does not tell the model, so this is
// the window of the models that the client offers by default, and the smaller
// one in doubt: the mistake is then to show less at first, not to fill the
// window. An app that knows better says so.
var clientWindows = [...]struct {
	begins string
	window int
}{
	{"claude", 200_000},           // claude-code, claude-ai: where a 1M window is not in use (anthropics/claude-code#84310, #11281)
	{"codex", 272_000},            // codex-mcp-client: 400k less 128k of output (openai/codex#19306)
	{"cursor", 200_000},           // cursor-vscode: as users report it outside of Max Mode; not Cursor's own word
	{"visualstudiocode", 128_000}, // Visual Studio Code: Copilot's model list, for most models (microsoft/vscode#283194)
	{"vscode", 128_000},           // the same
	{"githubcopilot", 128_000},    // the same
	{"copilot", 128_000},          // the same
	{"gemini", 1_000_000},         // gemini-cli-mcp-client: Gemini's models have 1,048,576
	{"opencode", 200_000},         // takes any model: an assumption, the window of Claude's models
}

// window is the reader's context window, and where that is from.
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
		if strings.HasPrefix(name, known.begins) {
			return known.window, fromClient
		}
	}
	return unknownClient, fromClient
}
