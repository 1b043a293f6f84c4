package kernel_test

import (
	"slices"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/toolview"
)

// The tools by which an agent keeps its memory, has agents work for it and changes files
// that are reviewed are in the list of every mode, as seeds 000 and 001 say. The tutorial of
// seed 002 shows the five discovery tools alone: that is runtime.primitives none. An MCP
// client is not told to use them, and finds them.
func TestOperationalToolsAreDirect(t *testing.T) {
	t.Parallel()
	const app = "app: {app_id: bot}\ntools:\n  capabilities: {default_policy: auto}\n" +
		"  modules: {filesystem: {}, memory: {}, agent_spawn: {}, workspace: {}, web: {}, shell: {}}\n"
	direct := []string{
		"memory__set_goal", "memory__task_create", "memory__task_update", "memory__remember", "agent_spawn__agent",
		"workspace__write", "workspace__read", "workspace__edit", "workspace__delete", "workspace__glob", "workspace__grep",
	}
	five := []string{"search_tools", "get_tool", "execute_tool", "list_categories", "browse_category"}
	for name, c := range map[string]struct {
		app    string
		config toolview.SurfaceConfig
		has    []string // whole
		only   bool     // and nothing else
	}{
		"discovery":                    {app, toolview.SurfaceConfig{Mode: "discovery"}, slices.Concat(five, direct), false},
		"compact":                      {app, toolview.SurfaceConfig{Mode: "compact_direct"}, direct, false},
		"direct":                       {app, toolview.SurfaceConfig{Mode: "direct"}, direct, false},
		"the five alone":               {app + "runtime: {primitives: none}\n", toolview.SurfaceConfig{Mode: "discovery"}, five, true},
		"an MCP client":                {app, toolview.SurfaceConfig{Mode: "discovery", ForMCP: true}, five, false},
		"not those that are not there": {"app: {app_id: bare}\ntools: {modules: {web: {}}}\n", toolview.SurfaceConfig{Mode: "discovery"}, five, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openPrimitives(t, c.app)
			plan, err := s.View().Surface(t.Context(), c.config)
			kerneltest.OK(t, err)
			var whole []string
			for _, e := range plan.Shown {
				if strings.Contains(string(e.Schema), "properties") {
					whole = append(whole, e.Name)
				}
			}
			for _, want := range c.has {
				if !slices.Contains(whole, want) {
					t.Errorf("%s is not there whole: %s", want, whole)
				}
			}
			if c.only && len(whole) != len(c.has) {
				t.Errorf("%s", whole)
			}
			others := !slices.Contains(c.has, direct[0]) || c.config.ForMCP
			if others && slices.ContainsFunc(whole, func(n string) bool { return slices.Contains(direct, n) }) {
				t.Errorf("%s", whole)
			}
			if c.config.Mode == "discovery" && slices.Contains(whole, "filesystem__read") {
				t.Errorf("what is found is shown: %s", whole)
			}
		})
	}
}
