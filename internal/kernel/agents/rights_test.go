package agents_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/gate"
	"callgate/internal/gate/permission"
	"callgate/internal/kernel"
	"callgate/internal/kernel/agents"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// verdict is what became of a call: it ran, it waits for a human, or it was refused.
type verdict int

const (
	ran verdict = iota
	waits
	refused
)

func (v verdict) String() string { return []string{"ran", "waits", "refused"}[v] }

func verdictOf(r *tool.Result) verdict {
	switch kind := tool.KindOf(r.Err()); {
	case r.Status == tool.Waiting:
		return waits
	case kind == tool.Denied, kind == tool.NotFound && strings.Contains(r.Summary, "no tool"), r.Status == tool.Refused:
		return refused
	}
	return ran
}

// calls are made by a parent and by its agent, each as if it were the other.
var calls = []struct{ name, args string }{
	{"filesystem.read", `{"path":"a.txt"}`},
	{"filesystem.write", `{"path":"b.txt","content":"b"}`},
	{"filesystem.write", `{"path":"src/c.txt","content":"c"}`},
	{"filesystem.edit", `{"path":"a.txt","old_string":"42","new_string":"42"}`},
	{"filesystem.glob", `{"pattern":"*.txt"}`},
	{"shell.bash", `{"command":"true"}`},
	{"shell.bash", `{"command":"ls a.txt"}`},
	{"shell.bash", `{"command":"touch a.txt"}`},
	{"memory.remember", `{"content":"x"}`},
	{"memory.set_goal", `{"goal":"x"}`},
	{"callgate.yaml", `{}`},
}

// randomApp is an app with random rules, modules and modes; of each, none at times.
func randomApp(r *rand.Rand, brain string) string {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	some := func(n int, from ...string) string {
		var list []string
		for range r.IntN(n + 1) {
			list = append(list, pick(from...))
		}
		return strings.Join(list, ", ")
	}
	rules := []string{
		"{module: filesystem}", "{module: filesystem, actions: [write]}", "{module: filesystem, actions: [read, glob]}",
		"{module: shell}", "{module: memory}", `{module: shell, match: {command: "ls *"}}`,
		`{module: filesystem, actions: [write], match: {path: "src/**"}}`,
	}
	modules := func() string {
		return pick("", "modules: [filesystem, shell, memory]", "modules: [filesystem: [read, write]]",
			"modules: [shell]", "modules: [filesystem, memory]", "modules: []")
	}
	hook := pick("", `
  hooks:
  - {id: guard, on: tool_start, condition: {type: tool_name, match: "filesystem.write"}, action: {type: gate, reason: no}}`)
	return fmt.Sprintf(`
agents:
- id: lead
  role: coordinator
  brain: {provider: offline}
  %s%s
- {id: helper, brain: %s%s}
tools:
  modules: {filesystem: {}, shell: {}, memory: {}}
  capabilities:
    default_policy: %s
    max_risk_level: %s
    grant: [{module: agent_spawn}%s]
    approve: [%s]
    deny: [%s]
`, modules(), hook, brain, prefixed(", ", modules()), pick("auto", "approve", "block"), pick("low", "medium", "high", "high"),
		prefixed(", ", some(3, rules...)), some(2, rules...), some(1, rules...))
}

func prefixed(with, text string) string {
	if text == "" {
		return ""
	}
	return with + text
}

// A call that a parent would be denied is never allowed to its agent, and one about which
// the parent would have to ask is never made by its agent unasked: whatever the rules, the
// modules, the hooks, the permission mode and what a human allowed the parent.
func TestAgentNeverHasMoreThanItsParent(t *testing.T) {
	const apps = 24
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	seen := map[[2]verdict]int{}
	for seed := range uint64(apps) {
		r := rand.New(rand.NewPCG(18, seed))
		never := make(chan struct{})
		defer close(never)
		model := kerneltest.NewModel(t, kerneltest.Answer{Text: "done", After: never})
		folder := t.TempDir()
		text := randomApp(r, model.Brain("openai", "gpt-4o"))
		kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), text)
		kerneltest.Write(t, filepath.Join(folder, "a.txt"), "42\n")
		kerneltest.OpenAccepted(t, k, folder).Close()
		parent := kerneltest.OpenConversation(t, k, folder).Session()
		setMode := func(m permission.Mode) {
			k.Permissions.Table.Change(parent.ID(), func(s permission.State) permission.State {
				s.Mode = m
				return s
			})
		}
		setMode(permission.Modes()[r.IntN(3)])
		if r.IntN(2) == 0 {
			allow(t, k, parent, "shell: ls *")
		}
		child := spawned(t, k, parent)
		for round := range 2 {
			for _, c := range calls {
				one := verdictOf(make1(t, child, c.name, c.args))
				other := verdictOf(make1(t, parent, c.name, c.args))
				seen[[2]verdict{other, one}]++
				if one < other {
					t.Fatalf("seed %d, round %d: %s %s: the parent's call %v, and the agent's %v\n%s",
						seed, round, c.name, c.args, other, one, text)
				}
			}
			setMode(permission.Modes()[r.IntN(3)]) // whatever the parent becomes, its agent follows
		}
	}
	for _, v := range []verdict{ran, waits, refused} {
		if seen[[2]verdict{v, v}] < 10 {
			t.Errorf("too few calls that %v for both: %v", v, seen)
		}
	}
	t.Log(seen)
}

// allow lets a session make calls without asking.
func allow(t *testing.T, k *kernel.Kernel, s *session.Session, text string) {
	t.Helper()
	e, err := permission.ParseEntry(text, func(name string) (*tool.Tool, error) {
		v, err := s.View().Tool(t.Context(), name)
		return v.Tool, err
	})
	if err == nil { // it has no shell
		k.Permissions.Table.Allow(s.ID(), e)
	}
}

// spawned has a parent start an agent, and returns the agent's session.
func spawned(t *testing.T, k *kernel.Kernel, parent *session.Session) *session.Session {
	t.Helper()
	r := make1(t, parent, "agent_spawn.agent", `{"prompt":"work","specialist":"helper"}`)
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	id := data[agents.Record](t, r.Data).AgentID
	var child *session.Session
	kerneltest.Eventually(t, func() bool {
		s, err := k.Sessions.Get(id)
		child = s
		return err == nil
	})
	return child
}

// make1 makes a call that waits for no human.
func make1(t *testing.T, s *session.Session, name, args string) *tool.Result {
	t.Helper()
	return s.Call(t.Context(), gate.CallRequest{Name: name, Args: []byte(args), NoWait: true})
}

func make2(ctx context.Context, s *session.Session, name, args string) *tool.Result {
	return s.Call(ctx, gate.CallRequest{Name: name, Args: []byte(args), NoWait: true})
}
