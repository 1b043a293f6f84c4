package rules_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/app/node"
	"callgate/internal/app/rules"
	"callgate/internal/gate/policy"
)

// names keeps what is mentioned.
type names []string

func (n *names) Mention(r *node.Reader, path, module, action string, permits bool) {
	*n = append(*n, fmt.Sprintf("%s %s.%s %v", r.Where(r.Position(path)), module, action, permits))
}

func (n *names) IsModule(name string) bool { return name == "choir.fs" }

func read(t *testing.T, text string) (*policy.Capabilities, names, error) {
	t.Helper()
	r, root, ok := node.Open("f", []byte(text), node.Keys{}, nil)
	if !ok {
		t.Fatal(node.Err(r.Report))
	}
	var n names
	c := rules.Read(r, root, &n)
	return c, n, node.Err(r.Report)
}

func TestRead(t *testing.T) {
	got, mentioned, err := read(t, `default_policy: auto
max_risk_level: low
grant:
- {module: shell, actions: [bash], reason: needed}
approve:
deny: [{module: "*"}]
hidden_modules: [web]
hidden_actions: [git.push, bare]
rate_limits: {shell.bash: 5, choir.fs: 2, web.*: 3}
approval_timeout: 60
`)
	if err != nil {
		t.Fatal(err)
	}
	want := &policy.Capabilities{
		DefaultPolicy: "auto", MaxRisk: "low",
		Grant:         []policy.Entry{{Module: "shell", Actions: []string{"bash"}, Reason: "needed"}},
		Deny:          []policy.Entry{{Module: "*"}},
		HiddenModules: []string{"web"}, HiddenActions: []string{"git.push", "bare"},
		RateLimits:      map[string]int{"shell.bash": 5, "choir.fs": 2, "web.*": 3},
		ApprovalTimeout: time.Minute,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantNames := names{
		"f:4:12 shell. true", "f:4:29 shell.bash true", "f:6:17 *. false", "f:7:18 web. false", "f:8:18 git.push false",
		"f:9:15 shell.bash false", "f:9:43 web. false",
	}
	if diff := cmp.Diff(wantNames, mentioned); diff != "" {
		t.Errorf("mentioned (-want +got):\n%s", diff)
	}
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"grant: [shell.bash]":             "write {module: shell, actions: [bash]}",
		"grant: {module: shell}":          "must be a list of rules",
		"deny: [{actions: [bash]}]":       "names no module",
		"deny: [{module: a, tools: [b]}]": "has no key \"tools\"",
		"rate_limits: {shell: 5/s}":       "must be a whole number",
		"approval_timeout: 0":             "approval_timeout is 0",
	} {
		if _, _, err := read(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
