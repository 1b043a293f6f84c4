package policy_test

import (
	"testing"

	"callgate/internal/gate/policy"
	"callgate/tool"
)

// TestLimitData holds tools to the stricter of two classes, also without other rules.
func TestLimitData(t *testing.T) {
	compile := func(c *policy.Capabilities) *policy.Rules {
		t.Helper()
		r, err := policy.Compile(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	secret := &tool.Tool{ID: tool.ID{Namespace: "m", Name: "t"}, Runtime: tool.Runtime{Risk: tool.Low, Data: tool.DataSensitive}}
	strict := &policy.Capabilities{DefaultPolicy: policy.Auto, MaxData: tool.DataInternal}
	for _, test := range []struct {
		name   string
		rules  *policy.Rules
		denied bool
	}{
		{"no limit", compile(nil).LimitData(""), false},
		{"a limit without rules", compile(nil).LimitData(tool.DataInternal), true},
		{"a higher limit", compile(nil).LimitData(tool.DataRestricted), false},
		{"the rules are stricter", compile(strict).LimitData(tool.DataRestricted), true},
		{"the limit is stricter", compile(&policy.Capabilities{MaxData: tool.DataRestricted}).LimitData(tool.DataPublic), true},
	} {
		got := policy.Decide(test.rules, secret, tool.Principal{})
		if (got.Verdict == policy.Deny) != test.denied {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
}
