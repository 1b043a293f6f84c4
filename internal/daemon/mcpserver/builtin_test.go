package mcpserver_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/agent/surface"
	"callgate/internal/kernel"
)

// TestBuiltinForClients shows which of the shipped modules a client is given: a
// coding agent none, unless its user or the app says so, and any other all.
func TestBuiltinForClients(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		name, client string
		app          string
		flag         surface.Builtin
		want         string // the modules that the instructions name
	}{
		{name: "coding agent, no app file", client: "claude-code"},
		{name: "another coding agent", client: "codex-mcp-client"},
		{name: "unknown client, no app file", client: "someone", want: "filesystem shell"},
		{name: "coding agent, flag all", client: "claude-code", flag: surface.Builtin{Choice: "all"}, want: "filesystem shell"},
		{name: "coding agent, flag names one", client: "claude-code", flag: surface.Builtin{Modules: []string{"shell"}}, want: "shell"},
		{name: "unknown client, flag none", client: "someone", flag: surface.Builtin{Choice: "none"}},
		{name: "the app names modules", client: "claude-code", app: "tools: {modules: {filesystem: }}", want: "filesystem"},
		{name: "the app says none", client: "someone", app: "tools: {builtin: none}"},
		{name: "the app says one", client: "claude-code", app: "tools: {builtin: [shell]}", want: "shell"},
		{name: "the flag wins", client: "claude-code", app: "tools: {builtin: all}", flag: surface.Builtin{Choice: "none"}},
		{name: "no flag gives what is off", client: "claude-code", app: "tools: {modules: {filesystem: }}", flag: surface.Builtin{Choice: "all"}, want: "filesystem"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t, kernel.Config{})
			if c.app != "" {
				ok(t, os.WriteFile(filepath.Join(s.opt.Session.Workspace, "callgate.yaml"), []byte(c.app+"\n"), 0o600))
			}
			s.opt.Builtin, s.opt.Mode = c.flag, "direct"
			session := s.connect(t, ways[i%len(ways)], c.client, nil)
			list, err := session.ListTools(t.Context(), nil)
			ok(t, err)
			var names []string
			for _, one := range list.Tools {
				names = append(names, one.Name)
			}
			says := session.InitializeResult().Instructions
			for module, tool := range map[string]string{"filesystem": "filesystem__read", "shell": "shell__bash"} {
				want := slices.Contains(strings.Fields(c.want), module)
				if slices.Contains(names, tool) != want {
					t.Errorf("%s is shown: %v, in %v", tool, !want, names)
				}
				_, offered, _ := strings.Cut(says, "these are offered: ")
				if strings.Contains(offered, module) != want {
					t.Errorf("the instructions say of %s: %s", module, says)
				}
				if res, text := call(t, session, tool, `{}`); !want && !strings.Contains(text, "there is no tool") {
					t.Errorf("%s answers %v %s", tool, res.IsError, text)
				}
			}
			if !slices.Contains(names, "demo__add") {
				t.Errorf("what is no module of ours is gone too: %v", names)
			}
			if none := "are not offered here"; strings.Contains(says, none) != (c.want == "") {
				t.Errorf("%s", says)
			}
		})
	}
}
