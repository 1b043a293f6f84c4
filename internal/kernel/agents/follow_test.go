package agents_test

import (
	"path/filepath"
	"testing"

	"callgate/internal/kernel/kerneltest"
)

// An agent that works already follows what narrows its parent later: a skill with states
// that the parent begins, and each of its steps.
func TestAgentFollowsItsParentsSkill(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	model := kerneltest.NewModel(t, kerneltest.Answer{Text: "done", After: never})
	folder := t.TempDir()
	kerneltest.Write(t, filepath.Join(folder, "skills", "fix", "SKILL.md"), `---
name: fix
description: how a fault is mended
initial_state: understand
max_steps: 6
states:
  understand:
    objective: Read what is there.
    allowed_tools: [filesystem.read]
    transitions: [{on: understood, to: modify}]
  modify:
    objective: Change it.
    allowed_tools: [filesystem.read, filesystem.write]
    transitions: [{on: modified, to: done}]
  done: {terminal: true}
---
Mend it calmly.
`)
	kerneltest.Write(t, filepath.Join(folder, "a.txt"), "alpha\n")
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), `
agents:
- {id: lead, role: coordinator, brain: {provider: offline}}
- {id: helper, brain: `+model.Brain("openai", "gpt-4o")+`}
dev: {skills: [{command: fix, path: skills/fix}]}
tools:
  modules: {filesystem: {}}
  capabilities: {default_policy: auto}
`)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	parent := kerneltest.OpenConversation(t, k, folder).Session()
	child := spawned(t, k, parent)
	step := func(name, args string) {
		t.Helper()
		if name == "" {
			return
		}
		if r := make1(t, parent, name, args); r.Err() != nil {
			t.Fatal(r.Err())
		}
	}
	for _, c := range []struct {
		name, call, args string // what the parent does first
		read, write      verdict
	}{
		{"before it", "", "", ran, ran},
		{"in a state without it", "use_skill", `{"command":"fix"}`, ran, refused},
		{"in a state with it", "skill_step", `{"on":"understood"}`, ran, ran},
	} {
		step(c.call, c.args)
		if got := verdictOf(make1(t, child, "filesystem.read", `{"path":"a.txt"}`)); got != c.read {
			t.Errorf("%s: reading %v, want %v", c.name, got, c.read)
		}
		r := make1(t, child, "filesystem.write", `{"path":"b.txt","content":"beta"}`)
		if got := verdictOf(r); got != c.write {
			t.Errorf("%s: writing %v, want %v: %s", c.name, got, c.write, r.Summary)
		}
	}
}
