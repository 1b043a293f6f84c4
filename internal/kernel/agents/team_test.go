package agents_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/conversation"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel/agents"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/llm"
	"callgate/tool"
)

// An agent that failed is tried again as often as the pool says, in its own conversation, and
// is told why.
func TestAgentIsTriedAgain(t *testing.T) {
	t.Parallel()
	no := kerneltest.Answer{Refusal: `{"error":{"message":"no such model today"}}`}
	yes := kerneltest.Answer{Text: "done at last"}
	for _, test := range []struct {
		name   string
		pool   string
		script []kerneltest.Answer
		asked  int
		status agents.Status
	}{
		{"not unless said", "", []kerneltest.Answer{no, yes}, 1, agents.Failed},
		{"once", "pool: {auto_retry: 2}", []kerneltest.Answer{no, yes}, 2, agents.Completed},
		{"until it is enough", "pool: {auto_retry: 1}", []kerneltest.Answer{no, no, yes}, 2, agents.Failed},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			reader := kerneltest.NewModel(t, test.script...)
			k := kerneltest.Open(t, kerneltest.StateDir(t))
			folder := team(t, brains(map[string]*kerneltest.Model{"reader": reader}), test.pool)
			kerneltest.OpenAccepted(t, k, folder).Close()
			parent := kerneltest.OpenConversation(t, k, folder).Session()
			result := make1(t, parent, "agent_spawn.agent", `{"prompt":"look","specialist":"reader","wait":true}`)
			kerneltest.OK(t, result.Err())
			r := data[agents.Record](t, result.Data)
			if r.Status != test.status || len(reader.Asked()) != test.asked {
				t.Fatalf("its model was asked %d times, and it is %+v", len(reader.Asked()), r)
			}
			if r.Status == agents.Failed && !strings.Contains(r.Error, "no such model today") {
				t.Errorf("it does not say why it failed: %+v", r)
			}
			if last := reader.Last(); test.asked > 1 &&
				!(strings.Contains(last, "Your last try ended before it was done") && strings.Contains(last, "look")) {
				t.Errorf("it was told %s", last)
			}
		})
	}
}

// An agent starts those that its file says, and copies of itself.
func TestDelegateTo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, line, specialist string
		kind                   tool.Kind // "": it is started
		says                   string
	}{
		{"one that is named", "delegate_to: [reader]", "reader", "", ""},
		{"a copy", "delegate_to: [reader]", "", "", ""},
		{"itself by name", "delegate_to: [reader]", "lead", "", ""},
		{"one that is not named", "delegate_to: [reader]", "writer", tool.Denied, "its delegate_to does not name it"},
		{"any", "", "writer", "", ""},
		{"one that there is not", "", "nobody", tool.NotFound, "the specialists are reader, writer"},
		{"none is named", "delegate_to: []", "writer", tool.Denied, "leave specialist out"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			k, folder := kerneltest.Open(t, kerneltest.StateDir(t)), t.TempDir()
			kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), `
agents:
- {id: lead, role: coordinator, brain: {provider: offline}`+prefixed(", ", test.line)+`}
- {id: reader, brain: {provider: offline}}
- {id: writer, brain: {provider: offline}}
tools: {modules: {filesystem: {}}, capabilities: {default_policy: auto}}
`)
			kerneltest.OpenAccepted(t, k, folder).Close()
			parent := kerneltest.OpenConversation(t, k, folder).Session()
			r := make1(t, parent, "agent_spawn.agent", fmt.Sprintf(`{"prompt":"hello","specialist":%q,"wait":true}`, test.specialist))
			if got := tool.KindOf(r.Err()); r.Err() != nil && got != test.kind || r.Err() == nil && test.kind != "" ||
				!strings.Contains(fmt.Sprint(r.Err()), test.says) && test.says != "" {
				t.Errorf("%+v", r)
			}
			if list := tree(t, k, parent.ID()); (len(list) == 1) != (test.kind == "") {
				t.Errorf("%d agents were started", len(list))
			}
		})
	}
}

