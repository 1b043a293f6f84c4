package kernel_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

// The constraints that seed 000 shows mean what they say: the action is not there, and no
// table is dropped by another one. Nothing of it is unknown here.
func TestDropTableIsBlocked(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../app/testdata/seeds/000-constraints.yaml")
	kerneltest.OK(t, err)
	s := openPrimitives(t, string(text)+"  capabilities: {default_policy: auto}\n")
	for _, w := range s.Warnings() {
		t.Errorf("warned: %s", w)
	}
	db := filepath.Join(s.Workspace(), "a.db")
	if r := kerneltest.Call(t, s, "database.connect", `{"driver":"sqlite","database":"`+db+`"}`); r.Status != tool.Success {
		t.Fatal(r.Summary)
	}
	run := func(query string) *tool.Result {
		return kerneltest.Call(t, s, "database.transaction", `{"statements":[{"query":"`+query+`"}]}`)
	}
	if r := run("CREATE TABLE kept (a)"); r.Status != tool.Success {
		t.Fatal(r.Summary)
	}
	if r := run("DROP TABLE kept"); tool.KindOf(r.Err()) != tool.Denied || !strings.Contains(r.Summary, "drops no tables") {
		t.Errorf("%s: %s", r.Status, r.Summary)
	}
	for _, name := range []string{"database.execute_query", "drop_table"} {
		if r := kerneltest.Call(t, s, name, `{"query":"DROP TABLE kept"}`); r.Status == tool.Success {
			t.Errorf("%s: %s", name, r.Summary)
		}
	}
	if r := run("INSERT INTO kept VALUES (1)"); r.Status != tool.Success {
		t.Error(r.Summary)
	}
}
