package policy_test

import (
	"strings"
	"testing"

	"callgate/internal/gate/policy"
	"callgate/tool"
)

var (
	model  = tool.Principal{User: "ann", App: "demo", Agent: "main"}
	daemon = tool.Principal{User: "ann", App: "demo", Daemon: true}
)

// made returns a tool named module.action with a runtime view.
func made(t testing.TB, dotted string, r tool.Runtime) *tool.Tool {
	t.Helper()
	module, action, err := tool.ParseDotted(dotted)
	if err != nil {
		t.Fatal(err)
	}
	return &tool.Tool{ID: tool.ID{Namespace: module, Name: action, Version: tool.Version{Major: 1}}, Runtime: r}
}

func compiled(t testing.TB, c *policy.Capabilities, constraints map[string]policy.Constraint) *policy.Rules {
	t.Helper()
	r, err := policy.Compile(c, constraints)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ingredient is a part of a pair in the precedence table; each concerns shell.bash.
type ingredient struct {
	name string
	add  func(*scene)
}

type scene struct {
	block       policy.Capabilities
	none        bool // no capabilities block
	constraints map[string]policy.Constraint
	runtime     tool.Runtime
}

func (s *scene) rules(t testing.TB) *policy.Rules {
	if s.none {
		return compiled(t, nil, s.constraints)
	}
	return compiled(t, &s.block, s.constraints)
}

var bash = []policy.Entry{{Module: "shell", Actions: []string{"bash"}}}

var (
	deny     = ingredient{"deny", func(s *scene) { s.block.Deny = bash }}
	approve  = ingredient{"approve", func(s *scene) { s.block.Approve = bash }}
	grant    = ingredient{"grant", func(s *scene) { s.block.Grant = bash }}
	above    = ingredient{"above ceiling", func(s *scene) { s.block.MaxRisk, s.runtime.Risk = tool.Medium, tool.High }}
	auto     = ingredient{"default auto", func(s *scene) { s.block.DefaultPolicy = policy.Auto }}
	ask      = ingredient{"default approve", func(s *scene) { s.block.DefaultPolicy = policy.Ask }}
	block    = ingredient{"default block", func(s *scene) { s.block.DefaultPolicy = policy.Block }}
	hideMod  = ingredient{"hidden module", func(s *scene) { s.block.HiddenModules = []string{"shell"} }}
	hideAct  = ingredient{"hidden action", func(s *scene) { s.block.HiddenActions = []string{"shell.bash"} }}
	blocked  = ingredient{"blocked by constraint", func(s *scene) { s.constraint(nil, "bash") }}
	outside  = ingredient{"outside allowed actions", func(s *scene) { s.constraint([]string{"ls"}) }}
	internal = ingredient{"internal", func(s *scene) { s.runtime.Internal = true }}
	askFirst = ingredient{"ask first", func(s *scene) { s.runtime.AskFirst = true }}
	control  = ingredient{"control", func(s *scene) { s.runtime.Control = true }}
	noBlock  = ingredient{"no block", func(s *scene) { s.none = true }}
)

func (s *scene) constraint(allowed []string, blocked ...string) {
	s.constraints = map[string]policy.Constraint{"shell": {Allowed: allowed, Blocked: blocked}}
}

// The precedence, pair by pair: the verdict for a model, and for the daemon.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	const allow, wait, no, hide = policy.Allow, policy.Approve, policy.Deny, policy.Hide
	tests := []struct {
		with   []ingredient
		model  policy.Verdict
		daemon policy.Verdict
		rule   string // the rule that decided for the model
	}{
		{[]ingredient{deny, approve}, no, no, "tools.capabilities.deny[0]"},
		{[]ingredient{deny, grant}, no, no, "tools.capabilities.deny[0]"},
		{[]ingredient{deny, above}, no, no, "tools.capabilities.deny[0]"},
		{[]ingredient{deny, auto}, no, no, "tools.capabilities.deny[0]"},
		{[]ingredient{deny, ask}, no, no, "tools.capabilities.deny[0]"},
		{[]ingredient{deny, block}, no, no, "tools.capabilities.deny[0]"},
		{[]ingredient{deny, control}, no, no, "tools.capabilities.deny[0]"},
		{[]ingredient{approve, grant}, wait, allow, "tools.capabilities.approve[0]"},
		{[]ingredient{approve, above}, wait, allow, "tools.capabilities.approve[0]"},
		{[]ingredient{approve, auto}, wait, allow, "tools.capabilities.approve[0]"},
		{[]ingredient{approve, ask}, wait, allow, "tools.capabilities.approve[0]"},
		{[]ingredient{approve, block}, wait, allow, "tools.capabilities.approve[0]"},
		{[]ingredient{approve, control}, wait, allow, "tools.capabilities.approve[0]"},
		{[]ingredient{grant, above}, allow, allow, "tools.capabilities.grant[0]"},
		{[]ingredient{grant, auto}, allow, allow, "tools.capabilities.grant[0]"},
		{[]ingredient{grant, ask}, allow, allow, "tools.capabilities.grant[0]"},
		{[]ingredient{grant, block}, allow, allow, "tools.capabilities.grant[0]"},
		{[]ingredient{grant, control}, allow, allow, "tools.capabilities.grant[0]"},
		{[]ingredient{above, auto}, no, allow, "tools.capabilities.max_risk_level"},
		{[]ingredient{above, ask}, no, allow, "tools.capabilities.max_risk_level"},
		{[]ingredient{above, block}, no, no, "tools.capabilities.max_risk_level"},
		{[]ingredient{above, control}, allow, allow, "kernel.control"},
		{[]ingredient{auto, control}, allow, allow, "kernel.control"},
		{[]ingredient{ask, control}, allow, allow, "kernel.control"},
		{[]ingredient{block, control}, allow, allow, "kernel.control"},
		{[]ingredient{auto}, allow, allow, "tools.capabilities.default_policy"},
		{[]ingredient{ask}, wait, allow, "tools.capabilities.default_policy"},
		{[]ingredient{block}, no, no, "tools.capabilities.default_policy"},
		{nil, wait, allow, "tools.capabilities.default_policy"},
		{[]ingredient{noBlock}, allow, allow, "kernel.no_capabilities"},
		{[]ingredient{noBlock, control}, allow, allow, "kernel.control"},

		{[]ingredient{hideMod, deny}, hide, no, "tools.capabilities.hidden_modules[0]"},
		{[]ingredient{hideMod, approve}, hide, allow, "tools.capabilities.hidden_modules[0]"},
		{[]ingredient{hideMod, grant}, hide, allow, "tools.capabilities.hidden_modules[0]"},
		{[]ingredient{hideMod, above}, hide, allow, "tools.capabilities.hidden_modules[0]"},
		{[]ingredient{hideMod, auto}, hide, allow, "tools.capabilities.hidden_modules[0]"},
		{[]ingredient{hideMod, ask}, hide, allow, "tools.capabilities.hidden_modules[0]"},
		{[]ingredient{hideMod, block}, hide, no, "tools.capabilities.hidden_modules[0]"},
		{[]ingredient{hideMod, block, grant}, hide, allow, "tools.capabilities.hidden_modules[0]"},
		{[]ingredient{hideMod, askFirst}, hide, allow, "tools.capabilities.hidden_modules[0]"},
		{[]ingredient{hideMod, control}, hide, allow, "tools.capabilities.hidden_modules[0]"},
		{[]ingredient{hideMod, hideAct}, hide, allow, "tools.capabilities.hidden_actions[0]"},
		{[]ingredient{hideAct, deny}, hide, no, "tools.capabilities.hidden_actions[0]"},
		{[]ingredient{hideAct, approve}, hide, allow, "tools.capabilities.hidden_actions[0]"},
		{[]ingredient{hideAct, grant}, hide, allow, "tools.capabilities.hidden_actions[0]"},
		{[]ingredient{hideAct, above}, hide, allow, "tools.capabilities.hidden_actions[0]"},
		{[]ingredient{hideAct, auto}, hide, allow, "tools.capabilities.hidden_actions[0]"},
		{[]ingredient{hideAct, block}, hide, no, "tools.capabilities.hidden_actions[0]"},
		{[]ingredient{hideAct, control}, hide, allow, "tools.capabilities.hidden_actions[0]"},

		{[]ingredient{blocked, deny}, hide, no, "tools.modules.shell.constraints.blocked_actions"},
		{[]ingredient{blocked, approve}, hide, allow, "tools.modules.shell.constraints.blocked_actions"},
		{[]ingredient{blocked, grant}, hide, allow, "tools.modules.shell.constraints.blocked_actions"},
		{[]ingredient{blocked, above}, hide, allow, "tools.modules.shell.constraints.blocked_actions"},
		{[]ingredient{blocked, auto}, hide, allow, "tools.modules.shell.constraints.blocked_actions"},
		{[]ingredient{blocked, block}, hide, no, "tools.modules.shell.constraints.blocked_actions"},
		{[]ingredient{blocked, control}, hide, allow, "tools.modules.shell.constraints.blocked_actions"},
		{[]ingredient{blocked, noBlock}, hide, allow, "tools.modules.shell.constraints.blocked_actions"},
		{[]ingredient{blocked, hideMod}, hide, allow, "tools.modules.shell.constraints.blocked_actions"},
		{[]ingredient{outside, deny}, hide, no, "tools.modules.shell.constraints.allowed_actions"},
		{[]ingredient{outside, approve}, hide, allow, "tools.modules.shell.constraints.allowed_actions"},
		{[]ingredient{outside, grant}, hide, allow, "tools.modules.shell.constraints.allowed_actions"},
		{[]ingredient{outside, above}, hide, allow, "tools.modules.shell.constraints.allowed_actions"},
		{[]ingredient{outside, auto}, hide, allow, "tools.modules.shell.constraints.allowed_actions"},
		{[]ingredient{outside, block}, hide, no, "tools.modules.shell.constraints.allowed_actions"},
		{[]ingredient{outside, noBlock}, hide, allow, "tools.modules.shell.constraints.allowed_actions"},

		{[]ingredient{internal, deny}, hide, no, "tool.internal"},
		{[]ingredient{internal, approve}, hide, allow, "tool.internal"},
		{[]ingredient{internal, grant}, hide, allow, "tool.internal"},
		{[]ingredient{internal, auto}, hide, allow, "tool.internal"},
		{[]ingredient{internal, noBlock}, hide, allow, "tool.internal"},
		{[]ingredient{internal, control}, hide, allow, "tool.internal"},

		{[]ingredient{askFirst, deny}, no, no, "tools.capabilities.deny[0]"},
		{[]ingredient{askFirst, approve}, wait, allow, "tools.capabilities.approve[0]"},
		{[]ingredient{askFirst, grant}, wait, allow, "tool.ask_first"},
		{[]ingredient{askFirst, above}, no, allow, "tools.capabilities.max_risk_level"},
		{[]ingredient{askFirst, auto}, wait, allow, "tool.ask_first"},
		{[]ingredient{askFirst, ask}, wait, allow, "tools.capabilities.default_policy"},
		{[]ingredient{askFirst, block}, no, no, "tools.capabilities.default_policy"},
		{[]ingredient{askFirst, control}, wait, allow, "tool.ask_first"},
		{[]ingredient{askFirst, noBlock}, wait, allow, "tool.ask_first"},
	}
	for _, test := range tests {
		var s scene
		var names []string
		for _, with := range test.with {
			with.add(&s)
			names = append(names, with.name)
		}
		t.Run(strings.Join(names, " and "), func(t *testing.T) {
			rules, bash := s.rules(t), made(t, "shell.bash", s.runtime)
			got := policy.Decide(rules, bash, model)
			if got.Verdict != test.model || got.Rule != test.rule {
				t.Errorf("a model gets %+v, want %s by %s", got, test.model, test.rule)
			}
			if got := policy.Decide(rules, bash, daemon); got.Verdict != test.daemon {
				t.Errorf("the daemon gets %+v, want %s", got, test.daemon)
			}
		})
	}
}

