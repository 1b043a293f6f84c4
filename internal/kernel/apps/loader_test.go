package apps_test

import (
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

func TestEachSessionHasItsAppsRules(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t),
		kerneltest.NewTool(t, "team.search", tool.Runtime{Risk: tool.Low, SideEffect: tool.Read}, nil),
		kerneltest.NewTool(t, "wiki.search", tool.Runtime{Risk: tool.Low, SideEffect: tool.Read}, nil),
		kerneltest.NewTool(t, "team.purge", tool.Runtime{Risk: tool.High, SideEffect: tool.Write}, nil))
	plain, ruled, without, broken := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	write(
		t,
		filepath.Join(ruled, "callgate.yaml"),
		"tools:\n  modules:\n    filesystem:\n      constraints:\n        allowed_actions: [read]\n  capabilities:\n    default_policy: auto\n    deny:\n      - module: team\n",
	)
	write(
		t,
		filepath.Join(without, "callgate.yaml"),
		"tools:\n  modules: {}\n  capabilities:\n    default_policy: auto\n    hidden_modules: [team]\n",
	)
	write(t, filepath.Join(broken, "callgate.yaml"), "tools:\n  modles: {}\n")

	if got := kerneltest.ToolNames(t, kerneltest.OpenSession(t, k, plain)); !strings.Contains(got, "filesystem.write=allow") ||
		!strings.Contains(got, "team.purge=approve") {
		t.Errorf("without an app file: %s", got)
	}
	if got := kerneltest.ToolNames(t, kerneltest.OpenAccepted(t, k, ruled)); got != "filesystem.read=allow wiki.search=allow" {
		t.Errorf("with rules: %s", got)
	}
	if got := kerneltest.ToolNames(t, kerneltest.OpenAccepted(t, k, without)); got != "wiki.search=allow" {
		t.Errorf("with no modules: %s", got)
	}
	_, err := k.OpenSession(t.Context(), session.Spec{Workspace: broken})
	if tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), "callgate.yaml:2:3") || !strings.Contains(err.Error(), "modules") {
		t.Errorf("a broken app file: %v", err)
	}
	for _, bad := range []string{"", filepath.Join(plain, "nowhere")} {
		if _, err := k.OpenSession(t.Context(), session.Spec{Workspace: bad}); tool.KindOf(err) != tool.Invalid {
			t.Errorf("workspace %q: %v", bad, err)
		}
	}
	if _, err := k.Requester(0, "guessed"); tool.KindOf(err) != tool.Denied {
		t.Errorf("a guessed key: %v", err)
	}
}

// What would keep a model from being asked is said when the app is opened, and so is
// a key that stands in the file.
func TestModelsAreChecked(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	for name, c := range map[string]struct{ brain, want string }{
		"a misspelt provider":   {"{provider: antropic, model: m}", "antropic"},
		"no such credential":    {"{provider: openai, model: m, credential: my_key}", "my_key"},
		"a key in the file":     {"{provider: openai, model: m, config: {api_key: sk-0123456789abcdef}}", "stands in the app file"},
		"a fallback's mistakes": {"{provider: offline, fallback: {provider: antropic, model: m}}", "antropic"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			write(t, filepath.Join(folder, "callgate.yaml"), "agents:\n- {id: main, brain: "+c.brain+"}\n")
			got := strings.Join(kerneltest.OpenSession(t, k, folder).Warnings(), "\n")
			if !strings.Contains(got, c.want) || strings.Contains(got, "sk-0123") {
				t.Errorf("warnings: %s", got)
			}
		})
	}
}
