package gate_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/policy"
	"callgate/tool"
)

// A call that changes the rules of agents needs a human, whatever is granted.
func TestRulesAreChangedOnlyByAHuman(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	granted, err := policy.Compile(&policy.Capabilities{Grant: []policy.Entry{{Module: "t"}}}, nil)
	ok(t, err)
	h.rules.Policy = granted
	const schema = `{"type":"object","properties":{"path":{"type":"string"},"to":{"type":"string"}}}`
	add := func(id string, effects ...tool.Effect) {
		r := writes
		r.Effects = effects
		h.add(t, id, schema, r, func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
			return tool.OK("ran", nil)
		})
	}
	add("t:write@1.0.0", tool.Effect{Resource: "file:{path}", Mode: tool.U})
	add("t:move@1.0.0", tool.Effect{Resource: "file:{path}", Mode: tool.X}, tool.Effect{Resource: "file:{to}", Mode: tool.X})
	add("t:read@1.0.0", tool.Effect{Resource: "file:{path}", Mode: tool.S})
	add("t:shell@1.0.0", tool.Effect{Resource: "workspace", Mode: tool.U})
	in := func(name string) string { return filepath.Join(h.at.Workspace, name) }
	for _, name := range []string{
		"callgate.yaml", "conf/agents/a.yaml", "conf/skills/s.md", "kit/global/x.yaml", "repo/.git/config", "src/main.go", "store/config",
		"far/below/callgate.yaml",
	} {
		ok(t, os.MkdirAll(filepath.Dir(in(name)), 0o755))
		ok(t, os.WriteFile(in(name), []byte("x"), 0o644))
	}
	for link, target := range map[string]string{"link": "callgate.yaml", "kitlink": "kit", ".git": "store"} {
		ok(t, os.Symlink(target, in(link)))
	}
	ok(t, os.Link(in("conf/agents/a.yaml"), in("src/hard")))
	h.at.RuleFiles = []string{in("callgate.yaml"), in("conf/agents/a.yaml"), in("kit"), in("conf/skills/s.md")}
	for _, c := range []struct {
		name, tool, args string
		asks             bool
	}{
		{"app file", "t.write", `{"path":"callgate.yaml"}`, true},
		{"another case", "t.write", `{"path":"CallGate.YAML"}`, true},
		{"a link", "t.write", `{"path":"link"}`, true},
		{"a hard link", "t.write", `{"path":"src/hard"}`, true},
		{"an app file below", "t.write", `{"path":"src/callgate.yaml"}`, true},
		{"an included file", "t.write", `{"path":"conf/agents/a.yaml"}`, true},
		{"a skill", "t.write", `{"path":"conf/skills/../skills/s.md"}`, true},
		{"a manifest", "t.write", `{"path":"kit/global/new.yaml"}`, true},
		{"a manifest through a link", "t.write", `{"path":"kitlink/global/x.yaml"}`, true},
		{"a hook", "t.write", `{"path":"repo/.git/hooks/pre-commit"}`, true},
		{"Git's settings", "t.write", `{"path":"repo/.GIT/config"}`, true},
		{"Git's folder is a link", "t.write", `{"path":"store/config"}`, true},
		{"Git's folder by its link", "t.write", `{"path":".git/hooks/post-merge"}`, true},
		{"a file moved there", "t.move", `{"path":"src/main.go","to":"callgate.yaml"}`, true},
		{"a folder that holds rules", "t.move", `{"path":"conf","to":"old"}`, true},
		{"a folder that holds a repository", "t.move", `{"path":"repo","to":"old"}`, true},
		{"a folder that holds an app file further down", "t.move", `{"path":"far","to":"old"}`, true},
		{"another file", "t.write", `{"path":"src/main.go"}`, false},
		{"a file beside", "t.write", `{"path":"conf/agents/b.txt"}`, false},
		{"another folder", "t.move", `{"path":"src","to":"lib"}`, false},
		{"read", "t.read", `{"path":"callgate.yaml"}`, false},
		{"the whole workspace", "t.shell", `{}`, false},
	} {
		h.id.NoWait = true
		r := h.call(t, c.tool, c.args)
		if c.asks != (r.Status == tool.Waiting) {
			t.Errorf("%s: %s %q", c.name, r.Status, r.Summary)
		}
		if c.asks && !strings.Contains(r.Summary, "this changes the rules that agents work by: "+h.at.Workspace) {
			t.Errorf("%s: a human is asked because %q", c.name, r.Summary)
		}
		if c.asks && r.Approval != "" {
			ok(t, h.Approvals.Answer(t.Context(), human, r.Approval, approval.Answer{Approve: true, Always: true}))
		}
	}
	// The kernel's own calls wait for nobody.
	h.id.Principal.Daemon = true
	if r := h.call(t, "t.write", `{"path":"callgate.yaml"}`); r.Status != tool.Refused {
		t.Errorf("a setup step: %s %q", r.Status, r.Summary)
	}
}
