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
	if got := kerneltest.ToolNames(t, kerneltest.OpenSession(t, k, ruled)); got != "filesystem.read=allow wiki.search=allow" {
		t.Errorf("with rules: %s", got)
	}
	if got := kerneltest.ToolNames(t, kerneltest.OpenSession(t, k, without)); got != "wiki.search=allow" {
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
