package deferred_test

import (
	"encoding/json"
	"strings"
	"testing"

	"callgate/internal/gate/schema"
	"callgate/internal/kernel/deferred"
	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

// A mistake in a call that is to be made later is told to who makes it.
func TestFindTarget(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := inFolder(t, "tools:\n  capabilities:\n    grant: [{module: filesystem, actions: [read]}]\n"+
		"    approve: [{module: filesystem, actions: [write]}]\n    deny: [{module: shell, reason: no commands}]\n")
	s := kerneltest.OpenAccepted(t, k, folder)
	var schemas schema.Cache
	for _, c := range []struct {
		name, args string
		kind       tool.Kind
		says       string
		asks       bool
	}{
		{"filesystem.read", `{"path":"a"}`, "", "", false},
		{"fs__read", `{"file_path":"a"}`, tool.NotFound, "", false},
		{"filesystem__read", `{"file_path":"a"}`, "", "", false},
		{"write", `{"path":"a","content":"x"}`, "", "", true},
		{"filesystem.read", `{}`, tool.Invalid, "path", false},
		{"filesystem.raed", `{}`, tool.NotFound, "read", false},
		{"shell.bash", `{"command":"ls"}`, tool.Denied, "no commands", false},
		{"search_tools", `{"query":"x"}`, tool.Invalid, "kernel's own tools", false},
	} {
		got, err := deferred.FindTarget(t.Context(), s, &schemas, c.name, json.RawMessage(c.args))
		if tool.KindOf(err) != c.kind || c.says != "" && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %s: %v", c.name, c.args, err)
		}
		if err == nil && (got.Asks != c.asks || !strings.Contains(string(got.Args), `"path":"a"`)) {
			t.Errorf("%s %s: %+v, %s", c.name, c.args, got.Tool.ID, got.Args)
		}
	}
}
