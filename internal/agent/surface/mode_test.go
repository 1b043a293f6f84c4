package surface_test

import (
	"fmt"
	"strings"
	"testing"

	"callgate/internal/agent/surface"
)

func TestDecideThresholds(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ window, direct, compact int }{
		{8_000, 8, 53},
		{32_000, 32, 213},
		{60_000, 60, 400},
		{128_000, 128, 853},
		{200_000, 200, 1_333},
	} {
		for total, want := range map[int]surface.Mode{
			0:               surface.Direct,
			1:               surface.Direct,
			row.direct:      surface.Direct,
			row.direct + 1:  surface.CompactDirect,
			row.compact:     surface.CompactDirect,
			row.compact + 1: surface.Discovery,
			20_000:          surface.Discovery,
		} {
			if got := surface.Decide(row.window, 0, total); got != want {
				t.Errorf("a window of %d and %d tools: %s, want %s", row.window, total, got, want)
			}
			// The same through a plan of tools without a known definition.
			items := make([]surface.Item, total)
			for i := range items {
				items[i].Wire = fmt.Sprint("t", i)
			}
			p := surface.New(items, control(), surface.Config{Window: row.window})
			if p.Mode != want || p.ToolTokens != 200*total || p.CompactTokens != 30*total {
				t.Errorf("a plan for a window of %d and %d names: %s, %d and %d tokens",
					row.window, total, p.Mode, p.ToolTokens, p.CompactTokens)
			}
		}
	}
}

func TestDecideByRealSize(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		window, tokens, total int
		want                  surface.Mode
	}{
		"exactly the budget":                 {10_000, 2_000, 3, surface.Direct},
		"one token more":                     {10_000, 2_001, 3, surface.CompactDirect},
		"a window not divisible by five":     {10_004, 2_000, 3, surface.Direct},
		"the same with one token more":       {10_004, 2_001, 3, surface.CompactDirect},
		"one tool with a long description":   {8_000, 1_601, 1, surface.CompactDirect},
		"many small tools within the budget": {8_000, 1_600, 80, surface.Direct},
		"many small tools beyond the budget": {8_000, 1_601, 80, surface.Discovery},
	} {
		if got := surface.Decide(c.window, c.tokens, c.total); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestWindowComesFromAppClientOrDefault(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg    surface.Config
		window int
		from   string
	}{
		"no setting":              {surface.Config{}, 8_000, "default"},
		"the app's setting":       {surface.Config{Window: 64_000, Client: "codex-mcp-client", ForMCP: true}, 64_000, "app"},
		"Claude Code":             {surface.Config{Client: "claude-code"}, 200_000, "client table"},
		"through a bridge":        {surface.Config{Client: "claude-ai (via mcp-remote 0.1.37)"}, 200_000, "client table"},
		"Codex":                   {surface.Config{Client: "codex-mcp-client"}, 272_000, "client table"},
		"Cursor, not VS Code":     {surface.Config{Client: "cursor-vscode"}, 200_000, "client table"},
		"VS Code":                 {surface.Config{Client: "Visual Studio Code"}, 128_000, "client table"},
		"VS Code with dashes":     {surface.Config{Client: "Visual-Studio-Code"}, 128_000, "client table"},
		"Copilot":                 {surface.Config{Client: "GitHub-Copilot"}, 128_000, "client table"},
		"Gemini CLI":              {surface.Config{Client: "gemini-cli-mcp-client"}, 1_000_000, "client table"},
		"opencode":                {surface.Config{Client: "opencode"}, 200_000, "client table"},
		"an unknown client":       {surface.Config{Client: "somebody"}, 128_000, "client table"},
		"a client without a name": {surface.Config{ForMCP: true}, 128_000, "client table"},
		"a negative window":       {surface.Config{Window: -5}, 8_000, "default"},
		"another prefix":          {surface.Config{Client: "not-claude"}, 128_000, "client table"},
	} {
		p := surface.New(nil, nil, c.cfg)
		if p.Window != c.window || p.WindowFrom != c.from || p.Budget != c.window/5 {
			t.Errorf("%s: %d from %s with a budget of %d, want %d from %s",
				name, p.Window, p.WindowFrom, p.Budget, c.window, c.from)
		}
	}
}

func TestForcedMode(t *testing.T) {
	t.Parallel()
	items := []surface.Item{item("fs.read", "Reads a file.", anyObject), item("fs.write", "Writes a file.", anyObject)}
	for mode, want := range map[surface.Mode]string{
		surface.Direct:        "fs__read fs__write",
		surface.CompactDirect: "get_tool execute_tool fs__read fs__write",
		surface.Discovery:     "search_tools get_tool execute_tool list_categories browse_category",
	} {
		// A window in which every other mode would have been calculated.
		for _, window := range []int{10, 400, 100_000} {
			p := surface.New(items, control(), surface.Config{Window: window, Force: mode, ForMCP: true})
			if p.Mode != mode || !p.Forced || shown(p) != want || len(p.WouldChange) > 0 {
				t.Errorf("forced %s: %s shows %q and would change with %q", mode, p.Mode, shown(p), p.WouldChange)
			}
			calculated := surface.Decide(window, p.ToolTokens, 2)
			if !strings.Contains(p.Reason, "would say "+string(calculated)) {
				t.Errorf("the reason is %q, the calculation says %s", p.Reason, calculated)
			}
		}
	}
	p := surface.New(items, control(), surface.Config{Force: "sideways"})
	if p.Forced || p.Mode != surface.Direct || !strings.Contains(p.Reason, `"sideways" is no mode`) {
		t.Errorf("an unknown mode forced %s: %s", p.Mode, p.Reason)
	}
}
