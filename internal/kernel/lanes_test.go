package kernel_test

import (
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/conversation/history"
	"callgate/internal/kernel/session"
	"callgate/internal/provider"
	"callgate/tool"
)

func laneApp(t *testing.T, mode string) (edge, core *scriptedModel, folder string) {
	edge, core = scripted(t), scripted(t)
	t.Setenv(provider.BaseURLVariable("openai"), edge.URL)
	t.Setenv(provider.BaseURLVariable("anthropic"), core.URL)
	t.Setenv("OPENAI_API_KEY", "key-of-the-test")
	t.Setenv("ANTHROPIC_API_KEY", "key-of-the-test")
	folder = t.TempDir()
	writeFile(t, filepath.Join(folder, "skills", "tone.md"), "Write calmly.\n")
	writeFile(t, filepath.Join(folder, "callgate.yaml"), `
runtime: {mode: `+mode+`, tool_injection: direct}
agents:
  - id: main
    lanes:
      edge: {provider: openai, model: gpt-4o}
      core: {provider: anthropic, model: claude-sonnet-4-5}
dev: {skills: [{command: tone, description: how we write, path: skills/tone.md}]}
tools:
  modules: {filesystem: {}}
  capabilities: {default_policy: auto}
`)
	return edge, core, folder
}

// The edge lane hands deep work to the core lane, answers meanwhile, and is told
// what came of it.
func TestLanes(t *testing.T) {
	edge, core, folder := laneApp(t, "one_shot")
	onIt := make(chan struct{}) // the core lane ends only after the edge lane was asked without its answer
	edge.restart(line{calls: []string{`core_job {"task":"read a.txt and think"}`}}, line{text: "I am on it.", reached: onIt}, line{text: "It says alpha."})
	core.restart(line{calls: []string{`filesystem__read {"path":"a.txt"}`}}, line{text: "deep answer: alpha", waits: onIt})
	writeFile(t, filepath.Join(folder, "a.txt"), "alpha\n")
	k := openKernel(t, t.TempDir())
	defer func() { ok(t, k.Close()) }()
	talk := talkIn(t, k, folder, "")
	if end := say(t, talk, "what does a.txt say?"); end.Reason != history.Done {
		t.Fatalf("%+v", end)
	}
	if last := string(edge.last()); !strings.Contains(last, "deep answer: alpha") || !strings.Contains(last, "CORE JOB") || !strings.Contains(last, "I am on it.") {
		t.Errorf("the edge lane was asked %s", last)
	}
	if offered := string(core.asked[0]); strings.Contains(offered, "core_job") || strings.Contains(offered, "what does a.txt say") {
		t.Error("the core lane was shown the edge lane's conversation, or may hand work on")
	}
	list, err := k.Conversations.List(t.Context(), 0)
	ok(t, err)
	if len(list) != 2 {
		t.Fatalf("%d conversations", len(list))
	}
	_, events, err := k.Conversations.History(t.Context(), talk.ID()+"-1-1-core", 0)
	ok(t, err)
	if state := history.Replay(events); state.Calls != 1 || state.Last.Reason != history.Done {
		t.Errorf("the job: %+v", state)
	}
	if n := k.Sessions.Len(); n != 1 {
		t.Errorf("%d sessions are open", n)
	}
}

// In a conversation the news come with the user's next words, and who leaves
// stops what still works for them.
func TestCoreJobsEndWithTheConversation(t *testing.T) {
	edge, core, folder := laneApp(t, "conversation")
	edge.restart(line{calls: []string{`core_job {"task":"think for ever"}`}}, line{text: "I am on it."}, line{calls: []string{`core_job {"job":"none"}`}}, line{text: "ok"})
	reached := core.stop(1)
	k := openKernel(t, t.TempDir())
	defer func() { ok(t, k.Close()) }()
	talk := talkIn(t, k, folder, "")
	say(t, talk, "go")
	<-reached
	say(t, talk, "how is it going?")
	if last := string(edge.last()); !strings.Contains(last, "there is no job") {
		t.Errorf("the edge lane was asked %s", last)
	}
	talk.Close()
	if n := k.Sessions.Len(); n != 0 {
		t.Errorf("%d sessions are open", n)
	}
	_, events, err := k.Conversations.History(t.Context(), talk.ID()+"-1-1-core", 0)
	ok(t, err)
	if last := history.Replay(events).Last; last == nil || last.Reason != history.Cancelled {
		t.Errorf("the job ended as %+v", last)
	}
}

func TestSkills(t *testing.T) {
	edge, _, folder := laneApp(t, "conversation")
	edge.restart(line{calls: []string{`use_skill {"command":"/Tone"}`, `use_skill {"command":"none"}`}}, line{text: "calmly"})
	k := openKernel(t, t.TempDir())
	defer func() { ok(t, k.Close()) }()
	talk := talkIn(t, k, folder, "")
	say(t, talk, "write")
	if last := string(edge.last()); !strings.Contains(last, "Write calmly.") || !strings.Contains(last, "the skills are tone") {
		t.Errorf("the model was told %s", last)
	}
	if text := talk.Prompt().Text(); !strings.Contains(text, "- tone: how we write") {
		t.Error(text)
	}
	plain := openSession(t, k, t.TempDir())
	if r := plain.Call(t.Context(), session.CallRequest{Name: "use_skill", Args: []byte(`{"command":"tone"}`)}); r.Status == tool.Success {
		t.Errorf("an app without skills has one: %+v", r)
	}
}
