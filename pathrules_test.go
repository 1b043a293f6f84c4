package callgate_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"callgate"
	"callgate/tool"
)

// TestPathRuleBindsEveryModule: what a rule of every module forbids by its path, no module
// opens or makes.
func TestPathRuleBindsEveryModule(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "private"), 0o700); err != nil {
		t.Fatal(err)
	}
	const app = "app: {app_id: t}\ntools:\n  modules: {database: {}, filesystem: {}}\n  capabilities:\n" +
		"    default_policy: auto\n    deny: [{module: \"*\", match: {path: \"private/**\"}}]\n"
	if err := os.WriteFile(filepath.Join(folder, "callgate.yaml"), []byte(app), 0o600); err != nil {
		t.Fatal(err)
	}
	kernel, err := callgate.Open(t.Context(), callgate.Config{State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer kernel.Close()
	session, err := kernel.OpenSession(t.Context(), callgate.SessionConfig{Workspace: folder})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for name, call := range map[string][2]string{
		"a name":           {"database.connect", `{"driver": "sqlite", "database": "private/x.db"}`},
		"a winding name":   {"database.connect", `{"driver": "sqlite", "database": "a/../private/x.db"}`},
		"an absolute name": {"database.connect", `{"driver": "sqlite", "database": "` + filepath.ToSlash(folder) + `/private/x.db"}`},
		"a URL":            {"database.connect", `{"dsn": "sqlite:private/x.db"}`},
		"a long URL":       {"database.connect", `{"dsn": "SQLite3://private/x.db"}`},
		"beside a URL":     {"database.connect", `{"dsn": "sqlite:private/x.db", "database": "ok.db"}`},
		"a move":           {"filesystem.move", `{"from": "callgate.yaml", "to": "private/x"}`},
		"a write":          {"filesystem.write", `{"path": "private/x", "content": "x"}`},
	} {
		r := session.Call(t.Context(), call[0], json.RawMessage(call[1]))
		if r.Error == nil || r.Error.Kind != tool.Denied {
			t.Errorf("%s: %s %+v", name, r.Status, r.Error)
		}
	}
	if left, err := os.ReadDir(filepath.Join(folder, "private")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