func TestAppWithoutCapabilitiesDecidesByRisk(t *testing.T) {
	t.Parallel()
	const allow, wait = policy.Allow, policy.Approve
	effects := []tool.SideEffect{tool.None, tool.Read, tool.Write, "", tool.External, "teleports"}
	tests := []struct {
		risk tool.Risk
		want [6]policy.Verdict // by effect, in the order above
	}{
		{tool.Low, [6]policy.Verdict{allow, allow, allow, allow, allow, allow}},
		{tool.Medium, [6]policy.Verdict{allow, allow, allow, allow, wait, wait}},
		{"", [6]policy.Verdict{allow, allow, allow, allow, wait, wait}},
		{tool.High, [6]policy.Verdict{wait, wait, wait, wait, wait, wait}},
		{"wild", [6]policy.Verdict{wait, wait, wait, wait, wait, wait}},
	}
	rules := map[string]*policy.Rules{"nil": nil, "zero": {}, "compiled from nothing": compiled(t, nil, nil)}
	for name, r := range rules {
		for _, test := range tests {
			for i, effect := range effects {
				subject := made(t, "web.fetch", tool.Runtime{Risk: test.risk, SideEffect: effect})
				if got := policy.Decide(r, subject, model); got.Verdict != test.want[i] {
					t.Errorf("%s rules, risk %q, side effect %q: %+v, want %s", name, test.risk, effect, got, test.want[i])
				}
				if got := policy.Decide(r, subject, daemon); got.Verdict != allow {
					t.Errorf("%s rules, risk %q, side effect %q: the daemon gets %+v", name, test.risk, effect, got)
				}
			}
		}
	}
}

