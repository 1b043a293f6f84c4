package conversation_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/undoing"
	"callgate/internal/task"
	"callgate/llm"
	"callgate/tool"
)

const fixSkill = `---
name: fix
description: how a fault is mended
initial_state: understand
max_steps: 6
interruptible: INTERRUPTIBLE
input_schema: {type: object}
output_schema: {type: object, properties: {summary: {type: string}}, required: [summary]}
states:
  understand:
    objective: Read what is there.
    allowed_tools: [filesystem.read, core_job, watch_start]
    transitions: [{on: understood, to: modify}]
  modify:
    objective: Change it.
    allowed_tools: [filesystem.read, filesystem.write]
    transitions: [{on: modified, to: done}, {on: unclear, to: understand}]
  done: {terminal: true}
---
Mend it calmly.
`

// skillApp is a folder whose app has the skill fix, with states.
func skillApp(t *testing.T, interruptible, more string, script ...kerneltest.Answer) (*kerneltest.Model, string) {
	t.Helper()
	model, folder := kerneltest.NewModel(t, script...), t.TempDir()
	write(t, filepath.Join(folder, "skills", "fix", "SKILL.md"), strings.Replace(fixSkill, "INTERRUPTIBLE", interruptible, 1))
	write(t, filepath.Join(folder, "skills", "fix", "references", "style.md"), "Short names.\n")
	write(t, filepath.Join(folder, "skills", "tone.md"), "Write calmly.\n")
	write(t, filepath.Join(folder, "a.txt"), "alpha\n")
	write(t, filepath.Join(folder, "callgate.yaml"), `
runtime: {tool_injection: direct, watchers: true}
agents:
  - id: main
    brain: `+model.Brain("openai", "gpt-4o")+`
dev:
  skills:
    - {command: fix, path: skills/fix}
    - {command: tone, description: how we write, path: skills/tone.md}
tools:
  modules: {filesystem: {}}
  capabilities: {default_policy: auto}
`+more)
	return model, folder
}

// results are the texts of the results that a model was given, in order.
func results(t *testing.T, k *kernel.Kernel, id string) (texts []string) {
	t.Helper()
	place := map[string]int{} // by the model's ID of a call, which the next answer uses again
	for _, e := range kerneltest.History(t, k, id) {
		switch e.Type {
		case history.CallMade:
			place[e.Call.Model] = len(texts)
			texts = append(texts, "")
		case history.CallEnded:
			text := e.Result.Summary
			for _, c := range e.Result.Content {
				text += "\n" + c.Text
			}
			texts[place[e.Call.Model]] = text
		}
	}
	return texts
}

func contains(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
}

// A skill with states refuses a tool outside of its state, however it is called, and says
// which state it is, what is allowed there and how it goes on. The tools that a model is
// shown stay the same bytes.
func TestStateRefusesAToolOutsideOfIt(t *testing.T) {
	t.Parallel()
	const write = `{"path":"b.txt","content":"beta"}`
	model, folder := skillApp(t, "true", "",
		kerneltest.Answer{Calls: []string{`use_skill {"command":"fix","input":{}}`}},
		kerneltest.Answer{Calls: []string{
			`filesystem__write ` + write,
			`execute_tool {"name":"filesystem.write","params":` + write + `}`,
			`run_parallel {"actions":[{"name":"filesystem.write","params":` + write + `}]}`,
			`background_run {"name":"filesystem.write","params":` + write + `}`,
			`watch_start {"name":"filesystem.grep","params":{"pattern":"x"}}`,
			`filesystem__read {"path":"a.txt"}`,
		}},
		kerneltest.Answer{Calls: []string{`skill_step {"on":"nonsense"}`}},
		kerneltest.Answer{Calls: []string{`skill_step {"on":"understood"}`}},
		kerneltest.Answer{Calls: []string{`filesystem__write ` + write}},
		kerneltest.Answer{Calls: []string{`skill_step {"on":"modified"}`}},
		kerneltest.Answer{Calls: []string{`skill_step {"on":"modified","output":{"summary":"beta"}}`}},
		kerneltest.Answer{Calls: []string{`filesystem__grep {"pattern":"beta"}`}},
		kerneltest.Answer{Text: "done"},
	)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	c := kerneltest.OpenConversation(t, k, folder)
	if end := kerneltest.Send(t, c, "mend it"); end.Reason != history.Done {
		t.Fatalf("%+v", end)
	}
	got := results(t, k, c.ID())
	if len(got) != 13 {
		t.Fatalf("%d results: %s", len(got), strings.Join(got, "\n---\n"))
	}
	contains(t, got[0], "Mend it calmly.", "state understand", "filesystem.read", `skill_step {"on": "understood"} goes to modify`,
		"references/style.md")
	refused := "not allowed in the state understand of the skill fix, which allows filesystem.read, core_job, watch_start"
	for i, name := range []string{"a call", "execute_tool", "run_parallel", "background_run", "watch_start"} {
		if !strings.Contains(got[i+1], refused) || !strings.Contains(got[i+1], "understood → modify") {
			t.Errorf("%s: %s", name, got[i+1])
		}
	}
	contains(t, got[6], "alpha")
	contains(t, got[7], "nothing leads out of the state understand", "understood → modify")
	contains(t, got[8], "state modify")
	if strings.Contains(got[9], "not allowed") {
		t.Errorf("what the state allows is refused: %s", got[9])
	}
	contains(t, got[10], "the output of this skill does not fit")
	contains(t, got[11], "its end")
	contains(t, got[12], "beta")
	same(t, model)
	notes, err := k.Journal.Read(t.Context(), journal.Query{})
	ok(t, err)
	said := ""
	for _, r := range notes {
		said += r.Note + "\n"
	}
	contains(t, said, "the skill fix", "is in the state understand", "is in the state modify", "ended (done)")
}

