package policy_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"callgate/internal/gate/policy"
	"callgate/tool"
)

func nothing(policy.Grant) bool    { return false }
func everything(policy.Grant) bool { return true }

// Rules that nobody accepted let nothing run that would not run without them, and
// are as strict as before in everything else.
func TestFloorWidensNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := randomWorld(r)
		tools := randomTools(t, r)
		rules := compiledWorld(t, w)
		floor, accepted := rules.Floor(nothing), rules.Floor(everything)
		wider := map[string]bool{}
		for _, g := range rules.Wider(tools) {
			wider[g.Text] = true
		}
		named := rules.Floor(func(g policy.Grant) bool { return wider[g.Text] })
		for _, subject := range tools {
			for _, p := range []tool.Principal{model, daemon} {
				name := fmt.Sprintf("seed %d, %s, daemon %v", seed, subject.ID.Dotted(), p.Daemon)
				is, at := policy.Decide(rules, subject, p), policy.Decide(floor, subject, p)
				without := policy.Decide(nil, subject, p)
				switch {
				case is.Verdict != policy.Allow && at.Verdict != is.Verdict, p.Daemon && at != is:
					t.Fatalf("%s: %+v became %+v", name, is, at)
				case at.Verdict == policy.Allow && without.Verdict != policy.Allow:
					t.Fatalf("%s: runs by rules that nobody accepted: %+v", name, at)
				case is.Verdict == policy.Allow && without.Verdict == policy.Allow && at.Verdict != policy.Allow:
					t.Fatalf("%s: runs without rules, and became %+v", name, at)
				case is.Verdict == policy.Allow && width(at.Verdict) < 1:
					t.Fatalf("%s: a human cannot even approve it: %+v", name, at)
				}
				if got := policy.Decide(accepted, subject, p); got != is {
					t.Fatalf("%s: with all accepted %+v became %+v", name, is, got)
				}
				// What Wider says is all that there is to accept.
				if got := policy.Decide(named, subject, p).Verdict; got != is.Verdict {
					t.Fatalf("%s: with all that is wider accepted, %+v became %s", name, is, got)
				}
			}
		}
	}
}

// What a human is asked is named plainly, and only what is wider than the default.
func TestWider(t *testing.T) {
	t.Parallel()
	known := []*tool.Tool{
		made(t, "fs.read", tool.Runtime{Risk: tool.Low, SideEffect: tool.Read}),
		made(t, "fs.drop", tool.Runtime{Risk: tool.High, SideEffect: tool.Write}),
		made(t, "shell.bash", tool.Runtime{Risk: tool.High, SideEffect: tool.External}),
		made(t, "memo.add", tool.Runtime{Risk: tool.Low, SideEffect: tool.Write}),
		made(t, "memo.ask", tool.Runtime{Risk: tool.High, AskFirst: true}),
	}
	entry := func(module string, actions ...string) []policy.Entry {
		return []policy.Entry{{Module: module, Actions: actions}}
	}
	for name, c := range map[string]struct {
		block *policy.Capabilities
		want  string // texts
	}{
		"no block":                {nil, ""},
		"an empty block":          {&policy.Capabilities{}, ""},
		"a grant of what runs":    {&policy.Capabilities{Grant: entry("fs", "read")}, ""},
		"of a harmless module":    {&policy.Capabilities{Grant: entry("memo")}, ""},
		"of an action":            {&policy.Capabilities{Grant: entry("shell", "bash")}, "shell.bash"},
		"of two":                  {&policy.Capabilities{Grant: entry("fs", "read", "drop")}, "fs.drop"},
		"of a module":             {&policy.Capabilities{Grant: entry("fs")}, "every tool of fs"},
		"of everything":           {&policy.Capabilities{Grant: entry("*")}, "every tool"},
		"of a name":               {&policy.Capabilities{Grant: entry("*", "bash")}, "every tool that is named bash"},
		"of what is not there":    {&policy.Capabilities{Grant: entry("mcp_hub", "merge")}, "mcp_hub.merge"},
		"and denied":              {&policy.Capabilities{Grant: entry("shell", "bash"), Deny: entry("shell")}, ""},
		"with an exception":       {&policy.Capabilities{Grant: entry("*"), Approve: entry("fs", "drop")}, "every tool except fs.drop"},
		"auto":                    {&policy.Capabilities{DefaultPolicy: policy.Auto}, "every tool of at most high risk that no rule names"},
		"auto up to low risk":     {&policy.Capabilities{DefaultPolicy: policy.Auto, MaxRisk: tool.Low}, ""},
		"auto but for the shell":  {&policy.Capabilities{DefaultPolicy: policy.Auto, HiddenModules: []string{"shell"}}, "every tool of at most high risk that no rule names except every tool of shell"},
		"auto and nothing of all": {&policy.Capabilities{DefaultPolicy: policy.Auto, Deny: entry("*")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var texts []string
			for _, g := range compiled(t, c.block, nil).Wider(known) {
				texts = append(texts, g.Text)
			}
			if got := strings.Join(texts, "; "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Each grant is accepted by itself.
func TestFloorOfSomeGrants(t *testing.T) {
	t.Parallel()
	bash := made(t, "shell.bash", tool.Runtime{Risk: tool.High})
	drop := made(t, "fs.drop", tool.Runtime{Risk: tool.High})
	rules := compiled(t, &policy.Capabilities{Grant: []policy.Entry{
		{Module: "shell", Actions: []string{"bash"}}, {Module: "fs"},
	}}, nil).Floor(func(g policy.Grant) bool { return g.Module == "fs" })
	if d := policy.Decide(rules, drop, model); d.Verdict != policy.Allow {
		t.Errorf("accepted: %+v", d)
	}
	d := policy.Decide(rules, bash, model)
	if d.Verdict != policy.Approve || !strings.Contains(d.Reason, "nobody has accepted") ||
		!strings.Contains(d.Reason, "callgate app trust") {
		t.Errorf("not accepted: %+v", d)
	}
}