func TestRiskAboveTheCeilingIsDenied(t *testing.T) {
	t.Parallel()
	risks := []tool.Risk{tool.Low, tool.Medium, "", tool.High, "wild"}
	tests := []struct {
		ceiling tool.Risk
		want    string // a letter for each risk: a allowed, d denied
	}{
		{tool.Low, "adddd"},
		{tool.Medium, "aaadd"},
		{tool.High, "aaaaa"},
		{"", "aaaaa"},
	}
	for _, test := range tests {
		rules := compiled(t, &policy.Capabilities{DefaultPolicy: policy.Auto, MaxRisk: test.ceiling}, nil)
		got := ""
		for _, risk := range risks {
			got += string(policy.Decide(rules, made(t, "shell.bash", tool.Runtime{Risk: risk}), model).Verdict[0])
		}
		if got != test.want {
			t.Errorf("ceiling %q: %s for risks %q, want %s", test.ceiling, got, risks, test.want)
		}
	}
}

func TestRulesMatchWholeModulesAndActions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		entry   policy.Entry
		matches string // names that the entry covers
		not     string
	}{
		{"one action", policy.Entry{Module: "fs", Actions: []string{"read"}}, "fs.read",
			"fs.write choir.fs.read fs.read.read"},
		{"two actions", policy.Entry{Module: "fs", Actions: []string{"read", "write"}}, "fs.read fs.write", "fs.list"},
		{"a whole module", policy.Entry{Module: "fs"}, "fs.read fs.write", "choir.fs.read fsx.read"},
		{"a whole module by star", policy.Entry{Module: "fs", Actions: []string{"*"}}, "fs.read", "choir.read"},
		{"a dotted module", policy.Entry{Module: "choir.fs"}, "choir.fs.read", "fs.read choir.read choir.fs.local.read"},
		{"the parent of a dotted module", policy.Entry{Module: "choir"}, "choir.read", "choir.fs.read"},
		{"an action everywhere", policy.Entry{Module: "*", Actions: []string{"delete"}}, "fs.delete choir.fs.delete",
			"fs.read"},
		{"everything", policy.Entry{Module: "*"}, "fs.read choir.fs.delete", ""},
	}
	for _, test := range tests {
		rules := compiled(t, &policy.Capabilities{DefaultPolicy: policy.Auto, Deny: []policy.Entry{test.entry}}, nil)
		for want, names := range map[policy.Verdict]string{policy.Deny: test.matches, policy.Allow: test.not} {
			for _, name := range strings.Fields(names) {
				if got := policy.Decide(rules, made(t, name, tool.Runtime{}), model); got.Verdict != want {
					t.Errorf("%s: %s gets %+v, want %s", test.name, name, got, want)
				}
			}
		}
	}
}

