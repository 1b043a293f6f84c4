package conversation_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/conversation"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/toolview"
	"callgate/tool"
)

const previewApp = `agents:
  - {id: plain}
  - {id: small, modules: [{filesystem: [read]}], brain: {provider: anthropic, model: claude-sonnet-4-5, config: {api_key: x}}}
  - {id: narrow, brain: {provider: openai, model: m, config: {api_key: x}, context: {max_tokens: 9000}}}
`

// A preview shows what a conversation with the same agent shows its model.
func TestPreviewIsWhatAConversationShows(t *testing.T) {
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := t.TempDir()
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), previewApp)
	kerneltest.AcceptApp(t, k, kerneltest.OpenSession(t, k, folder))
	for _, agent := range []string{"", "plain", "small", "narrow"} {
		spec := conversation.Spec{Workspace: folder, Agent: agent}
		made, err := k.Conversations.Preview(t.Context(), spec, toolview.SurfaceConfig{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := k.Conversations.Open(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.Model(), made.Model); diff != "" || made.Agent != c.Agent().ID {
			t.Errorf("agent %q: %s", made.Agent, diff)
		}
		want, _ := json.MarshalIndent(c.Plan(), "", " ")
		got, _ := json.MarshalIndent(made.Plan, "", " ")
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("agent %q (-conversation +preview):\n%s", agent, diff)
		}
		c.Close()
	}
}

// A preview needs no key and no consent, and leaves no conversation behind.
func TestPreviewOpensNothing(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := t.TempDir()
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), `agents:
  - {id: main, brain: {provider: anthropic, model: claude-sonnet-4-5}}
  - {id: far, brain: {provider: openai, model: m, config: {base_url: "https://models.example.com/v1"}}}
  - {id: small, brain: {provider: anthropic, model: claude-sonnet-4-5, context: {max_tokens: 50000}}}
`)
	for _, c := range []struct {
		agent  string
		config toolview.SurfaceConfig
		window int
		from   string
	}{
		{"main", toolview.SurfaceConfig{}, 200_000, "model"},
		{"main", toolview.SurfaceConfig{Window: 32_000, WindowFrom: "flag"}, 32_000, "flag"},
		{"far", toolview.SurfaceConfig{}, 8_000, "default"},
		{"small", toolview.SurfaceConfig{}, 50_000, "app"},
	} {
		made, err := k.Conversations.Preview(t.Context(), conversation.Spec{Workspace: folder, Agent: c.agent}, c.config)
		if err != nil {
			t.Fatal(err)
		}
		if made.Plan.Window != c.window || made.Plan.WindowFrom != c.from {
			t.Errorf("%s: the window is %d (%s), want %d (%s)",
				c.agent, made.Plan.Window, made.Plan.WindowFrom, c.window, c.from)
		}
	}
	if list, err := k.Conversations.List(t.Context(), 0); err != nil || len(list) > 0 {
		t.Errorf("it leaves %v (%v)", list, err)
	}
	_, err := k.Conversations.Preview(t.Context(), conversation.Spec{Workspace: folder, Agent: "nobody"}, toolview.SurfaceConfig{})
	if tool.KindOf(err) != tool.NotFound || !strings.Contains(err.Error(), "main, far, small") {
		t.Errorf("an agent that does not exist: %v", err)
	}
}

// A preview is what the first request holds, also with the tools of servers: the system
// text, the tools and the note beside the user's words.
func TestPreviewIsWhatIsSent(t *testing.T) {
	t.Parallel()
	for _, brain := range [][]string{
		{"anthropic", "claude-sonnet-4-5"}, {"openai", "gpt-4o"}, {"openai", "gpt-4o", "native_tool_use: false"},
	} {
		for _, mode := range []string{"direct", "compact_direct", "discovery"} {
			model := kerneltest.NewModel(t, kerneltest.Answer{Calls: []string{`memory__upsert {"key":"k","content":"c"}`}})
			hub := kerneltest.NewServer(t, "hub", map[string]string{"get_issue": "One issue.", "set_label": "Labels."})
			folder := kerneltest.AppWithServers(t, "  capabilities: {default_policy: auto}\nruntime: {tool_injection: "+mode+
				"}\nagents: [{id: main, brain: "+model.Brain(brain[0], brain[1], brain[2:]...)+"}]\n", hub)
			k := kerneltest.Open(t, kerneltest.StateDir(t))
			kerneltest.AcceptServers(t, k, kerneltest.OpenAccepted(t, k, folder))
			made, err := k.Conversations.Preview(t.Context(), conversation.Spec{Workspace: folder}, toolview.SurfaceConfig{})
			ok(t, err)
			talk := kerneltest.OpenConversation(t, k, folder)
			if diff := cmp.Diff(made.System, talk.Presentation().System); diff != "" {
				t.Errorf("%s %v (-preview +conversation):\n%s", mode, brain, diff)
			}
			kerneltest.Send(t, talk, "go")
			got := parseSent(t, model.Asked()[0])
			if diff := cmp.Diff(systemText(t, got.system), made.System.Text()); diff != "" {
				t.Errorf("%s %v (-sent +preview):\n%s", mode, brain, diff)
			}
			for _, def := range made.Tools {
				if !strings.Contains(got.tools, `"name":"`+def.Name+`"`) {
					t.Errorf("%s %v: %s is not sent", mode, brain, def.Name)
				}
			}
			if n := strings.Count(got.tools, `"description":`); made.Tools == nil && got.tools != "" || n < len(made.Tools) {
				t.Errorf("%s %v: %d tools are planned: %s", mode, brain, len(made.Tools), got.tools)
			}
			if after := talk.Presentation(); after.System.Text() != made.System.Text() {
				t.Errorf("%s %v: a conversation says another system text than it sends", mode, brain)
			}
			talk.Close()
		}
	}
}

// systemText reads the system text of a request in either form.
func systemText(t *testing.T, raw string) string {
	t.Helper()
	var message struct{ Content string }
	var blocks []struct{ Text string }
	if json.Unmarshal([]byte(raw), &message) == nil {
		return message.Content
	}
	if err := json.Unmarshal([]byte(raw), &blocks); err != nil || len(blocks) != 1 {
		t.Fatalf("%v: %s", err, raw)
	}
	return blocks[0].Text
}