// Who answers for an agent's call sees which agent asks, and for whom, at any depth.
func TestAgentAsksUnderItsName(t *testing.T) {
	t.Parallel()
	const start = `agent_spawn__agent {"prompt":"write","specialist":"writer","wait":true}`
	write := []kerneltest.Answer{{Calls: []string{`filesystem__write {"path":"b.txt","content":"b"}`}}, {Text: "wrote"}}
	for path, test := range map[string]struct{ lead, reader string }{
		"lead > writer":          {start, ""},
		"lead > reader > writer": {strings.Replace(start, "writer", "reader", 1), start},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			then := kerneltest.Answer{Text: "done"}
			models := map[string]*kerneltest.Model{
				"lead":   kerneltest.NewModel(t, kerneltest.Answer{Calls: []string{test.lead}}, then),
				"reader": kerneltest.NewModel(t, kerneltest.Answer{Calls: []string{test.reader}}, then),
				"writer": kerneltest.NewModel(t, write...),
			}
			k, folder := kerneltest.Open(t, kerneltest.StateDir(t)), t.TempDir()
			kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), fmt.Sprintf(`
agents:
- {id: lead, role: coordinator, brain: %s}
- {id: reader, role: coordinator, brain: %s}
- {id: writer, brain: %s}
tools:
  modules: {filesystem: {}}
  capabilities: {default_policy: auto, approve: [{module: filesystem, actions: [write]}]}
`, brains(models)("lead"), brains(models)("reader"), brains(models)("writer")))
			kerneltest.OpenAccepted(t, k, folder).Close()
			c := kerneltest.OpenConversation(t, k, folder)
			human, asked := kerneltest.Human(t, k), make(chan approval.Request, 1)
			_, err := c.Send(t.Context(), llm.TextMessage(llm.User, "go"), conversation.Watch{Asked: func(r approval.Request) {
				if r.State == approval.Pending {
					asked <- r
					go func() {
						if err := k.Approvals.Answer(context.WithoutCancel(t.Context()), human, r.ID, approval.Answer{Approve: true}); err != nil {
							t.Error(err)
						}
					}()
				}
			}})
			kerneltest.OK(t, err)
			r := <-asked
			if r.Asker.Path != path || r.Call.Principal.Agent != "writer" {
				t.Errorf("asked as %q, by %q", r.Asker.Path, r.Call.Principal.Agent)
			}
			if _, err := os.Stat(filepath.Join(folder, "b.txt")); err != nil {
				t.Error(err)
			}
		})
	}
}

// ways are how a call may be made besides by its name.
var ways = map[string]string{
	"plain":      `%s %s`,
	"background": `context_builder.background_run {"name":"%s","params":%s,"wait_for":"","settle_seconds":1}`,
	"parallel":   `context_builder.run_parallel {"calls":[{"name":"%s","params":%s}]}`,
	"execute":    `context_builder.execute_tool {"name":"%s","params":%s}`,
}

// In a mode of the app an agent has what the mode leaves its parent, also when the mode
// changes while the agent works, and whatever way it calls.
func TestAgentKeepsToTheModeOfItsParent(t *testing.T) {
	t.Parallel()
	folder := helped(t, held(t), "", "")
	file := filepath.Join(folder, "callgate.yaml")
	text, err := os.ReadFile(file)
	kerneltest.OK(t, err)
	kerneltest.Write(t, file, string(text)+`
runtime:
  modes:
    all: {description: does the work}
    review: {description: looks, tool_grants: [filesystem.read, agent_spawn, context_builder]}
`)
	kerneltest.Write(t, filepath.Join(folder, "a.txt"), "a")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	kerneltest.OpenAccepted(t, k, folder).Close()
	parent := kerneltest.OpenConversation(t, k, folder)
	check := func(child *session.Session, when string, may bool) {
		t.Helper()
		for way, form := range ways {
			name, args, _ := strings.Cut(fmt.Sprintf(form, "filesystem.write", `{"path":"`+way+`.txt","content":"b"}`), " ")
			r := make1(t, child, name, args)
			_, err := os.Stat(filepath.Join(folder, way+".txt"))
			if (err == nil) != may {
				t.Errorf("%s, %s: written: %v; %s %s", when, way, err == nil, r.Summary, r.Data)
			}
			_ = os.Remove(filepath.Join(folder, way+".txt"))
		}
		if r := make1(t, child, "filesystem.read", `{"path":"a.txt"}`); r.Err() != nil {
			t.Errorf("%s: reading: %v", when, r.Err())
		}
	}
	change := func(mode string) {
		t.Helper()
		kerneltest.OK(t, k.Conversations.SetAppMode(t.Context(), parent, mode, func() error { return nil }))
	}
	first := spawned(t, k, parent.Session())
	check(first, "in the mode all", true)
	change("review")
	check(first, "after the change", false)
	check(spawned(t, k, parent.Session()), "begun in the mode review", false)
}

