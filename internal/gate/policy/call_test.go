package policy_test

import (
	"strings"
	"testing"

	"callgate/internal/gate/match"
	"callgate/internal/gate/policy"
	"callgate/tool"
)

func command(text string) *match.Call {
	return &match.Call{Module: "shell", Action: "bash", Workspace: "/w", Args: map[string]any{"command": text}}
}

func withCommand(patterns ...any) policy.Entry {
	return policy.Entry{Module: "shell", Actions: []string{"bash"}, Match: map[string]any{"command": patterns}}
}

// A grant about some arguments counts only once it was accepted, like any other,
// and each by itself.
func TestFloorOfGrantsWithAMatch(t *testing.T) {
	t.Parallel()
	bash := made(t, "shell.bash", tool.Runtime{Risk: tool.High, SideEffect: tool.Write})
	rules := compiled(t, &policy.Capabilities{
		Grant: []policy.Entry{withCommand("git log *"), withCommand("npm test")},
		Deny:  []policy.Entry{withCommand("npm publish *")},
	}, nil)
	var texts []string
	for _, g := range rules.Wider([]*tool.Tool{bash}) {
		texts = append(texts, g.Text+" except "+strings.Join(g.Except, ", "))
	}
	const want = `shell.bash with command: ["git log *"] except shell.bash with command: ["npm publish *"]` + "\n" +
		`shell.bash with command: ["npm test"] except shell.bash with command: ["npm publish *"]`
	if got := strings.Join(texts, "\n"); got != want {
		t.Errorf("wider:\n%s\nwant:\n%s", got, want)
	}
	one := func(g policy.Grant) bool { return strings.Contains(g.Text, "git log") }
	for _, c := range []struct {
		name, line string
		rules      *policy.Rules
		want       policy.Verdict
	}{
		{"accepted", "git log && npm test", rules.Floor(everything), policy.Allow},
		{"nothing accepted", "git log", rules.Floor(nothing), policy.Approve},
		{"one accepted", "git log", rules.Floor(one), policy.Allow},
		{"the other", "npm test", rules.Floor(one), policy.Approve},
		{"both in a line", "git log && npm test", rules.Floor(one), policy.Approve},
		{"denied", "npm publish", rules.Floor(nothing), policy.Deny},
	} {
		if got := policy.DecideCall(c.rules, bash, model, command(c.line)); got.Verdict != c.want {
			t.Errorf("%s: %q is %+v, want %s", c.name, c.line, got, c.want)
		}
	}
	if got := policy.DecideCall(rules.Floor(nothing), bash, model, command("git log")); !strings.Contains(got.Reason, "app trust") {
		t.Errorf("the reason is %q", got.Reason)
	}
}

