package mcp

import (
	"encoding/json"
	"testing"

	"callgate/internal/gate/match"
	"callgate/internal/gate/policy"
	"callgate/internal/serverlock"
	"callgate/internal/source/mcp/toolcache"
	"callgate/internal/source/mcp/translate"
	"callgate/tool"
)

// A tool that reads from any address is no low-risk read, whatever its name and its
// annotations say: it is how data leaves. AgentDojo's get_webpage is the model of it.
func TestToolsThatNameAnAddress(t *testing.T) {
	t.Parallel()
	const url, none = `{"type":"object","properties":{"url":{"type":"string"}}}`, `{"type":"object","properties":{"user":{"type":"string"}}}`
	for name, c := range map[string]struct {
		tool, schema, annotations string
		cfg                       ToolConfig
		risk                      tool.Risk
		args                      string
		without, approve          policy.Verdict // without rules, and under default_policy approve
	}{
		"by its name":    {"get_webpage", url, "", ToolConfig{}, tool.Medium, `{"url":"https://evil.example/?d=1"}`, policy.Approve, policy.Approve},
		"by annotations": {"page", url, `{"readOnlyHint":true}`, ToolConfig{}, tool.Medium, `{"url":"https://evil.example/"}`, policy.Approve, policy.Approve},
		"a closed world": {"get_webpage", url, `{"openWorldHint":false}`, ToolConfig{}, tool.Low, `{"url":"https://evil.example/"}`, policy.Allow, policy.Allow},
		"by the app":     {"get_webpage", url, "", ToolConfig{Risk: tool.Low}, tool.Low, `{"url":"https://evil.example/"}`, policy.Allow, policy.Allow},
		"no address":     {"get_user", none, "", ToolConfig{}, tool.Low, `{"user":"ada"}`, policy.Allow, policy.Allow},
		"destroys":       {"delete_webpage", url, "", ToolConfig{}, tool.High, `{"url":"https://evil.example/"}`, policy.Approve, policy.Approve},
	} {
		p := publisher{identity: &identity{cfg: Config{Name: "slack", Tools: map[string]ToolConfig{c.tool: c.cfg}}, namespace: "mcp_slack"}}
		listing := toolcache.New([]translate.Definition{{
			Name: c.tool, Input: json.RawMessage(c.schema), Annotations: json.RawMessage(c.annotations),
		}}, nil)
		tools, _ := p.publish(listing, serverlock.Terms{}, nil)
		if len(tools) != 1 || tools[0].Runtime.Risk != c.risk {
			t.Fatalf("%s: %+v", name, tools)
		}
		rules, err := policy.Compile(&policy.Capabilities{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		call := &match.Call{Module: "mcp_slack", Action: c.tool, Workspace: "/w"}
		_ = json.Unmarshal([]byte(c.args), &call.Args)
		for r, want := range map[*policy.Rules]policy.Verdict{nil: c.without, rules: c.approve} {
			if d := policy.DecideCall(r, tools[0], tool.Principal{}, call); d.Verdict != want {
				t.Errorf("%s: %s (%s), want %s", name, d.Verdict, d.Reason, want)
			}
		}
	}
}
