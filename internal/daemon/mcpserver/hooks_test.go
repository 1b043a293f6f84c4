package mcpserver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel"
)

// A client finds no way around a hook that refuses, by whatever name it calls, and is told what hooks
// tell a model.
func TestClientsMeetHooks(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	ok(t, os.WriteFile(filepath.Join(s.opt.Session.Workspace, "callgate.yaml"), []byte(`
tools:
  builtin: all
  capabilities: {default_policy: auto}
runtime:
  tool_injection: discovery
  hooks:
  - id: guard
    on: tool_start
    condition: {type: expression, expr: tool.params.path endswith ".key"}
    action: {type: block, reason: keys are not for models}
`), 0o600))
	ok(t, os.WriteFile(filepath.Join(s.opt.Session.Workspace, "a.key"), []byte("the-value"), 0o600))
	each(t, func(t *testing.T, w way) {
		c := s.connect(t, w, "claude-code", nil)
		for _, one := range []struct{ name, args string }{
			{"filesystem.read", `{"path":"a.key"}`}, {"filesystem__read", `{"path":"./a.key"}`}, {"Read", `{"file_path":"a.key"}`},
			{"execute_tool", `{"name":"filesystem.read","params":{"path":"a.key"}}`},
			{"execute_tool", `{"name":"Read","params":{"path":"a.key"}}`},
			{"run_parallel", `{"actions":[{"name":"filesystem.read","params":{"path":"a.key"}},{"name":"Read","params":{"path":"a.key"}}]}`},
		} {
			_, said := call(t, c, one.name, one.args)
			if strings.Contains(said, "the-value") || !strings.Contains(said, "keys are not for models") {
				t.Errorf("%s %s: %s", one.name, one.args, said)
			}
		}
	})
}