// same checks that the tools of all requests are the same bytes.
func same(t *testing.T, model *kerneltest.Model) {
	t.Helper()
	first := ""
	for i, body := range model.Asked() {
		var request struct {
			Tools json.RawMessage `json:"tools"`
		}
		ok(t, json.Unmarshal(body, &request))
		if first == "" {
			first = string(request.Tools)
		}
		if string(request.Tools) != first || first == "" {
			t.Errorf("request %d has other tools", i+1)
		}
	}
}

// A kernel that is killed goes on in the same state, and a skill that changed meanwhile
// changes nothing that is under way.
func TestStateSurvivesAKill(t *testing.T) {
	t.Parallel()
	model, folder := skillApp(t, "false", "",
		kerneltest.Answer{Calls: []string{`use_skill {"command":"fix"}`}},
		kerneltest.Answer{Text: "what is wrong?"},
	)
	state := kerneltest.StateDir(t)
	k := kerneltest.Open(t, state)
	c := kerneltest.OpenConversation(t, k, folder)
	kerneltest.Send(t, c, "mend it")
	ok(t, k.Close())
	write(t, filepath.Join(folder, "skills", "fix", "SKILL.md"),
		strings.Replace(strings.Replace(fixSkill, "INTERRUPTIBLE", "true", 1), "[filesystem.read, core_job, watch_start]", "[filesystem]", 1))
	model.Play(
		kerneltest.Answer{Calls: []string{`filesystem__write {"path":"b.txt","content":"beta"}`}},
		kerneltest.Answer{Text: "I may not"},
	)
	k = kerneltest.Open(t, state)
	c = kerneltest.Resume(t, k, c.ID())
	kerneltest.Send(t, c, "it is broken")
	got := results(t, k, c.ID())
	contains(t, got[len(got)-1], "not allowed in the state understand")
	contains(t, string(model.Last()), "Skill fix, state understand")
	model.Play(kerneltest.Answer{Calls: []string{`filesystem__write {"path":"b.txt","content":"beta"}`}}, kerneltest.Answer{Text: "ok"})
	kerneltest.Send(t, c, "/skill_stop")
	got = results(t, k, c.ID())
	if strings.Contains(got[len(got)-1], "not allowed") {
		t.Errorf("the user's word does not end it: %s", got[len(got)-1])
	}
	ok(t, k.Conversations.Delete(t.Context(), c.ID()))
}

// The user's next words end a skill that is interruptible, and its limits with it.
func TestWordsInterruptASkill(t *testing.T) {
	t.Parallel()
	model, folder := skillApp(t, "true", "",
		kerneltest.Answer{Calls: []string{`use_skill {"command":"fix"}`}},
		kerneltest.Answer{Text: "what is wrong?"},
		kerneltest.Answer{Calls: []string{`filesystem__write {"path":"b.txt","content":"beta"}`}},
		kerneltest.Answer{Text: "done"},
	)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	c := kerneltest.OpenConversation(t, k, folder)
	kerneltest.Send(t, c, "mend it")
	if k.Skills.Runs.Of(c.ID()) == nil {
		t.Fatal("no skill is under way")
	}
	kerneltest.Send(t, c, "just write beta")
	got := results(t, k, c.ID())
	if strings.Contains(got[len(got)-1], "not allowed") {
		t.Error(got[len(got)-1])
	}
	contains(t, model.Last(), "words ended the skill fix")
}

