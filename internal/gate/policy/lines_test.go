package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/gate/policy"
	"callgate/tool"
)

func TestLines(t *testing.T) {
	t.Parallel()
	project := compiled(t, &policy.Capabilities{
		DefaultPolicy: policy.Auto,
		Grant:         []policy.Entry{{Module: "*"}, {Module: "git", Actions: []string{"push"}}},
		Approve:       []policy.Entry{{Module: "http"}},
		RateLimits:    map[string]int{"http": 5},
	}, map[string]policy.Constraint{"fs": {Allowed: []string{"read"}}})
	user := compiled(t, &policy.Capabilities{
		DefaultPolicy: policy.Ask, MaxRisk: tool.Medium,
		Grant:         []policy.Entry{{Module: "http", Actions: []string{"get"}}},
		Deny:          []policy.Entry{{Module: "git", Actions: []string{"push"}}},
		HiddenModules: []string{"shell"},
	}, nil)
	want := []string{
		"approve http.*", "grant git.push", "grant *.*", "hide all of fs but [read]",
		"at most 5 calls a minute of http.*", "default_policy auto",
	}
	if diff := cmp.Diff(want, project.Lines()); diff != "" {
		t.Errorf("the project's lines (-want +got):\n%s", diff)
	}
	want = []string{
		"git.push: deny of USER wins over grant of PROJECT",
		"http.get: approve of PROJECT wins over grant of USER",
		"shell.*: hide of USER wins over grant of PROJECT",
		"default_policy: approve of USER, the stricter",
		"max_risk_level: medium of USER, the lower",
	}
	if diff := cmp.Diff(want, project.Over(user, "PROJECT", "USER").Differences()); diff != "" {
		t.Errorf("the differences (-want +got):\n%s", diff)
	}
	var none *policy.Rules
	if none.Lines() != nil || none.Differences() != nil || project.Differences() != nil {
		t.Error("rules without others differ from something")
	}
}
