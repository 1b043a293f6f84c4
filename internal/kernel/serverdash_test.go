package kernel_test

import (
	"encoding/json"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// A rule about a server with a dash in its name holds however either is spelled.
func TestRulesOfAServerWithADash(t *testing.T) {
	t.Parallel()
	for rules, allowed := range map[string]bool{
		"  capabilities: {default_policy: auto}\n":                                 true,
		"  capabilities: {default_policy: auto, deny: [{module: mcp_my_notes}]}\n": false,
		"  capabilities: {default_policy: auto, deny: [{module: mcp_my-notes}]}\n": false,
	} {
		notes := kerneltest.NewServer(t, "my-notes", map[string]string{"greet": "Greets."})
		k := kerneltest.Open(t, kerneltest.StateDir(t))
		s := kerneltest.OpenAccepted(t, k, kerneltest.AppWithServers(t, rules, notes))
		kerneltest.AcceptServers(t, k, s)
		for _, name := range []string{"mcp_my_notes.greet", "mcp_my-notes.greet"} {
			r := s.Call(t.Context(), session.CallRequest{Name: name, Args: json.RawMessage(`{}`), NoWait: true})
			if (r.Status == tool.Success) != allowed {
				t.Errorf("%s%s: %s %v", rules, name, r.Status, r.Error)
			}
		}
	}
}
