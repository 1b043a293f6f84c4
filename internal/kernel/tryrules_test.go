package kernel_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

// Rules are tried on what really happened: what would run, ask and be refused now.
func TestTryRules(t *testing.T) { kerneltest.OnEachStorage(t, testTryRules) }

func testTryRules(t *testing.T) {
	t.Parallel()
	here := folderIn(t, "here")
	k := kerneltest.Open(t, kerneltest.StateDir(t), append(riskyTools(t),
		kerneltest.NewTool(t, "demo.look", tool.Runtime{Risk: tool.Low, SideEffect: tool.Read}, func(context.Context) (any, error) { return "seen", nil }))...)
	s := kerneltest.OpenSession(t, k, here)
	for _, c := range [][2]string{
		{"demo.run", `{"command":"git log -1"}`}, {"demo.run", `{"command":"git log -2"}`}, {"demo.run", `{"command":"git push"}`},
		{"demo.write", `{"path":"src/a"}`}, {"demo.write", `{"path":"b"}`}, {"demo.look", `{}`},
	} {
		if r := kerneltest.Call(t, s, c[0], c[1]); r.Status == tool.Waiting {
			kerneltest.OK(t, k.Approvals.Answer(t.Context(), kerneltest.Human(t, k), r.Approval, approval.Answer{}))
		}
	}
	kerneltest.Call(t, kerneltest.OpenSession(t, k, folderIn(t, "other")), "demo.run", `{"command":"git log"}`)
	file := filepath.Join(t.TempDir(), "tried.yaml")
	kerneltest.Write(t, file, `
tools:
  capabilities:
    default_policy: approve
    grant: [{module: demo, actions: [run], match: {command: git log *}}, {module: demo, actions: [write], match: {path: src/**}}]
    deny: [{module: demo, actions: [run], match: {command: git push *}}]
`)
	report, err := k.TryRules(t.Context(), here, file, time.Now().Add(-time.Hour))
	kerneltest.OK(t, err)
	var got []string
	for _, g := range report.Groups {
		got = append(got, fmt.Sprintf("%s %s→%s %d", g.Tool, g.Before, g.Now, g.Count))
	}
	slices.Sort(got)
	want := []string{
		"demo.look run→ask 1", "demo.run ask→refuse 1", "demo.run ask→run 2", "demo.write ask→ask 1", "demo.write ask→run 1",
	}
	if !slices.Equal(got, want) || report.Calls != 6 || len(report.Unknown) > 0 {
		t.Errorf("%d calls, unknown %v:\n%s", report.Calls, report.Unknown, strings.Join(got, "\n"))
	}
	if later, err := k.TryRules(t.Context(), here, file, time.Now()); err != nil || later.Calls != 0 {
		t.Errorf("since now: %+v, %v", later, err)
	}
	if _, err := k.TryRules(t.Context(), here, file+"x", time.Time{}); err == nil {
		t.Error("a file that is not there was tried")
	}
	if n := len(k.Grants.List()); n > 0 {
		t.Errorf("the trial left %d grants", n)
	}
}
