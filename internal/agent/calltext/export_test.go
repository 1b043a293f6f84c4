package calltext

import "callgate/llm"

// ParseCuts is Parse, and also returns the positions of the markup of the calls.
func ParseCuts(text string, known func(string) bool) (visible string, calls []llm.ToolCall, cuts [][2]int) {
	p := Parser{Known: known}
	visible = p.Write(text)
	rest, calls, cuts := p.close()
	return visible + rest, calls, cuts
}