// Nobody can be asked in the kernel's own calls: what may be denied is.
func TestDenyInDoubtForTheDaemon(t *testing.T) {
	t.Parallel()
	bash := made(t, "shell.bash", tool.Runtime{Risk: tool.High})
	rules := compiled(t, &policy.Capabilities{Deny: []policy.Entry{withCommand("rm *")}}, nil)
	for line, want := range map[string][2]policy.Verdict{
		"rm x": {policy.Deny, policy.Deny},
		"$x":   {policy.Approve, policy.Deny},
		"ls":   {policy.Approve, policy.Allow},
	} {
		got := [2]policy.Verdict{
			policy.DecideCall(rules, bash, model, command(line)).Verdict,
			policy.DecideCall(rules, bash, daemon, command(line)).Verdict,
		}
		if got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
}

// BenchmarkDecideCall is what rules about arguments cost a call.
func BenchmarkDecideCall(b *testing.B) {
	bash := made(b, "shell.bash", tool.Runtime{Risk: tool.High})
	write := made(b, "fs.write", tool.Runtime{Risk: tool.Medium})
	rules := compiled(b, &policy.Capabilities{
		Grant: []policy.Entry{
			withCommand("git log *", "npm test", "ls *"),
			{Module: "fs", Match: map[string]any{"path": "src/**"}},
		},
		Deny: []policy.Entry{withCommand("rm *"), {Module: "fs", Match: map[string]any{"path": "docs/**"}}},
	}, nil)
	b.Run("command", func(b *testing.B) {
		for b.Loop() {
			if policy.DecideCall(rules, bash, model, command("git log --oneline -5 | ls -l")).Verdict != policy.Allow {
				b.Fatal("it is not allowed")
			}
		}
	})
	b.Run("path", func(b *testing.B) {
		call := &match.Call{Module: "fs", Action: "write", Workspace: "/w", Args: map[string]any{"path": "src/a/b.go"}}
		call.AddPath("path", "/w/src/a/b.go", false)
		for b.Loop() {
			if policy.DecideCall(rules, write, model, call).Verdict != policy.Allow {
				b.Fatal("it is not allowed")
			}
		}
	})
	b.Run("no match", func(b *testing.B) {
		other := made(b, "web.search", tool.Runtime{Risk: tool.Low})
		for b.Loop() {
			policy.DecideCall(rules, other, model, nil)
		}
	})
}

// TestGrantsOfDoubtfulLines tests that a grant of every program in a line does not cover a line that
// cannot be read with certainty: a human is asked.
func TestGrantsOfDoubtfulLines(t *testing.T) {
	t.Parallel()
	bash := made(t, "shell.bash", tool.Runtime{Risk: tool.High})
	rules := compiled(t, &policy.Capabilities{
		Grant: []policy.Entry{withCommand("git log *", "cat *", "echo *", "xargs *", "eval *", "sh *")},
	}, nil)
	for line, want := range map[string]policy.Verdict{
		"git log | xargs -n 1 cat":                  policy.Allow,
		"git log | xargs -p cat":                    policy.Approve,
		"git log | xargs -i cat":                    policy.Approve,
		"git log | xargs -x echo":                   policy.Approve,
		"git log | xargs --arg-file=x cat":          policy.Approve,
		"git log | xargs --replace=X echo X":        policy.Approve,
		"git log | xargs --process-slot-var=x echo": policy.Approve,
		`eval 'echo x'`:                             policy.Allow,
		`eval 'echo \'`:                             policy.Approve,
		`sh -c 'echo x'`:                            policy.Allow,
		`sh -c 'echo \'`:                            policy.Approve,
		`sh -c 'echo $((1+1))'`:                     policy.Approve,
	} {
		if got := policy.DecideCall(rules, bash, model, command(line)); got.Verdict != want {
			t.Errorf("%s: %+v, want %s", line, got, want)
		}
	}
}

// A rule of every module about path is about each file that a call names, whatever the
// parameter is called. To permit, the parameter must be path.
func TestPathAcrossModules(t *testing.T) {
	t.Parallel()
	everywhere := policy.Entry{Module: "*", Match: map[string]any{"path": "private/**"}}
	ofOne := policy.Entry{Module: "filesystem", Match: map[string]any{"path": "private/**"}}
	call := func(name, param, path string) *match.Call {
		module, action, _ := strings.Cut(name, ".")
		c := &match.Call{Module: module, Action: action, Workspace: "/w", Args: map[string]any{param: path}}
		c.AddPath(param, "/w/"+path, false)
		return c
	}
	tests := []struct {
		name  string
		rules policy.Capabilities
		call  *match.Call
		want  policy.Verdict
	}{
		{"connect", policy.Capabilities{Deny: []policy.Entry{everywhere}}, call("database.connect", "database", "private/x.db"), policy.Deny},
		{"connect by a URL", policy.Capabilities{Deny: []policy.Entry{everywhere}}, call("database.connect", "dsn", "private/x.db"), policy.Deny},
		{"connect elsewhere", policy.Capabilities{Deny: []policy.Entry{everywhere}}, call("database.connect", "database", "x.db"), policy.Allow},
		{"a move", policy.Capabilities{Deny: []policy.Entry{everywhere}}, call("filesystem.move", "to", "private/x"), policy.Deny},
		{"path itself", policy.Capabilities{Deny: []policy.Entry{everywhere}}, call("filesystem.read", "path", "private/x"), policy.Deny},
		{"approve", policy.Capabilities{Approve: []policy.Entry{everywhere}}, call("image.info", "image", "private/x.png"), policy.Approve},
		{"of one module", policy.Capabilities{Deny: []policy.Entry{ofOne}}, call("database.connect", "database", "private/x.db"), policy.Allow},
		{"a grant", policy.Capabilities{DefaultPolicy: policy.Ask, Grant: []policy.Entry{everywhere}}, call("database.connect", "database", "private/x.db"), policy.Approve},
		{"a grant of path", policy.Capabilities{DefaultPolicy: policy.Ask, Grant: []policy.Entry{everywhere}}, call("filesystem.read", "path", "private/x"), policy.Allow},
	}
	for _, test := range tests {
		if test.rules.DefaultPolicy == "" {
			test.rules.DefaultPolicy = policy.Auto
		}
		rules := compiled(t, &test.rules, nil)
		made := made(t, test.call.Module+"."+test.call.Action, tool.Runtime{Risk: tool.Low})
		if got := policy.DecideCall(rules, made, model, test.call); got.Verdict != test.want {
			t.Errorf("%s: %s, want %s (%s)", test.name, got.Verdict, test.want, got.Reason)
		}
	}
}