func TestReasonsNameTheRule(t *testing.T) {
	t.Parallel()
	block := &policy.Capabilities{
		MaxRisk: tool.Medium,
		Deny: []policy.Entry{
			{Module: "shell", Reason: "no shell here"},
			{Module: "http", Actions: []string{"delete"}},
		},
		Approve: []policy.Entry{{Module: "filesystem", Actions: []string{"write"}}},
	}
	rules := compiled(t, block, nil)
	tests := []struct {
		tool    string
		runtime tool.Runtime
		rules   *policy.Rules
		want    string
	}{
		{"shell.bash", tool.Runtime{}, rules, "deny rule for shell.* in tools.capabilities: no shell here"},
		{"http.delete", tool.Runtime{}, rules,
			"deny rule for http.delete in tools.capabilities: nobody may make this call, so find another way"},
		{"filesystem.write", tool.Runtime{}, rules,
			"approve rule for filesystem.write in tools.capabilities: a human must approve this call first"},
		{"web.wipe", tool.Runtime{Risk: tool.High}, rules,
			"web.wipe is of high risk, above max_risk_level medium in tools.capabilities; " +
				"name it under grant or approve there to permit it"},
		{"web.fetch", tool.Runtime{}, rules,
			"default_policy approve in tools.capabilities: no rule names web.fetch, so a human must approve this call first"},
		{"web.fetch", tool.Runtime{SideEffect: tool.External}, nil,
			"web.fetch reaches past the workspace and the app file has no tools.capabilities, " +
				"so a human must approve this call first"},
		{"web.fetch", tool.Runtime{AskFirst: true}, nil,
			"web.fetch asks a human before each call, whatever the app file grants; wait for the answer"},
	}
	for _, test := range tests {
		if got := policy.Decide(test.rules, made(t, test.tool, test.runtime), model).Reason; got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.tool, got, test.want)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	block := &policy.Capabilities{
		DefaultPolicy: policy.Auto,
		Deny:          []policy.Entry{{Module: "shell"}, {Module: "*", Actions: []string{"drop", "delete"}}},
		Approve:       []policy.Entry{{Module: "filesystem", Actions: []string{"write", "edit"}}},
		Grant:         []policy.Entry{{Module: "filesystem", Actions: []string{"read", "list"}}},
		HiddenModules: []string{"queue"},
	}
	rules := compiled(b, block, map[string]policy.Constraint{"filesystem": {Blocked: []string{"wipe"}}})
	for name, dotted := range map[string]string{"grant": "filesystem.read", "default": "web.fetch", "deny": "shell.bash"} {
		subject := made(b, dotted, tool.Runtime{Risk: tool.Low})
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				policy.Decide(rules, subject, model)
			}
		})
	}
	b.Run("no block", func(b *testing.B) {
		subject := made(b, "filesystem.read", tool.Runtime{Risk: tool.Low})
		b.ReportAllocs()
		for b.Loop() {
			policy.Decide(nil, subject, model)
		}
	})
}

