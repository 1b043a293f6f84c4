package conversation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/questions"
	"callgate/internal/question"
	"callgate/llm"
)

// said is a message of the user, and the calls that a model makes for it, one after
// another. The message says the same to the offline brain, in words that it understands.
type said struct {
	message string
	calls   []string // as "name {json}"
	after   string   // what the agent says then; the offline brain says its own
}

// talk is a conversation that every brain has.
type talk struct {
	name    string
	turns   []said
	mode    string            // how tools are shown; "": direct
	restart bool              // another kernel goes on with each turn
	told    []string          // what the model is told, call by call: a part of it
	files   map[string]string // that are there afterwards; "": it is not there
}

// talks is the suite.
var talks = []talk{
	{name: "words", turns: []said{{message: "hello", after: "Hello."}}},
	{
		name: "one call", turns: []said{{`filesystem.read path="a.txt"`, []string{`filesystem__read {"path":"a.txt"}`}, "alpha"}},
		told: []string{"success alpha"},
	},
	{
		name: "one call after another, over two turns",
		turns: []said{
			{`filesystem.write path="b.txt" content="beta"; filesystem.read path="b.txt"`, []string{
				`filesystem__write {"path":"b.txt","content":"beta"}`, `filesystem__read {"path":"b.txt"}`,
			}, "written"},
			{`filesystem.edit path="b.txt" old="beta" new="gamma"`, []string{
				`filesystem__edit {"path":"b.txt","old":"beta","new":"gamma"}`,
			}, "changed"},
		},
		told: []string{"success ", "success beta", "success "}, files: map[string]string{"b.txt": "gamma"},
	},
	{
		name: "a call that fails", turns: []said{{`filesystem.read path="none.txt"`, []string{`filesystem__read {"path":"none.txt"}`}, "no"}},
		told: []string{"error none.txt"},
	},
	{
		name:  "a call that a rule denies",
		turns: []said{{`filesystem.delete path="a.txt"`, []string{`filesystem__delete {"path":"a.txt"}`}, "it may not"}},
		told:  []string{"denied not allowed"}, files: map[string]string{"a.txt": "alpha\n"},
	},
	{
		name:  "a call that a human allows",
		turns: []said{{`filesystem.move from="a.txt" to="c.txt"`, []string{`filesystem__move {"from":"a.txt","to":"c.txt"}`}, "moved"}},
		told:  []string{"success "}, files: map[string]string{"a.txt": "", "c.txt": "alpha\n"},
	},
	{
		name:  "a call that a human denies",
		turns: []said{{`filesystem.move from="keep.txt" to="c.txt"`, []string{`filesystem__move {"from":"keep.txt","to":"c.txt"}`}, "not moved"}},
		told:  []string{"denied it stays where it is"}, files: map[string]string{"keep.txt": "k", "c.txt": ""},
	},
	{
		name: "a question", turns: []said{{`ask_user question="Which colour?"`, []string{`ask_user {"question":"Which colour?"}`}, "blue"}},
		told: []string{"success blue"},
	},
	{
		name: "a skill", turns: []said{{`use_skill command="tone"`, []string{`use_skill {"command":"tone"}`}, "calmly"}},
		told: []string{"success Write calmly."},
	},
	{
		name: "a goal, and a kernel that is started again",
		turns: []said{
			{`memory.set_goal goal="ship it"`, []string{`memory__set_goal {"goal":"ship it"}`}, "set"},
			{`filesystem.read path="a.txt"`, []string{`filesystem__read {"path":"a.txt"}`}, "alpha"},
		},
		restart: true, told: []string{"success ", "success alpha"},
	},
	{
		name: "a script", turns: []said{{
			`run_script program="result = filesystem.read('a.txt').total_lines + 41"`,
			[]string{`run_script {"program":"result = filesystem.read('a.txt').total_lines + 41"}`}, "42",
		}},
		told: []string{"success 42"},
	},
	{
		name: "a proposal", turns: []said{{
			`propose_skill name="release" description="how we release" content="Tag it." reason="it is asked for daily"`,
			[]string{`propose_skill {"name":"release","description":"how we release","content":"Tag it.","reason":"it is asked for daily"}`},
			"proposed",
		}},
		told: []string{"success a human decides on it"}, files: map[string]string{".callgate/skills/release/SKILL.md": ""},
	},
	{
		name: "another agent", turns: []said{{
			"agent_spawn.agent wait=true prompt=\"read the file a.txt\"",
			[]string{"agent_spawn__agent {\"wait\":true,\"prompt\":\"read the file a.txt\"}"}, "the other has read it",
		}},
		told: []string{"success alpha"},
	},
	{
		name: "tools that are found", mode: "discovery",
		turns: []said{{`read the file a.txt`, []string{
			`search_tools {"query":"read the file file","detail":true,"max_results":5}`,
			`execute_tool {"name":"filesystem.read","params":{"path":"a.txt"}}`,
		}, "alpha"}},
		told: []string{"success filesystem.read", "success alpha"},
	},
	{
		name: "a reminder", turns: []said{
			{`remind when="in 30m" message="tea"`, []string{`remind {"when":"in 30m","message":"tea"}`}, "I will"},
			{`schedule_list`, []string{`schedule_list {}`}, "one"},
		},
		told: []string{"success tea", "success tea"},
	},
}

