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
	if tool.KindOf(err) != tool.NotFound || !strings.Contains(err.Error(), "main, far") {
		t.Errorf("an agent that does not exist: %v", err)
	}
}