// Data of a class above the limit of either file is denied to models, whatever grants the
// tool, and to the daemon, of whose calls models are told. The kernel's own tools pass.
func TestDataAboveTheLimitIsDenied(t *testing.T) {
	t.Parallel()
	classes := []tool.DataClass{tool.DataPublic, tool.DataInternal, tool.DataSensitive, tool.DataRestricted}
	limited := func(most tool.DataClass) *policy.Rules {
		return compiled(t, &policy.Capabilities{DefaultPolicy: policy.Auto, MaxData: most, Grant: bash}, nil)
	}
	for _, most := range classes {
		for _, class := range append(classes, "") {
			want := policy.Allow
			if class.Level() > most.Level() {
				want = policy.Deny
			}
			x := made(t, "shell.bash", tool.Runtime{Risk: tool.Low, Data: class})
			user := compiled(t, &policy.Capabilities{DefaultPolicy: policy.Auto, Grant: bash}, nil)
			for name, rules := range map[string]*policy.Rules{
				"the app's": limited(most), "the user's": user.Over(limited(most), "callgate.yaml", "user.yaml"),
			} {
				d := policy.Decide(rules, x, model)
				if d.Verdict != want {
					t.Errorf("%s data under %s limit %s: %s", class, name, most, d.Verdict)
				}
				if want == policy.Deny && !strings.Contains(d.Reason, "above max_data_classification "+string(most)) {
					t.Errorf("the reason is %s", d.Reason)
				}
			}
			if d := policy.Decide(limited(most), x, daemon); d.Verdict != want {
				t.Errorf("the daemon's call of %s data under limit %s: %s", class, most, d.Verdict)
			}
		}
	}
	own := made(t, "context_builder.search_tools", tool.Runtime{Control: true})
	if d := policy.Decide(limited(tool.DataPublic), own, model); d.Verdict != policy.Allow {
		t.Errorf("the kernel's own tool: %s", d.Reason)
	}
	if _, err := policy.Compile(&policy.Capabilities{MaxData: "secret"}, nil); err == nil {
		t.Error("a class that there is not is taken")
	}
}

// Of two decisions with the same verdict counts the one that less can loosen.
func TestStricter(t *testing.T) {
	t.Parallel()
	const other = "changed since: "
	decisions := []policy.Decision{ // the least strict first
		{Verdict: policy.Allow, Rule: "tools.capabilities.grant[0]"},
		{Verdict: policy.Allow, Rule: other + "kernel.no_capabilities"},
		{Verdict: policy.Approve, Rule: other + "kernel.egress"},
		{Verdict: policy.Approve, Rule: "a.yaml: tools.capabilities.approve[0]"},
		{Verdict: policy.Approve, Rule: other + "tools.capabilities.deny[0]"},
		{Verdict: policy.Deny, Rule: "tools.capabilities.default_policy"},
		{Verdict: policy.Hide, Rule: "tool.internal"},
	}
	for i, a := range decisions {
		for j, b := range decisions {
			if got := policy.Stricter(a, b); got != decisions[max(i, j)] {
				t.Errorf("%v and %v: %v", a, b, got)
			}
		}
	}
}