// brains are the brains that pass the suite.
var brains = map[string]struct {
	settings []string // provider, model and more; nil: the offline brain
	text     bool     // calls are written as text
}{
	"openai":    {settings: []string{"openai", "gpt-4o"}},
	"anthropic": {settings: []string{"anthropic", "claude-sonnet-4-5"}},
	"text":      {settings: []string{"openai", "gpt-4o", "native_tool_use: false"}, text: true},
	"offline":   {},
}

// Two providers, a model whose calls are text and the offline brain have the same
// conversations: the same calls run, end the same way and leave the same files.
func TestBrainsPassTheSameConversations(t *testing.T) {
	t.Parallel()
	for _, c := range talks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			stories := map[string][]string{}
			state := kerneltest.StateDir(t)
			k := kerneltest.Open(t, state)
			for name, b := range brains {
				model := kerneltest.NewModel(t)
				brain := "{provider: offline}"
				if b.settings != nil {
					brain = model.Brain(b.settings[0], b.settings[1], b.settings[2:]...)
				}
				stories[name], k = c.have(t, k, name, brain, model, c.script(b.text))
			}
			for name := range brains {
				if diff := cmp.Diff(stories["openai"], stories[name]); diff != "" {
					t.Errorf("openai and %s differ:\n%s", name, diff)
				}
			}
		})
	}
}

// script is what a model answers, turn by turn.
func (c talk) script(text bool) (turns [][]kerneltest.Answer) {
	for _, turn := range c.turns {
		var answers []kerneltest.Answer
		add := func(call string) {
			a := kerneltest.Answer{Calls: []string{call}}
			if text {
				name, args, _ := strings.Cut(call, " ")
				a = kerneltest.Answer{Text: `<tool_call>{"name": "` + name + `", "arguments": ` + args + "}</tool_call>"}
			}
			answers = append(answers, a)
		}
		for _, call := range turn.calls {
			add(call)
			if strings.HasPrefix(call, "agent_spawn") { // what the other agent's model answers
				add(`filesystem__read {"path":"a.txt"}`)
				answers = append(answers, kerneltest.Answer{Text: "it says alpha"})
			}
		}
		turns = append(turns, append(answers, kerneltest.Answer{Text: turn.after}))
	}
	return turns
}