// A goal, and the list of work, are the parent's: no agent changes them, whatever way it calls.
func TestAgentSetsNoGoal(t *testing.T) {
	t.Parallel()
	folder := helped(t, held(t), "", "")
	file := filepath.Join(folder, "callgate.yaml")
	text, err := os.ReadFile(file)
	kerneltest.OK(t, err)
	kerneltest.Write(t, file, strings.Replace(string(text), "filesystem: {}", "filesystem: {}, memory: {}", 1))
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	kerneltest.OpenAccepted(t, k, folder).Close()
	parent := kerneltest.OpenConversation(t, k, folder).Session()
	for _, call := range []string{`memory.set_goal {"goal":"the parent's"}`, `memory.task_create {"subject":"the parent's task"}`} {
		name, args, _ := strings.Cut(call, " ")
		kerneltest.OK(t, make1(t, parent, name, args).Err())
	}
	child := spawned(t, k, parent)
	for call, args := range map[string]string{
		"memory.set_goal": `{"goal":"mine"}`, "memory.task_create": `{"subject":"mine"}`,
		"memory.task_update": `{"task_id":"t1","status":"completed"}`,
	} {
		for way, form := range ways {
			name, args, _ := strings.Cut(fmt.Sprintf(form, call, args), " ")
			r := make1(t, child, name, args)
			if all := r.Summary + string(r.Data); !strings.Contains(all, "no tool") && !strings.Contains(all, "goals and lists") {
				t.Errorf("%s, %s: %s", call, way, all)
			}
		}
	}
	if r := make1(t, child, "memory.remember", `{"content":"found by an agent"}`); r.Err() != nil {
		t.Errorf("remembering: %v", r.Err())
	}
}

// However many agents work, so many requests to their model run at once as its brain says.
func TestAgentsShareTheirModel(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	model := kerneltest.NewModelOf(t, func(json.RawMessage) kerneltest.Answer {
		return kerneltest.Answer{Text: "done", After: goOn}
	})
	folder := helped(t, model.Brain("openai", "gpt-4o", "max_concurrent: 2"), "\n  pool: {max_workers: 5}", "")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	kerneltest.OpenAccepted(t, k, folder).Close()
	parent := kerneltest.OpenConversation(t, k, folder).Session()
	work := strings.TrimSuffix(strings.Repeat(`{"prompt":"p","specialist":"helper"},`, 5), ",")
	kerneltest.OK(t, make1(t, parent, "agent_spawn.agent", `{"agents":[`+work+`]}`).Err())
	kerneltest.Eventually(t, func() bool {
		running := 0
		for _, one := range tree(t, k, parent.ID()) {
			if _, err := k.Sessions.Get(one.ID); err == nil && one.Status() == agents.Running {
				running++
			}
		}
		return running == 5 && len(model.Asked()) >= 2
	})
	if n := len(model.Asked()); n != 2 {
		t.Errorf("%d requests run at once", n)
	}
	close(goOn)
	make1(t, parent, "agent_spawn.agent", `{"agent_ids":[],"wait":true}`)
	if n := len(model.Asked()); n != 5 {
		t.Errorf("%d requests were made", n)
	}
}

// A file that grants the module, and lists it nowhere, gives its agents the tool and no warning.
func TestGrantTurnsAgentsOn(t *testing.T) {
	t.Parallel()
	k, folder := kerneltest.Open(t, kerneltest.StateDir(t)), t.TempDir()
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), `
agents: [{id: a, brain: {provider: offline}}]
tools:
  modules: {filesystem: {}}
  capabilities: {default_policy: block, grant: [{module: agent_spawn}]}
`)
	kerneltest.OpenAccepted(t, k, folder).Close()
	s := kerneltest.OpenConversation(t, k, folder).Session()
	if warned := strings.Join(s.Warnings(), " "); strings.Contains(warned, "agent_spawn") {
		t.Errorf("warned: %s", warned)
	}
	kerneltest.OK(t, make1(t, s, "agent_spawn.agent", `{"list_agents":true}`).Err())
}
