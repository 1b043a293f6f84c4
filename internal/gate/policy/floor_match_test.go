package policy_test

import (
	"strings"
	"testing"

	"callgate/internal/gate/match"
	"callgate/internal/gate/policy"
	"callgate/tool"
)

// A grant of some arguments counts, like every other, once a human accepted it; and
// what the user's own file denies stays denied until then.
func TestFloorOfArguments(t *testing.T) {
	t.Parallel()
	logs := policy.Entry{Module: "shell", Actions: []string{"bash"}, Match: map[string]any{"command": "git log *"}}
	tests := policy.Entry{Module: "shell", Actions: []string{"bash"}, Match: map[string]any{"command": "npm test"}}
	project := compiled(t, &policy.Capabilities{Grant: []policy.Entry{logs, tests}}, nil)
	subject := made(t, "shell.bash", tool.Runtime{Risk: tool.High})
	wider := project.Wider([]*tool.Tool{subject})
	if len(wider) != 2 || !strings.Contains(wider[0].Text, "git log") {
		t.Fatalf("there is to accept: %+v", wider)
	}
	decide := func(r *policy.Rules, command string) policy.Verdict {
		call := &match.Call{Module: "shell", Action: "bash", Workspace: "/", Args: map[string]any{"command": command}}
		return policy.DecideCall(r, subject, model, call).Verdict
	}
	none := project.Floor(func(policy.Grant) bool { return false })
	some := project.Floor(func(g policy.Grant) bool { return strings.Contains(g.Text, "git log") })
	blocked := compiled(t, &policy.Capabilities{DefaultPolicy: policy.Block}, nil)
	for name, c := range map[string]struct {
		rules   *policy.Rules
		command string
		want    policy.Verdict
	}{
		"all accepted":              {project, "git log -3", policy.Allow},
		"none accepted":             {none, "git log -3", policy.Approve},
		"this one accepted":         {some, "git log -3", policy.Allow},
		"the other not":             {some, "npm test", policy.Approve},
		"both in one command":       {some, "git log -3 && npm test", policy.Approve},
		"the user's default denies": {none.Over(blocked, "PROJECT", "USER"), "git log -3", policy.Deny},
	} {
		if got := decide(c.rules, c.command); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
