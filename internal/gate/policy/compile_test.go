package policy_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/gate/policy"
	"callgate/tool"
)

func TestCompileNamesTheMistake(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		block       policy.Capabilities
		constraints map[string]policy.Constraint
		path        string
		got         string
	}{
		{"default policy", policy.Capabilities{DefaultPolicy: "ask"}, nil, "capabilities.default_policy", `"ask"`},
		{"risk", policy.Capabilities{MaxRisk: "extreme"}, nil, "capabilities.max_risk_level", `"extreme"`},
		{"module", policy.Capabilities{Grant: []policy.Entry{{Module: "File System"}}},
			nil, "capabilities.grant[0].module", `"File System"`},
		{"no module", policy.Capabilities{Deny: []policy.Entry{{Module: "fs"}, {}}},
			nil, "capabilities.deny[1].module", `""`},
		{"module glob", policy.Capabilities{Deny: []policy.Entry{{Module: "mcp_*"}}},
			nil, "capabilities.deny[0].module", `"mcp_*"`},
		{"action", policy.Capabilities{Approve: []policy.Entry{{Module: "fs", Actions: []string{"read", "fs.write"}}}}, nil,
			"capabilities.approve[0].actions[1]", `"fs.write"`},
		{"reason of two lines", policy.Capabilities{Deny: []policy.Entry{{Module: "fs", Reason: "no\nignore that"}}}, nil,
			"capabilities.deny[0].reason", `"no\nignore that"`},
		{"hidden module", policy.Capabilities{HiddenModules: []string{""}}, nil, "capabilities.hidden_modules[0]", `""`},
		{"hidden bare action", policy.Capabilities{HiddenActions: []string{"bash"}},
			nil, "capabilities.hidden_actions[0]", `"bash"`},
		{"hidden half action", policy.Capabilities{HiddenActions: []string{"shell."}}, nil,
			"capabilities.hidden_actions[0]", `""`},
		{"rate of nothing", policy.Capabilities{RateLimits: map[string]int{"shell": 0}}, nil,
			"capabilities.rate_limits.shell", "0"},
		{"rate too large", policy.Capabilities{RateLimits: map[string]int{"shell": 1 << 30}},
			nil, "capabilities.rate_limits.shell", "1073741824"},
		{"rate of a bad name", policy.Capabilities{RateLimits: map[string]int{"shell.Bash": 5}}, nil,
			"capabilities.rate_limits.shell.Bash", `"Bash"`},
		{"timeout too short", policy.Capabilities{ApprovalTimeout: 29 * time.Second},
			nil, "capabilities.approval_timeout", "29"},
		{"timeout too long", policy.Capabilities{ApprovalTimeout: 3601 * time.Second},
			nil, "capabilities.approval_timeout", "3601"},
		{"negative timeout", policy.Capabilities{ApprovalTimeout: -time.Second}, nil, "capabilities.approval_timeout", "-1"},
		{"nothing allowed", policy.Capabilities{}, map[string]policy.Constraint{"fs": {Allowed: []string{}}},
			"modules.fs.constraints.allowed_actions", "empty"},
		{"constraint on everything", policy.Capabilities{}, map[string]policy.Constraint{"*": {}}, "modules.*", `"*"`},
		{"star in a constraint", policy.Capabilities{}, map[string]policy.Constraint{"fs": {Blocked: []string{"*"}}},
			"modules.fs.constraints.blocked_actions[0]", `"*"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := policy.Compile(&test.block, test.constraints)
			var e *tool.Error
			if !errors.As(err, &e) || e.Kind != tool.Invalid || len(e.Fields) != 1 {
				t.Fatalf("got %#v", err)
			}
			want := tool.FieldError{Path: test.path, Got: test.got, Want: e.Fields[0].Want}
			if diff := cmp.Diff(want, e.Fields[0]); diff != "" || e.Fields[0].Want == "" {
				t.Errorf("wrong field, or no advice (-want +got):\n%s", diff)
			}
			if !strings.Contains(err.Error(), "tools."+test.path) {
				t.Errorf("the message does not name the path: %v", err)
			}
		})
	}
}

func TestCompileReportsAllMistakes(t *testing.T) {
	t.Parallel()
	_, err := policy.Compile(&policy.Capabilities{DefaultPolicy: "x", MaxRisk: "y", HiddenActions: []string{"z"}}, nil)
	var e *tool.Error
	if !errors.As(err, &e) || len(e.Fields) != 3 {
		t.Fatalf("three mistakes, got %#v", err)
	}
}

func TestApprovalTimeoutHasADefault(t *testing.T) {
	t.Parallel()
	var none *policy.Rules
	tests := map[string]struct {
		rules *policy.Rules
		want  time.Duration
	}{
		"nil":     {none, 300 * time.Second},
		"unset":   {compiled(t, &policy.Capabilities{}, nil), 300 * time.Second},
		"lowest":  {compiled(t, &policy.Capabilities{ApprovalTimeout: 30 * time.Second}, nil), 30 * time.Second},
		"highest": {compiled(t, &policy.Capabilities{ApprovalTimeout: time.Hour}, nil), time.Hour},
	}
	for name, test := range tests {
		if got := test.rules.ApprovalTimeout(); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
