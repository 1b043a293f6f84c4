package conversation_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/internal/conversation/history"
	"callgate/internal/kernel/kerneltest"
)

// sent is a request as a provider got it, in either form.
type sent struct {
	system, tools string
	messages      []string
}

// parseSent reads a request. Cache marks move, and are no part of what a model reads.
func parseSent(t *testing.T, body json.RawMessage) sent {
	t.Helper()
	var r struct {
		Tools, System json.RawMessage
		Messages      []json.RawMessage
	}
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatal(err)
	}
	plain := func(text json.RawMessage) string {
		return strings.ReplaceAll(string(text), `,"cache_control":{"type":"ephemeral"}`, "")
	}
	s := sent{system: plain(r.System), tools: plain(r.Tools)}
	for _, m := range r.Messages {
		s.messages = append(s.messages, plain(m))
	}
	if r.System == nil { // the first message is the system's
		s.system, s.messages = s.messages[0], s.messages[1:]
	}
	return s
}

// Over 60 requests, in which memory, the day, the branch and the instructions change and
// the kernel is started again, every request is the one before with messages appended:
// in both forms, and where the calls are text.
func TestEveryRequestBeginsWithTheOneBefore(t *testing.T) {
	t.Parallel()
	for name, brain := range map[string][]string{
		"anthropic": {"anthropic", "claude-sonnet-4-5"},
		"openai":    {"openai", "gpt-4o"},
		"text":      {"openai", "gpt-4o", "native_tool_use: false"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testPrefix(t, name == "text", brain)
		})
	}
}

func testPrefix(t *testing.T, text bool, brain []string) {
	const turns, each = 12, 5 // requests of a turn
	model := kerneltest.NewModel(t)
	state, folder := kerneltest.StateDir(t), t.TempDir()
	write(t, filepath.Join(folder, "callgate.yaml"), "agents: [{id: main, brain: "+model.Brain(brain[0], brain[1], brain[2:]...)+
		"}]\ntools:\n  modules: {filesystem: {}, memory: {}}\n  capabilities: {default_policy: auto}\n")
	write(t, filepath.Join(folder, ".git", "HEAD"), "ref: refs/heads/main\n")
	write(t, filepath.Join(folder, "AGENTS.md"), "Rule one of the project.\n")
	day := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	k := kerneltest.Open(t, state)
	k.Conversations.Now = func() time.Time { return day }
	talk := kerneltest.OpenConversation(t, k, folder)
	for turn := range turns {
		var script []kerneltest.Answer
		for i := range each - 1 {
			script = append(script, memoryAnswer(text, turn, i))
		}
		model.Play(append(script, kerneltest.Answer{Text: fmt.Sprintf("turn %d is done", turn)})...)
		if end := kerneltest.Send(t, talk, fmt.Sprintf("do part %d", turn)); end.Reason != history.Done {
			t.Fatalf("turn %d: %+v", turn, end)
		}
		switch turn {
		case 2:
			day = day.AddDate(0, 0, 1)
		case 4:
			write(t, filepath.Join(folder, ".git", "HEAD"), "ref: refs/heads/other\n")
		case 6:
			write(t, filepath.Join(folder, "AGENTS.md"), "Rule two of the project.\n")
		case 8: // another kernel goes on with it
			kerneltest.OK(t, k.Close())
			k = kerneltest.Open(t, state)
			k.Conversations.Now = func() time.Time { return day.AddDate(0, 0, 1) }
			talk = kerneltest.Resume(t, k, talk.ID())
		}
	}
	asked := model.Asked()
	if len(asked) != turns*each {
		t.Fatalf("%d requests", len(asked))
	}
	before := parseSent(t, asked[0])
	for i, body := range asked[1:] {
		next := parseSent(t, body)
		if next.system != before.system || next.tools != before.tools {
			t.Fatalf("request %d: the system text or the tools changed:\n%s\n%s", i+2, before.system, next.system)
		}
		if n := len(before.messages); len(next.messages) <= n || !slices.Equal(next.messages[:n], before.messages) {
			t.Fatalf("request %d changes what was said before:\n%s\n%s", i+2, before.messages, next.messages)
		}
		before = next
	}
	checkTold(t, before)
}

// memoryAnswer is an answer that changes what is remembered, and a file.
func memoryAnswer(text bool, turn, i int) kerneltest.Answer {
	calls := []string{fmt.Sprintf(`memory__remember {"content":"fact %d of turn %d"}`, i, turn)}
	if i == 0 {
		calls = append(calls, fmt.Sprintf(`memory__set_goal {"goal":"goal of turn %d"}`, turn))
		calls = append(calls, fmt.Sprintf(`filesystem__write {"path":"f%d.txt","content":"x"}`, turn))
	}
	if !text {
		return kerneltest.Answer{Calls: calls}
	}
	var b strings.Builder
	for _, c := range calls {
		name, args, _ := strings.Cut(c, " ")
		fmt.Fprintf(&b, "<tool_call>{\"name\": %q, \"arguments\": %s}</tool_call>\n", name, args)
	}
	return kerneltest.Answer{Text: b.String()}
}