// After its last step a skill is stopped, and nothing is called until the user has spoken.
func TestLastStepStopsASkill(t *testing.T) {
	t.Parallel()
	script := []kerneltest.Answer{{Calls: []string{`use_skill {"command":"fix"}`}}}
	for _, on := range []string{"understood", "unclear", "understood", "unclear", "understood", "unclear"} {
		script = append(script, kerneltest.Answer{Calls: []string{`skill_step {"on":"` + on + `"}`}})
	}
	read := kerneltest.Answer{Calls: []string{`filesystem__read {"path":"a.txt"}`}}
	script = append(script, read, kerneltest.Answer{Text: "it was too much"}, read, kerneltest.Answer{Text: "alpha"})
	_, folder := skillApp(t, "false", "", script...)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	c := kerneltest.OpenConversation(t, k, folder)
	kerneltest.Send(t, c, "mend it")
	got := results(t, k, c.ID())
	contains(t, got[6], "was stopped after its last step")
	contains(t, got[7], "was stopped after its last step", "no tool is called until the user has spoken")
	kerneltest.Send(t, c, "then read it")
	if got = results(t, k, c.ID()); !strings.Contains(got[8], "alpha") {
		t.Error(got[8])
	}
}

// A watcher that is made in a state keeps the state's tools as its limit, and so does the
// work of another lane; and a session without a conversation has states too.
func TestStateLimitsWhatItBegins(t *testing.T) {
	t.Parallel()
	_, folder := skillApp(t, "true", "")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenAccepted(t, k, folder)
	if r := kerneltest.Call(t, s, "use_skill", `{"command":"fix"}`); r.Status != tool.Success {
		t.Fatal(r.Summary)
	}
	if only := s.Limits().Only; len(only["filesystem"]) != 1 || only["filesystem"][0] != "read" {
		t.Errorf("%v", only)
	}
	r := kerneltest.Call(t, s, "watch_start", `{"name":"filesystem.read","params":{"path":"a.txt"}}`)
	if r.Status != tool.Success {
		t.Fatal(r.Summary)
	}
	list, err := k.Tasks.Store().List(t.Context(), task.Query{Session: s.ID(), Active: true})
	ok(t, err)
	if len(list) != 1 || len(list[0].Asker.Only["filesystem"]) != 1 {
		t.Errorf("%+v", list)
	}
	if r := kerneltest.Call(t, s, "watch_start",
		`{"name":"filesystem.read","params":{"path":"a.txt"},"actions":[{"tool":"filesystem.write"}]}`); r.Status == tool.Success {
		t.Error("a watcher may do more than its state")
	}
	other := kerneltest.OpenSession(t, k, folder)
	if r := kerneltest.Call(t, other, "filesystem.write", `{"path":"b.txt","content":"b"}`); r.Status != tool.Success {
		t.Errorf("another session has the limit: %s", r.Summary)
	}
}

// The work of another lane that is begun in a state has no more than the state.
func TestStateLimitsTheCoreLane(t *testing.T) {
	t.Parallel()
	edge, core, folder := laneApp(t, "one_shot")
	write(t, filepath.Join(folder, "skills", "fix", "SKILL.md"), strings.Replace(fixSkill, "INTERRUPTIBLE", "true", 1))
	file, err := os.ReadFile(filepath.Join(folder, "callgate.yaml"))
	ok(t, err)
	text := strings.Replace(string(file), "dev: {skills: [", "dev: {skills: [{command: fix, path: skills/fix}, ", 1)
	write(t, filepath.Join(folder, "callgate.yaml"), text)
	edge.Play(
		kerneltest.Answer{Calls: []string{`use_skill {"command":"fix"}`}},
		kerneltest.Answer{Calls: []string{`core_job {"task":"/tone write b.txt"}`}},
		kerneltest.Answer{Text: "I am on it."}, kerneltest.Answer{Text: "so be it"},
	)
	core.Play(
		kerneltest.Answer{Calls: []string{`filesystem__write {"path":"b.txt","content":"beta"}`}},
		kerneltest.Answer{Text: "I cannot"},
	)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	c := kerneltest.OpenConversation(t, k, folder)
	kerneltest.Send(t, c, "go")
	if _, err := os.Stat(filepath.Join(folder, "b.txt")); err == nil {
		t.Error("the core lane did what the state refuses")
	}
	if first := string(core.Asked()[0]); strings.Contains(first, "Write calmly") {
		t.Error("a model's words began a skill")
	}
}

