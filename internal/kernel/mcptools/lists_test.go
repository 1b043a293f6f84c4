package mcptools_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

// A list of what can be read comes where the tool that reads runs unasked, and nowhere else.
func TestListsFollowTheRulesOfReading(t *testing.T) {
	t.Parallel()
	k, s := open(t, "  capabilities:\n    default_policy: auto\n    grant: [{module: mcp}]\n"+
		"    approve: [{module: mcp_my-notes, actions: [resources]}, {module: mcp_letters, actions: [prompts]}]\n")
	kerneltest.AcceptServers(t, k, s)
	wants(t, call(t, s, "mcp.list_resources", `{"server":"my-notes"}`), tool.Refused, "mcp_my-notes.resources", "approve")
	wants(t, call(t, s, "mcp.list_prompts", `{"server":"letters"}`), tool.Refused, "mcp_letters.prompts", "approve")
}

func TestListsFollowTheSettingsOfReading(t *testing.T) {
	t.Parallel()
	for name, setting := range map[string]string{"risk": "{risk: high}", "off": "{enabled: false}"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			notes := kerneltest.NewServer(t, "my-notes", map[string]string{"touch": "Touches."})
			k := kerneltest.Open(t, kerneltest.StateDir(t))
			w := kerneltest.AppWithServers(t,
				"  capabilities: {default_policy: auto, max_risk_level: medium, grant: [{module: mcp}]}\n", notes)
			file := filepath.Join(w, "callgate.yaml")
			text, err := os.ReadFile(file)
			kerneltest.OK(t, err)
			kerneltest.Write(t, file, strings.Replace(string(text), "isolation: contained,",
				"isolation: contained, tools: {resources: "+setting+"},", 1))
			s := kerneltest.OpenAccepted(t, k, w)
			kerneltest.AcceptServers(t, k, s)
			wants(t, call(t, s, "mcp.list_resources", `{"server":"my-notes"}`), tool.Refused, "do not let you read")
		})
	}
}
