package callgate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"callgate/internal/app"
	"callgate/internal/source/mcp/trust"
	"callgate/tool"
)

// What an app file has done by itself, without anybody calling: its setup
// steps, and an endpoint that is told of the tools. A folder may come from a
// stranger, so a human sees and accepts exactly that first, as with the command
// of an MCP server; until then it is left out, and said to be.

// consentLine is what an app does by itself, as a human is shown it. Secrets
// are references in it.
func consentLine(a *app.App) []string {
	var line []string
	for _, m := range a.Modules {
		for _, step := range m.Setup {
			params, _ := json.Marshal(step.Params) // it came from a file
			line = append(line, "call "+m.Name+"."+step.Action+" "+string(params))
		}
	}
	if e := a.Search.Endpoint; e.URL != "" {
		text := "send the texts of the tools, and searches, to " + e.URL
		if e.Key != "" {
			text += " with the key " + e.Key
		}
		line = append(line, text)
	}
	return line
}

func consentKey(a *app.App) string {
	sum := sha256.Sum256([]byte(a.Path))
	return "app-" + hex.EncodeToString(sum[:6])
}

// consented reports whether a human accepted what an app does by itself.
func (k *Kernel) consented(a *app.App) bool {
	line := consentLine(a)
	return len(line) == 0 || k.trust.MayLaunch(consentKey(a), line) == nil
}

// Unaccepted is what the session's app would do by itself and nobody has
// accepted yet, for a human to see; empty when there is nothing.
func (s *Session) Unaccepted() string {
	if s.App == nil || s.kernel.consented(s.App) {
		return ""
	}
	return trust.Shell(consentLine(s.App))
}

// accept takes a human's yes to what the app does by itself.
func (s *Session) accept(shown, by string) error {
	const op = "callgate.Trust"
	if s.App == nil {
		return tool.Errorf(op, tool.NotFound, "this session has no app file")
	}
	line := consentLine(s.App)
	if now := trust.Shell(line); len(line) == 0 || now != shown {
		return tool.Errorf(op, tool.Conflict, "the app file now does something else than was shown: %s", now).WithHint("look at it again")
	}
	return s.kernel.trust.AcceptLaunch(consentKey(s.App), line, by)
}