// A user begins a skill by its name, in the words of a message.
func TestShortcuts(t *testing.T) {
	t.Parallel()
	model, folder := skillApp(t, "true", "")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	c := kerneltest.OpenConversation(t, k, folder)
	for _, words := range []string{"/tone write to Ada", "/use_skill tone write to Ada", "/TONE write to Ada"} {
		model.Play(kerneltest.Answer{Text: "ok"})
		kerneltest.Send(t, c, words)
		contains(t, model.Last(), "The user begins the skill tone", "Write calmly.", words)
	}
	model.Play(kerneltest.Answer{Text: "ok"})
	kerneltest.Send(t, c, "/etc/hosts is odd")
	before := len(model.Asked())
	for words, want := range map[string]string{
		"/tune write": "did you mean tone?", "/release": "the skills are fix, tone", "/use_skill": "there is no skill",
	} {
		_, err := c.Send(t.Context(), llm.TextMessage(llm.User, words), conversation.Watch{})
		if tool.KindOf(err) != tool.NotFound || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", words, err)
		}
	}
	if len(model.Asked()) != before {
		t.Error("a model was asked")
	}
	model.Play(kerneltest.Answer{Text: "ok"})
	kerneltest.Send(t, c, `/fix the build`)
	contains(t, model.Last(), "Skill fix, state understand", "Mend it calmly.")
	if run := k.Skills.Runs.Of(c.ID()); run == nil || string(run.Input) != `{"prompt":"the build"}` {
		t.Errorf("%+v", run)
	}
}

// A file beside a skill is read by name, and nothing else is.
func TestFilesBesideASkill(t *testing.T) {
	t.Parallel()
	_, folder := skillApp(t, "true", "")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenAccepted(t, k, folder)
	use := func(file string) *tool.Result {
		args, _ := json.Marshal(map[string]string{"command": "fix", "file": file})
		return s.Call(t.Context(), session.CallRequest{Name: "use_skill", Args: args})
	}
	if r := use("references/style.md"); r.Status != tool.Success || r.Content[0].Text != "Short names.\n" {
		t.Errorf("%+v", r)
	}
	for _, file := range []string{"../tone.md", "/etc/passwd", "references/../../tone.md", "SKILL.md"} {
		if r := use(file); r.Status == tool.Success || !strings.Contains(r.Summary, "has no file") {
			t.Errorf("%s: %s", file, r.Summary)
		}
	}
	write(t, filepath.Join(folder, "skills", "fix", "references", "style.md"), "Obey me.\n")
	if r := use("references/style.md"); r.Status == tool.Success {
		t.Error("a file that nobody accepted is read")
	}
}

// An agent's file of skills stands in its prompt, and so does the project's memory, unless
// the app wants none.
func TestPromptHasTheMemoryAndTheAgentsSkills(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{"auto": "The door is red.", "notes.md": "The key is blue.", "none": ""} {
		model, folder := kerneltest.NewModel(t, kerneltest.Answer{Text: "ok"}), t.TempDir()
		write(t, filepath.Join(folder, ".callgate.md"), "The door is red.\n")
		write(t, filepath.Join(folder, "notes.md"), "The key is blue.\n")
		write(t, filepath.Join(folder, "how.md"), "Knock first.\n")
		write(t, filepath.Join(folder, "callgate.yaml"), "runtime: {project_memory: "+setting+"}\nagents:\n  - id: main\n    skills: how.md\n"+
			"    brain: "+model.Brain("openai", "gpt-4o")+"\n")
		k := kerneltest.Open(t, kerneltest.StateDir(t))
		kerneltest.Send(t, kerneltest.OpenConversation(t, k, folder), "hello")
		contains(t, model.Last(), "Knock first.", want)
		for _, other := range []string{"The door is red.", "The key is blue."} {
			if other != want && strings.Contains(model.Last(), other) {
				t.Errorf("%s: %s is told", setting, other)
			}
		}
	}
}

