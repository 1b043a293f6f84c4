package control

import (
	"strings"

	"callgate/tool"
)

func risk(t *tool.Tool) tool.Risk {
	if t.Runtime.Risk == "" {
		return tool.Medium
	}
	return t.Runtime.Risk
}

func sideEffect(t *tool.Tool) tool.SideEffect {
	if t.Runtime.SideEffect == "" {
		return tool.Write
	}
	return t.Runtime.SideEffect
}

// irreversible reports whether what a call does may not be undone.
func irreversible(t *tool.Tool) bool {
	return sideEffect(t).Durable() && t.Runtime.Risk.Level() == tool.High.Level()
}

func firstOf(words ...string) string {
	for _, w := range words {
		if w = strings.TrimSpace(w); w != "" {
			return w
		}
	}
	return ""
}
