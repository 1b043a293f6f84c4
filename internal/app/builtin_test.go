package app_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/agent/surface"
	"callgate/internal/app"
)

// TestBuiltin reads which modules MCP clients are given.
func TestBuiltin(t *testing.T) {
	t.Parallel()
	known := app.KnownModules{"shell": {}, "database": {}}
	for _, c := range []struct {
		name, text string
		want       surface.Builtin
		mistake    string
	}{
		{"nothing said", "app: {name: a}\n", surface.Builtin{Choice: "auto"}, ""},
		{"modules named", "tools: {modules: {shell: }}\n", surface.Builtin{Choice: "all"}, ""},
		{"none", "tools: {builtin: none, modules: {shell: }}\n", surface.Builtin{Choice: "none"}, ""},
		{"auto", "tools: {builtin: auto, modules: {shell: }}\n", surface.Builtin{Choice: "auto"}, ""},
		{"some", "tools: {builtin: [database]}\n", surface.Builtin{Modules: []string{"database"}}, ""},
		{"an empty list", "tools: {builtin: []}\n", surface.Builtin{Modules: []string{}}, ""},
		{"with a runtime block behind it", "tools: {builtin: none}\nruntime: {tool_injection: direct}\n", surface.Builtin{Choice: "none"}, ""},
		{"with a runtime block before it", "runtime: {tool_injection: direct}\ntools: {builtin: none}\n", surface.Builtin{Choice: "none"}, ""},
		{"no such word", "tools: {builtin: nothing}\n", surface.Builtin{}, "write auto, all or none"},
		{"no such module", "tools: {builtin: [shel]}\n", surface.Builtin{}, "shel"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, err := app.Parse("f", []byte(c.text), known)
			if c.mistake != "" {
				if err == nil || !strings.Contains(err.Error(), c.mistake) {
					t.Fatalf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, a.Surface.Builtin); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
