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

// openWithRules opens a gate whose app has these rules, with a tool that runs
// commands and one that writes files.
func openWithRules(t *testing.T, c policy.Capabilities) *harness {
	t.Helper()
	h := open(t, gate.Limits{})
	rules, err := policy.Compile(&c, nil)
	ok(t, err)
	h.rules.Policy = rules
	h.id.NoWait = true
	done := func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) { return tool.OK("it ran", nil) }
	const command = `{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`
	h.add(t, "shell:bash@1.0.0", command, tool.Runtime{Risk: tool.High, SideEffect: tool.Write}, done)
	const file = `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`
	h.add(t, "filesystem:write@1.0.0", file, tool.Runtime{
		Risk: tool.Medium, SideEffect: tool.Write, Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.X}},
	}, done)
	for _, dir := range []string{"src", "docs"} {
		ok(t, os.Mkdir(filepath.Join(h.at.Workspace, dir), 0o700))
	}
	return h
}

func grantCommand(patterns ...any) policy.Entry {
	return policy.Entry{Module: "shell", Match: map[string]any{"command": patterns}}
}

func onPath(glob string) policy.Entry {
	return policy.Entry{Module: "filesystem", Match: map[string]any{"path": glob}}
}

// A granted pattern runs, and a trick with it asks.
func TestRulesAboutArguments(t *testing.T) {
	t.Parallel()
	h := openWithRules(t, policy.Capabilities{
		Grant:   []policy.Entry{grantCommand("git log *", "npm test"), onPath("src/**")},
		Approve: []policy.Entry{onPath("src/important/**")},
		Deny:    []policy.Entry{grantCommand("git push *"), onPath("docs/**")},
	})
	ok(t, os.Symlink("../docs", filepath.Join(h.at.Workspace, "src/link")))
	for _, test := range []struct {
		name, args string
		want       tool.Status
		words      string
	}{
		{"shell.bash", `{"command":"git log --oneline -3"}`, tool.Success, "it ran"},
		{"shell.bash", `{"command":"git log && npm test"}`, tool.Success, "it ran"},
		{"shell.bash", `{"command":"git log; rm -rf src"}`, tool.Waiting, "no rule names shell.bash"},
		{"shell.bash", `{"command":"git log --output=src/x"}`, tool.Waiting, ""},
		{"shell.bash", `{"command":"git log $(rm x)"}`, tool.Waiting, ""},
		{"shell.bash", `{"command":"git push"}`, tool.Refused, "deny rule for shell.* with command: [\"git push *\"]"},
		{"shell.bash", `{"command":"git log; (git push -f)"}`, tool.Refused, "deny rule"},
		{"shell.bash", `{"command":"$x push"}`, tool.Waiting, "it cannot be told"},
		{"filesystem.write", `{"path":"src/a.go"}`, tool.Success, "it ran"},
		{"filesystem.write", `{"path":"src/../docs/a"}`, tool.Refused, "with path: docs/**"},
		{"filesystem.write", `{"path":"src/link/a"}`, tool.Refused, "with path: docs/**"},
		{"filesystem.write", `{"path":"src/important/a"}`, tool.Waiting, "approve rule for filesystem.*"},
		{"filesystem.write", `{"path":"README.md"}`, tool.Waiting, "no rule names"},
	} {
		r := h.call(t, test.name, test.args)
		if r.Status != test.want || !strings.Contains(r.Summary, test.words) {
			t.Errorf("%s %s: %s %q, want %s with %q", test.name, test.args, r.Status, r.Summary, test.want, test.words)
		}
	}
}

// What a human edited, and where a path leads after the yes, is decided again.
func TestArgumentsAreDecidedAgainAfterTheApproval(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]approval.Answer{
		"edited":    {Approve: true, Args: []byte(`{"path":"docs/a"}`)},
		"repointed": {Approve: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := openWithRules(t, policy.Capabilities{Deny: []policy.Entry{onPath("docs/**")}})
			h.id.NoWait = false
			repoint(t, h, "src/a")
			done := make(chan *tool.Result, 1)
			go func() { done <- h.call(t, "filesystem.write", `{"path":"link"}`) }()
			request := nextRequest(t, h, done)
			repoint(t, h, "docs/a")
			ok(t, h.Approvals.Answer(t.Context(), human, request.ID, answer))
			if r := <-done; r.Status != tool.Refused || !strings.Contains(r.Summary, "with path: docs/**") {
				t.Errorf("%s: %q", r.Status, r.Summary)
			}
		})
	}
}

// A tool that the default blocks is there for the arguments that a rule permits.
func TestBlockedToolIsListedForSomeArguments(t *testing.T) {
	t.Parallel()
	h := openWithRules(t, policy.Capabilities{DefaultPolicy: policy.Block, Grant: []policy.Entry{onPath("src/**")}})
	if r := h.call(t, "filesystem.write", `{"path":"src/a"}`); r.Status != tool.Success {
		t.Errorf("%s: %q", r.Status, r.Summary)
	}
	r := h.call(t, "filesystem.write", `{"path":"b"}`)
	if r.Status != tool.Refused || !strings.Contains(r.Summary, "default_policy block") {
		t.Errorf("%s: %q", r.Status, r.Summary)
	}
	if r := h.call(t, "shell.bash", `{"command":"ls"}`); r.Status != tool.Refused {
		t.Errorf("%s: %q", r.Status, r.Summary)
	}
}

// An approval for the session does not cover what a deny rule may be about.
func TestApproveAlwaysDoesNotSettleADeny(t *testing.T) {
	t.Parallel()
	h := openWithRules(t, policy.Capabilities{Deny: []policy.Entry{grantCommand("git push *")}})
	h.id.NoWait = false
	done := make(chan *tool.Result, 1)
	go func() { done <- h.call(t, "shell.bash", `{"command":"go vet ./a"}`) }()
	request := nextRequest(t, h, done)
	ok(t, h.Approvals.Answer(t.Context(), human, request.ID, approval.Answer{Approve: true, Always: true}))
	<-done
	h.id.NoWait = true
	for command, want := range map[string]tool.Status{
		"go vet ./b": tool.Success, "$x push": tool.Waiting, "git push": tool.Refused,
	} {
		if r := h.call(t, "shell.bash", `{"command":"`+command+`"}`); r.Status != want {
			t.Errorf("%s: %s %q, want %s", command, r.Status, r.Summary, want)
		}
	}
}