// checkTold checks that the model knows of everything that changed, and where from.
func checkTold(t *testing.T, last sent) {
	t.Helper()
	for _, words := range []string{"Monday, 2026-11-16", "on branch", "main", "Rule one", "project_instructions path="} {
		if !strings.Contains(last.system, jsonText(words)) {
			t.Errorf("the system text does not say %q:\n%s", words, last.system)
		}
	}
	if strings.Contains(last.system, "goal of turn") {
		t.Error("memory stands in the system text")
	}
	all := strings.Join(last.messages, "\n")
	for words, times := range map[string]int{
		"Today is now Tuesday, 2026-11-17": 1, "Today is now Wednesday, 2026-11-18": 1, "Git is now on branch": 1,
		"Rule two of the project": 1, "Goal: goal of turn 0": 1, "Goal: goal of turn 10": 1,
	} {
		if n := strings.Count(all, jsonText(words)); n != times {
			t.Errorf("%q is told %d times, want %d", words, n, times)
		}
	}
}

// jsonText is a text as it stands in JSON.
func jsonText(text string) string {
	quoted, _ := json.Marshal(text)
	return strings.Trim(string(quoted), `"`)
}

// What a compaction leaves out of notes is told again before the next request, and a
// conversation whose app changed begins a new system text with the user's next words.
func TestWhatIsToldAgain(t *testing.T) {
	t.Parallel()
	model := kerneltest.NewModel(t)
	state, folder := kerneltest.StateDir(t), t.TempDir()
	file := filepath.Join(folder, "callgate.yaml")
	app := "agents: [{id: main, system_prompt: Be brief., brain: " + model.Brain("openai", "gpt-4o") + "}]\nruntime: {context: {keep_recent: 1}}\n" +
		"tools:\n  modules: {memory: {}}\n  capabilities: {default_policy: auto}\n"
	write(t, file, app)
	k := kerneltest.Open(t, state)
	talk := kerneltest.OpenConversation(t, k, folder)
	model.Play(kerneltest.Answer{Calls: []string{`memory__set_goal {"goal":"the great goal"}`}}, kerneltest.Answer{Text: "set"})
	kerneltest.Send(t, talk, "one")
	kerneltest.Send(t, talk, "two")
	if n := strings.Count(model.Last(), "Goal: the great goal"); n != 1 {
		t.Fatalf("the memory is told %d times: %s", n, model.Last())
	}
	for i := range 6 {
		kerneltest.Send(t, talk, fmt.Sprint("more ", i))
	}
	if n := strings.Count(model.Last(), "Goal: the great goal"); n != 1 {
		t.Fatalf("an unchanged memory is told %d times", n)
	}
	if done, err := talk.Compact(t.Context()); err != nil || done == nil {
		t.Fatal(done, err)
	}
	kerneltest.Send(t, talk, "after")
	if n := strings.Count(model.Last(), "Goal: the great goal"); n != 1 {
		t.Errorf("after a compaction the memory is told %d times: %s", n, model.Last())
	}
	talk.Close()
	write(t, file, strings.Replace(app, "Be brief.", "Be thorough.", 1))
	talk = kerneltest.Resume(t, k, talk.ID())
	kerneltest.Send(t, talk, "now")
	if last := model.Last(); !strings.Contains(last, "Be thorough.") || strings.Contains(last, "Be brief.") {
		t.Errorf("the app's new words are not sent: %s", last)
	}
}

// The files of instructions are switched off by the app file, or by the user's own.
func TestInstructionsAreSwitchedOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		runtime string
		want    bool
	}{"on": {"", true}, "off": {"runtime: {project_instructions: false}\n", false}, "no folder": {"runtime: {workdir_mode: none}\n", false}} {
		model := kerneltest.NewModel(t, kerneltest.Answer{Text: "yes"})
		folder := t.TempDir()
		write(t, filepath.Join(folder, "AGENTS.md"), "Say yes.\n")
		write(t, filepath.Join(folder, "callgate.yaml"), "agents: [{id: main, brain: "+model.Brain("openai", "gpt-4o")+"}]\n"+c.runtime)
		k := kerneltest.Open(t, kerneltest.StateDir(t))
		kerneltest.Send(t, kerneltest.OpenConversation(t, k, folder), "well?")
		if got := strings.Contains(model.Last(), "Say yes."); got != c.want {
			t.Errorf("%s: told: %v", name, got)
		}
	}
}

// A stranger's file chooses no other file of the user's, and a secret in it is not sent.
func TestInstructionsTellNoSecrets(t *testing.T) {
	t.Parallel()
	model := kerneltest.NewModel(t, kerneltest.Answer{Text: "yes"})
	folder := t.TempDir()
	write(t, filepath.Join(folder, "private.md"), "the diary\n")
	kerneltest.OK(t, os.Symlink("private.md", filepath.Join(folder, "CLAUDE.md")))
	write(t, filepath.Join(folder, "AGENTS.md"), "The key is s3cr3t-value-of-a-key.\n")
	write(t, filepath.Join(folder, "callgate.yaml"), "agents: [{id: main, brain: "+model.Brain("openai", "gpt-4o")+"}]\n")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	kerneltest.OK(t, k.Secrets.Set(kerneltest.Human(t, k), "KEY", []byte("s3cr3t-value-of-a-key")))
	kerneltest.Send(t, kerneltest.OpenConversation(t, k, folder), "well?")
	if last := model.Last(); strings.Contains(last, "s3cr3t") || strings.Contains(last, "diary") || !strings.Contains(last, "The key is") {
		t.Error(last)
	}
}
