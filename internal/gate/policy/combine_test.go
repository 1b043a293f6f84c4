package policy_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"callgate/internal/gate/policy"
	"callgate/tool"
)

func TestTwoFiles(t *testing.T) {
	t.Parallel()
	type block = policy.Capabilities
	high, low := tool.Runtime{Risk: tool.High}, tool.Runtime{Risk: tool.Low}
	entries := bash
	for name, c := range map[string]struct {
		project, user *block
		runtime       tool.Runtime
		want          policy.Verdict
		file          string // that the reason names; "": none
	}{
		"the user's deny beats a project's grant":   {&block{Grant: entries}, &block{Deny: entries}, high, policy.Deny, "USER"},
		"a project's deny beats the user's grant":   {&block{Deny: entries}, &block{Grant: entries}, high, policy.Deny, "PROJECT"},
		"the user's approve beats a grant":          {&block{Grant: entries}, &block{Approve: entries}, low, policy.Approve, "USER"},
		"a project's approve beats the user's":      {&block{Approve: entries}, &block{Grant: entries}, low, policy.Approve, "PROJECT"},
		"the user's deny beats a project's approve": {&block{Approve: entries}, &block{Deny: entries}, low, policy.Deny, "USER"},
		"hidden beats denied":                       {&block{HiddenModules: []string{"shell"}}, &block{Deny: entries}, low, policy.Hide, "PROJECT"},
		"the user's grant beats the defaults":       {&block{DefaultPolicy: policy.Block}, &block{Grant: entries}, high, policy.Allow, "USER"},
		"the user's grant without a project":        {nil, &block{Grant: entries}, high, policy.Allow, "USER"},
		"the user's default is the stricter":        {&block{DefaultPolicy: policy.Auto}, &block{DefaultPolicy: policy.Ask}, low, policy.Approve, "USER"},
		"the project's default is the stricter":     {&block{DefaultPolicy: policy.Block}, &block{DefaultPolicy: policy.Auto}, low, policy.Deny, "PROJECT"},
		"a project's block means approve":           {&block{}, &block{DefaultPolicy: policy.Auto}, low, policy.Approve, "PROJECT"},
		"the user's block alone means nothing":      {&block{DefaultPolicy: policy.Auto}, &block{}, high, policy.Allow, "PROJECT"},
		"neither says a default: low risk":          {nil, &block{}, low, policy.Allow, ""},
		"neither says a default: high risk":         {nil, &block{}, high, policy.Approve, ""},
		"no rules at all":                           {nil, nil, high, policy.Approve, ""},
		"the lower ceiling": {&block{DefaultPolicy: policy.Auto}, &block{MaxRisk: tool.Medium}, high,
			policy.Deny, "USER"},
		"the lower ceiling is the project's": {&block{DefaultPolicy: policy.Auto, MaxRisk: tool.Low},
			&block{MaxRisk: tool.Medium}, high, policy.Deny, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := compiled(t, c.project, nil).Over(compiled(t, c.user, nil), "PROJECT", "USER")
			d := policy.Decide(r, made(t, "shell.bash", c.runtime), model)
			if d.Verdict != c.want || c.file != "" && !strings.HasPrefix(d.Reason, c.file+": ") ||
				c.file != "" && !strings.HasPrefix(d.Rule, c.file+": ") {
				t.Errorf("decided %+v, want %s by %s", d, c.want, c.file)
			}
		})
	}
}

// Two files decide as one file would that holds the rules of both.
func TestTwoFilesAreOne(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(14, 2))
	for range 3000 {
		project, user := randomWorld(r).block, randomWorld(r).block
		one, ok := merged(project, user)
		if !ok {
			continue
		}
		both := compiled(t, project, nil).Over(compiled(t, user, nil), "PROJECT", "USER")
		want := compiled(t, one, nil)
		for _, subject := range randomTools(t, r) {
			for _, who := range []tool.Principal{model, daemon} {
				got := policy.Decide(both, subject, who)
				if should := policy.Decide(want, subject, who); got.Verdict != should.Verdict {
					t.Fatalf("%s of %+v over %+v: %+v, want %+v", subject.ID.Dotted(), project, user, got, should)
				}
			}
		}
	}
}

// merged writes the law of two files as one block. It reports false for what one
// block cannot say: rules without a default policy.
func merged(project, user *policy.Capabilities) (*policy.Capabilities, bool) {
	if user == nil {
		return project, true
	}
	if project == nil && user.DefaultPolicy == "" {
		return nil, false
	}
	one := *user
	if project == nil {
		return &one, true
	}
	one.Grant = slices.Concat(user.Grant, project.Grant)
	one.Approve = slices.Concat(user.Approve, project.Approve)
	one.Deny = slices.Concat(user.Deny, project.Deny)
	one.HiddenModules = slices.Concat(user.HiddenModules, project.HiddenModules)
	one.HiddenActions = slices.Concat(user.HiddenActions, project.HiddenActions)
	order := []policy.DefaultPolicy{policy.Auto, policy.Ask, policy.Block}
	own := project.DefaultPolicy
	if own == "" {
		own = policy.Ask
	}
	one.DefaultPolicy = order[max(slices.Index(order, own), slices.Index(order, user.DefaultPolicy))]
	if project.MaxRisk != "" && (user.MaxRisk == "" || project.MaxRisk.Level() < user.MaxRisk.Level()) {
		one.MaxRisk = project.MaxRisk
	}
	return &one, true
}

// Of two limits for the same calls the lower holds, and of two for others each.
func TestTwoFilesRates(t *testing.T) {
	t.Parallel()
	subject := made(t, "shell.bash", tool.Runtime{Risk: tool.Low})
	for name, c := range map[string]struct {
		project, user map[string]int
		want          int
	}{
		"the user's is lower":    {map[string]int{"shell": 5}, map[string]int{"shell": 2}, 2},
		"the project's is lower": {map[string]int{"shell": 2}, map[string]int{"shell": 5}, 2},
		"only the user's":        {nil, map[string]int{"*": 3}, 3},
		"one for each":           {map[string]int{"shell.bash": 4}, map[string]int{"*": 3}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := compiled(t, &policy.Capabilities{RateLimits: c.project}, nil).
				Over(compiled(t, &policy.Capabilities{RateLimits: c.user}, nil), "PROJECT", "USER")
			var l policy.Limiter
			for i := range c.want {
				if err := l.Take(r, subject, model); err != nil {
					t.Fatalf("call %d: %v", i+1, err)
				}
			}
			if err := l.Take(r, subject, model); tool.KindOf(err) != tool.Limited {
				t.Errorf("one more than %d: %v", c.want, err)
			}
		})
	}
}