// have has the conversation, and returns what happened in it, call by call, and the kernel
// that has it in the end.
func (c talk) have(
	t *testing.T, k *kernel.Kernel, name, brain string, model *kerneltest.Model, script [][]kerneltest.Answer,
) (story []string, last *kernel.Kernel) {
	t.Helper()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "a.txt"), "alpha\n")
	write(t, filepath.Join(folder, "keep.txt"), "k")
	write(t, filepath.Join(folder, "skills", "tone.md"), "Write calmly.\n")
	mode := c.mode
	if mode == "" {
		mode = "direct"
	}
	write(t, filepath.Join(folder, "callgate.yaml"), `
runtime: {tool_injection: `+mode+`, scheduler: true}
agents: [{id: main, brain: `+brain+`}]
dev: {skills: [{command: tone, description: how we write, path: skills/tone.md}]}
tools:
  modules: {filesystem: {}, memory: {}, agent_spawn: {}}
  capabilities:
    default_policy: auto
    deny: [{module: filesystem, actions: [delete]}]
    approve: [{module: filesystem, actions: [move]}]
`)
	open := kerneltest.OpenConversation(t, k, folder)
	for i, turn := range c.turns {
		if i > 0 && c.restart {
			state := string(k.State().Dir)
			kerneltest.OK(t, k.Close())
			k = kerneltest.Open(t, state)
			open = kerneltest.Resume(t, k, open.ID())
		}
		model.Play(script[i]...)
		ctx, cancel := context.WithCancel(t.Context())
		answerQuestions(ctx, t, k)
		end, err := open.Send(ctx, llm.TextMessage(llm.User, turn.message), conversation.Watch{Asked: answerApproval(t, k)})
		cancel()
		if err != nil || end.Reason != history.Done {
			t.Fatalf("%s, turn %d: %+v, %v", name, i+1, end, err)
		}
	}
	for i, told := range results(t, k, open.ID()) {
		if i >= len(c.told) {
			t.Errorf("%s: there is one call more, whose result is %s", name, told)
			break
		}
		_, part, _ := strings.Cut(c.told[i], " ")
		if !strings.Contains(told, part) {
			t.Errorf("%s: of call %d it is told %q, want %q in it", name, i+1, told, part)
		}
	}
	story = c.happened(t, k, open.ID())
	if len(story) != len(c.told) {
		t.Errorf("%s: the calls are %q", name, story)
	}
	for path, want := range c.files {
		got, err := os.ReadFile(filepath.Join(folder, path))
		if string(got) != want || os.IsNotExist(err) != (want == "") {
			t.Errorf("%s: %s has %q (%v), want %q", name, path, got, err, want)
		}
	}
	return story, k
}

// happened lists the calls of a conversation and how they ended.
func (c talk) happened(t *testing.T, k *kernel.Kernel, id string) (story []string) {
	t.Helper()
	args := map[string]any{} // by the ID of the call
	for _, e := range kerneltest.History(t, k, id) {
		if e.Type == history.CallMade {
			var given any
			kerneltest.OK(t, json.Unmarshal(e.Call.Args, &given))
			args[e.Call.ID] = given
		}
		if e.Type != history.CallEnded {
			continue
		}
		data, err := json.Marshal(args[e.Call.ID])
		kerneltest.OK(t, err)
		line := fmt.Sprintf("%s %s %s", strings.ReplaceAll(e.Call.Name, "__", "."), data, e.Result.Status)
		if want, _, _ := strings.Cut(c.told[min(len(story), len(c.told)-1)], " "); string(e.Result.Status) != want {
			t.Errorf("%s ends so, want %s: %s", line, want, e.Result.Summary)
		}
		story = append(story, line)
	}
	return story
}

// answerApproval allows what is asked, unless it is about the file that stays.
func answerApproval(t *testing.T, k *kernel.Kernel) func(approval.Request) {
	human := kerneltest.Human(t, k)
	return func(r approval.Request) {
		if r.State != approval.Pending {
			return
		}
		a := approval.Answer{Approve: !strings.Contains(string(r.Call.Args), "keep.txt")}
		if !a.Approve {
			a.Feedback = "it stays where it is"
		}
		go func() {
			if err := k.Approvals.Answer(context.WithoutCancel(t.Context()), human, r.ID, a); err != nil {
				t.Error(err)
			}
		}()
	}
}

// answerQuestions answers what the agent asks, until the turn has ended.
func answerQuestions(ctx context.Context, t *testing.T, k *kernel.Kernel) {
	human := kerneltest.Human(t, k)
	go func() {
		seen := map[string]bool{} // one that is asked while the watch begins may come twice
		for r, err := range k.Questions.Watch(ctx) {
			if err != nil || r.State != questions.Pending || seen[r.ID] {
				continue
			}
			seen[r.ID] = true
			if _, err := k.Questions.Answer(ctx, human, r.ID, question.Reply{Approve: true, Text: "blue"}); err != nil {
				t.Error(err)
			}
		}
	}()
}
