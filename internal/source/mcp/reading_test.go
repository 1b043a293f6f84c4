package mcp_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/gate/schema"
	"callgate/internal/source/mcp"
	"callgate/tool"
)

func TestReadingTools(t *testing.T) {
	t.Parallel()
	s, byName := refreshed(t, local("normal"), mcp.Options{})
	for _, c := range []struct{ name, args, want string }{
		{"resources", `{"uri":"file:///a.txt"}`, `{"contents":[{"uri":"file:///a.txt","text":"resource text"}]}`},
		{"prompts", `{"name":"greet","arguments":{"who":"Ada"}}`,
			`{"messages":[{"content":{"type":"text","text":"hello Ada"},"role":"user"}]}`},
		{"prompts", `{"name":"greet"}`, `{"messages":[{"content":{"type":"text","text":"hello "},"role":"user"}]}`},
	} {
		x := byName[c.name]
		if x == nil {
			t.Fatalf("there is no tool %s", c.name)
		}
		r, err := call(t.Context(), x, c.args)
		if err != nil {
			t.Fatal(err)
		}
		got := withoutFields(t, r.Data, "_meta", "resultType", "ttlMs", "cacheScope")
		if got != c.want {
			t.Errorf("%s gave %s; want %s", c.name, got, c.want)
		}
		if r.Status != tool.Success || len(r.Content) != 0 || r.Error != nil {
			t.Errorf("%s ended with %s, %v", c.name, r.Status, r.Error)
		}
		if want := fmt.Sprintf("mcp_actor.%s: %d bytes of data", c.name, len(r.Data)); r.Summary != want {
			t.Errorf("the summary is %q", r.Summary)
		}
	}
	_, err := call(t.Context(), byName["resources"], `{"uri":"file:///none"}`)
	expectError(t, err, tool.Failed, "the MCP server actor refuses resources/read")
	if st := s.Status(); st.Calls != 4 || st.Failures != 1 || st.Tools != 10 {
		t.Errorf("status %+v", st)
	}
	for name, x := range byName {
		reads := name == "resources" || name == "prompts"
		if x.Runtime.FoundOnly != reads || slices.Contains(x.Spec.Tags, "reading") != reads {
			t.Errorf("%s: found only %v, tags %v", name, x.Runtime.FoundOnly, x.Spec.Tags)
		}
		if reads && (x.Runtime.Risk != tool.Low || x.Runtime.SideEffect != tool.Read || !x.Runtime.Idempotent || !x.Runtime.Network) {
			t.Errorf("%s has %+v", name, x.Runtime)
		}
		if _, err := schema.Compile(x.Spec.Input); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// withoutFields is JSON without some fields of its object, as text.
func withoutFields(t *testing.T, raw json.RawMessage, fields ...string) string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	for _, f := range fields {
		delete(m, f)
	}
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestReadingNeedsAName(t *testing.T) {
	t.Parallel()
	_, byName := refreshed(t, local("normal"), mcp.Options{})
	for _, c := range []struct{ name, args, says string }{
		{"resources", `{}`, "mcp_actor.resources does not say what to read"},
		{"resources", `{"uri":7}`, "uri must be text, and is a number"},
		{"resources", ``, "do not fit mcp_actor.resources"},
		{"prompts", `{"arguments":{}}`, "mcp_actor.prompts does not say what to read"},
		{"prompts", `{"name":"greet","arguments":{"who":7}}`, "must be text, and is a number"},
	} {
		_, err := call(t.Context(), byName[c.name], c.args)
		expectError(t, err, tool.Invalid, c.says)
	}
}

// Only what a server is known to have can be read.
func TestReadingToolsFollowTheCapabilities(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind               string
		resources, prompts bool
	}{{"normal", true, true}, {"legacy", true, true}, {"old", false, false}} {
		_, byName := refreshed(t, local(c.kind), mcp.Options{})
		if (byName["resources"] != nil) != c.resources || (byName["prompts"] != nil) != c.prompts {
			t.Errorf("%s has %v and %v", c.kind, byName["resources"], byName["prompts"])
		}
	}
}

// A server cannot take the names: its own tools that are called so get others.
func TestReadingNamesAreReserved(t *testing.T) {
	t.Parallel()
	cfg := local("impostor")
	cfg.Tools = map[string]mcp.ToolConfig{"resources": {Risk: tool.High}}
	s, byName := refreshed(t, cfg, mcp.Options{})
	if byName["prompts"] != nil {
		t.Error("a server without prompts has a tool with the reserved name")
	}
	r, err := call(t.Context(), byName["resources"], `{"uri":"file:///a.txt"}`)
	if err != nil || !strings.Contains(string(r.Data), "the real one") {
		t.Errorf("reading gave %+v, %v", r, err)
	}
	if risk := byName["resources"].Runtime.Risk; risk != tool.Low {
		t.Errorf("a setting for the server's own tool makes reading %s", risk)
	}
	for ours, theirs := range s.UpstreamNames() {
		if theirs != "resources" && theirs != "prompts" {
			continue
		}
		r, err := call(t.Context(), byName[ours], "")
		if got := textOf(t, r, err); got != "called "+theirs || !strings.HasPrefix(ours, theirs+"_") {
			t.Errorf("%s, which the server calls %s, said %q", ours, theirs, got)
		}
		if theirs == "resources" && byName[ours].Runtime.Risk != tool.High {
			t.Errorf("%s has the risk %s", ours, byName[ours].Runtime.Risk)
		}
	}
}

func TestReadingCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	cfg := local("normal")
	cfg.Tools = map[string]mcp.ToolConfig{"resources": {Off: true}, "prompts": {Risk: tool.Medium}}
	s, byName := refreshed(t, cfg, mcp.Options{})
	if byName["resources"] != nil || byName["prompts"].Runtime.Risk != tool.Medium {
		t.Errorf("resources %v, prompts %+v", byName["resources"], byName["prompts"].Runtime)
	}
	if p := s.Problems(); len(p) != 0 {
		t.Errorf("problems %v", p)
	}
}

// A server that asks while it is read asks the client of the call.
func TestReadingAsksTheClientOfTheCall(t *testing.T) {
	t.Parallel()
	c := &client{about: able(), answer: always(&sdk.ElicitResult{Action: "accept", Content: map[string]any{"it": "Ada"}})}
	_, byName := refreshed(t, local("asking"), c.options())
	for _, x := range []struct{ name, args string }{{"prompts", `{"name":"asks"}`}, {"resources", `{"uri":"asks://it"}`}} {
		r, err := call(t.Context(), byName[x.name], x.args)
		if err != nil || !strings.Contains(string(r.Data), "told Ada") {
			t.Errorf("%s gave %+v, %v", x.name, r, err)
		}
	}
	for _, calls := range c.calls {
		if !slices.Equal(calls, []string{"call-1"}) {
			t.Errorf("the client was looked for by %v", calls)
		}
	}
}
