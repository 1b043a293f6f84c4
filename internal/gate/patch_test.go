package gate_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/gate/policy"
	"callgate/tool"
)

// A rule about path sees every file that a patch names: one that is forbidden forbids
// the patch, and one that is not granted asks. All of them are claimed.
func TestRulesSeeEveryFileOfAPatch(t *testing.T) {
	t.Parallel()
	h := openWithRules(t, policy.Capabilities{
		Grant: []policy.Entry{onPath("src/**")}, Deny: []policy.Entry{onPath("docs/**")},
	})
	ok(t, os.Symlink("../docs", filepath.Join(h.at.Workspace, "src/link")))
	var claimed []string
	h.add(t, "filesystem:apply_patch@1.0.0",
		`{"type":"object","properties":{"patch":{"type":"string"}},"required":["patch"]}`,
		tool.Runtime{
			Risk: tool.Medium, SideEffect: tool.Write, Effects: []tool.Effect{{Resource: "file:{patch|files}", Mode: tool.X}},
		}, func(_ context.Context, _ tool.Call, g tool.Grant) (*tool.Result, error) {
			claimed = nil
			for _, c := range g.Claims {
				claimed = append(claimed, strings.TrimPrefix(c.Resource, "file:"+h.at.Workspace+"/"))
			}
			return tool.OK("it ran", nil)
		})
	for _, test := range []struct {
		name, patch string
		want        tool.Status
		words       string
	}{
		{"granted", "*** Begin Patch\n*** Add File: src/a\n+x\n*** Delete File: src/b\n*** Update File: src/c\n" +
			"*** Move to: src/d e\n+x\n*** End Patch", tool.Success, "it ran"},
		{"one is forbidden", "*** Begin Patch\n*** Add File: src/a\n+x\n*** Delete File: docs/b\n*** End Patch",
			tool.Refused, "with path: docs/**"},
		{"a move to what is forbidden", "*** Begin Patch\n*** Update File: src/a\n*** Move to: docs/b\n+x\n*** End Patch",
			tool.Refused, "with path: docs/**"},
		{"through a link", "*** Begin Patch\n*** Add File: src/link/a\n+x\n*** End Patch", tool.Refused, "with path: docs/**"},
		{"as a diff", "--- a/src/a\n+++ b/src/a\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/docs/a\n@@ -0,0 +1 @@\n+b\n",
			tool.Refused, "with path: docs/**"},
		{"one is not granted", "*** Begin Patch\n*** Add File: src/a\n+x\n*** Delete File: b\n*** End Patch",
			tool.Waiting, "no rule names"},
		{"outside", "*** Begin Patch\n*** Add File: ../a\n+x\n*** End Patch", tool.Refused, "outside the workspace"},
		{"no patch", "*** Begin Patch\n*** Add File: src/a\nx\n*** End Patch", tool.Failure, "line 3 of the patch"},
	} {
		args, err := json.Marshal(map[string]string{"patch": test.patch})
		ok(t, err)
		r := h.call(t, "filesystem.apply_patch", string(args))
		if r.Status != test.want || !strings.Contains(r.Summary, test.words) {
			t.Errorf("%s: %s %q, want %s with %q", test.name, r.Status, r.Summary, test.want, test.words)
		}
	}
	if got := strings.Join(claimed, ","); got != "src/a,src/b,src/c,src/d e" {
		t.Errorf("claimed: %s", got)
	}
}

// A patch is judged as what it does: a rule about delete holds for a file that a patch
// deletes, though it does not name the tool.
func TestAPatchIsJudgedAsWhatItDoes(t *testing.T) {
	t.Parallel()
	only := func(action, glob string) policy.Entry {
		e := onPath(glob)
		e.Actions = []string{action}
		return e
	}
	h := openWithRules(t, policy.Capabilities{
		DefaultPolicy: policy.Auto,
		Deny: []policy.Entry{
			{Module: "filesystem", Actions: []string{"delete"}}, only("write", "docs/**"),
			{Module: "filesystem", Actions: []string{"move"}, Match: map[string]any{"to": "docs/**"}},
		},
		Approve: []policy.Entry{{Module: "filesystem", Actions: []string{"edit"}}},
	})
	const object = `{"type":"object"}`
	done := func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) { return tool.OK("it ran", nil) }
	for _, name := range []string{"edit", "delete", "move"} {
		h.add(t, "filesystem:"+name+"@1.0.0", object, tool.Runtime{SideEffect: tool.Write}, done)
	}
	h.add(t, "filesystem:apply_patch@1.0.0", object, tool.Runtime{
		SideEffect: tool.Write, Effects: []tool.Effect{{Resource: "file:{patch|files}", Mode: tool.X}},
	}, done)
	for _, test := range []struct {
		files string
		want  tool.Status
		words string
	}{
		{"*** Add File: src/a\n+x\n", tool.Success, "it ran"},
		{"*** Add File: docs/a\n+x\n", tool.Refused, "filesystem.write"},
		{"*** Add File: src/a\n+x\n*** Delete File: b\n", tool.Refused, "filesystem.delete"},
		{"*** Update File: b\n+x\n", tool.Waiting, "filesystem.edit"},
		{"*** Update File: b\n*** Move to: c\n", tool.Success, "it ran"},
		{"*** Update File: b\n*** Move to: docs/c\n", tool.Refused, "filesystem.move"},
	} {
		args, err := json.Marshal(map[string]string{"patch": "*** Begin Patch\n" + test.files + "*** End Patch\n"})
		ok(t, err)
		r := h.call(t, "filesystem.apply_patch", string(args))
		if r.Status != test.want || !strings.Contains(r.Summary, test.words) {
			t.Errorf("%q: %s %q, want %s with %q", test.files, r.Status, r.Summary, test.want, test.words)
		}
	}
}