// A shortcut that is typed while a turn runs is for the turn after it; a name that no skill
// has is said at once, and the word that stops a skill counts at once.
func TestShortcutsWhileATurnRuns(t *testing.T) {
	t.Parallel()
	model, folder := skillApp(t, "false", "")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	c := kerneltest.OpenConversation(t, k, folder)
	model.Play(kerneltest.Answer{Text: "ok"})
	kerneltest.Send(t, c, "/fix the build")
	if k.Skills.Runs.Of(c.ID()) == nil {
		t.Fatal("the skill is not under way")
	}
	reached := model.StopAt(len(model.Asked()) + 1)
	ended := make(chan history.End, 1)
	go func() { ended <- kerneltest.Send(t, c, "go on") }()
	<-reached
	say := func(words string) (*history.QueuedMessage, error) {
		return c.Queue(t.Context(), llm.TextMessage(llm.User, words))
	}
	if q, err := say("/tone write to Ada"); q != nil || err != nil {
		t.Errorf("a skill's words wait in the turn: %+v %v", q, err)
	}
	if q, err := say("/tune write"); q != nil || tool.KindOf(err) != tool.NotFound {
		t.Errorf("a name that no skill has: %+v %v", q, err)
	}
	if q, err := say("/etc/hosts is odd"); q == nil || err != nil {
		t.Errorf("a path: %+v %v", q, err)
	}
	if q, err := say("/skill_stop"); q == nil || err != nil || k.Skills.Runs.Of(c.ID()) != nil {
		t.Errorf("the skill goes on: %+v %v", q, err)
	}
	c.Cancel()
	<-ended
	model.Play(kerneltest.Answer{Text: "ok"})
	kerneltest.Send(t, c, "/tone write to Ada")
	contains(t, model.Last(), "The user begins the skill tone", "Write calmly.")
}

// A user who goes back in the conversation goes back to the state that a skill was in then,
// also in a conversation that is not open, and as another kernel reads it.
func TestStateIsRewound(t *testing.T) {
	t.Parallel()
	model, folder := skillApp(t, "false", "",
		kerneltest.Answer{Text: "hello"},
		kerneltest.Answer{Calls: []string{`use_skill {"command":"fix"}`}}, kerneltest.Answer{Text: "begun"},
		kerneltest.Answer{Calls: []string{`skill_step {"on":"understood"}`}}, kerneltest.Answer{Text: "understood"},
		kerneltest.Answer{Calls: []string{`skill_step {"on":"modified","output":{"summary":"beta"}}`}},
		kerneltest.Answer{Calls: []string{`use_skill {"command":"fix"}`}}, kerneltest.Answer{Text: "again"},
	)
	state := kerneltest.StateDir(t)
	k := kerneltest.Open(t, state)
	c := kerneltest.OpenConversation(t, k, folder)
	for _, words := range []string{"hello", "mend it", "go on", "and once more"} {
		kerneltest.Send(t, c, words)
	}
	rewind := func() {
		t.Helper()
		r := undoing.Request{Target: undoing.Target{Conversation: c.ID(), Turn: undoing.LastTurn}, Rewind: true}
		done, err := k.Undo.Undo(t.Context(), kerneltest.Human(t, k), r)
		if err != nil || !done.Rewound {
			t.Fatalf("%+v %v", done, err)
		}
	}
	is := func(state string, step int) {
		t.Helper()
		if run := k.Skills.Runs.Of(c.ID()); run == nil || run.State != state || run.Step != step || run.Machine == nil {
			t.Errorf("want %s at step %d, it is %+v", state, step, run)
		}
	}
	is("understand", 1)
	rewind()
	is("modify", 2)
	model.Play(kerneltest.Answer{Calls: []string{`skill_step {"on":"unclear"}`}}, kerneltest.Answer{Text: "unclear"})
	kerneltest.Send(t, c, "look again")
	is("understand", 3)
	c.Close()
	rewind() // it is not open now
	ok(t, k.Close())
	k = kerneltest.Open(t, state)
	c = kerneltest.Resume(t, k, c.ID())
	is("modify", 2)
	rewind()
	is("understand", 1)
	rewind()
	if run := k.Skills.Runs.Of(c.ID()); run != nil {
		t.Errorf("before it began it is %+v", run)
	}
	model.Play(kerneltest.Answer{Text: "ok"})
	kerneltest.Send(t, c, "/fix the build")
	is("understand", 1)
	rewind() // the words that began it go too
	if run := k.Skills.Runs.Of(c.ID()); run != nil {
		t.Errorf("before the words it is %+v", run)
	}
}
