package conversation_test

import (
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/conversation/history"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

func laneApp(t *testing.T, mode string) (edge, core *kerneltest.Model, folder string) {
	edge, core = kerneltest.NewModel(t), kerneltest.NewModel(t)
	folder = t.TempDir()
	write(t, filepath.Join(folder, "skills", "tone.md"), "Write calmly.\n")
	write(t, filepath.Join(folder, "callgate.yaml"), `
runtime: {mode: `+mode+`, tool_injection: direct}
agents:
  - id: main
    lanes:
      edge: `+edge.Brain("openai", "gpt-4o")+`
      core: `+core.Brain("anthropic", "claude-sonnet-4-5")+`
dev: {skills: [{command: tone, description: how we write, path: skills/tone.md}]}
tools:
  modules: {filesystem: {}}
  capabilities: {default_policy: auto}
`)
	return edge, core, folder
}

// The edge lane hands deep work to the core lane, answers meanwhile, and is told
// what came of it.
func TestEdgeLaneLearnsTheEndOfItsTask(t *testing.T) {
	t.Parallel()
	edge, core, folder := laneApp(t, "one_shot")
	onIt := make(chan struct{}) // the core lane ends only after the edge lane was asked without its answer
	edge.Play(
		kerneltest.Answer{Calls: []string{`core_job {"task":"read a.txt and think"}`}},
		kerneltest.Answer{Text: "I am on it.", Reached: onIt},
		kerneltest.Answer{Text: "It says alpha."},
	)
	core.Play(
		kerneltest.Answer{Calls: []string{`filesystem__read {"path":"a.txt"}`}},
		kerneltest.Answer{Text: "deep answer: alpha", After: onIt},
	)
	write(t, filepath.Join(folder, "a.txt"), "alpha\n")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	talk := kerneltest.OpenConversation(t, k, folder)
	if end := kerneltest.Send(t, talk, "what does a.txt say?"); end.Reason != history.Done {
		t.Fatalf("%+v", end)
	}
	if last := edge.Last(); !strings.Contains(last, "deep answer: alpha") || !strings.Contains(last, "CORE JOB") ||
		!strings.Contains(last, "I am on it.") {
		t.Errorf("the edge lane was asked %s", last)
	}
	if offered := string(core.Asked()[0]); strings.Contains(offered, "core_job") || strings.Contains(offered, "what does a.txt say") {
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
func TestTasksEndWithTheirConversation(t *testing.T) {
	t.Parallel()
	edge, core, folder := laneApp(t, "conversation")
	edge.Play(
		kerneltest.Answer{Calls: []string{`core_job {"task":"think for ever"}`}},
		kerneltest.Answer{Text: "I am on it."},
		kerneltest.Answer{Calls: []string{`core_job {"job":"none"}`}},
		kerneltest.Answer{Text: "ok"},
	)
	reached := core.StopAt(1)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	talk := kerneltest.OpenConversation(t, k, folder)
	kerneltest.Send(t, talk, "go")
	<-reached
	kerneltest.Send(t, talk, "how is it going?")
	if last := edge.Last(); !strings.Contains(last, "there is no job") {
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

// A task that a kernel left when it closed goes on when its conversation is opened
// again, and the model learns of its end once.
func TestTaskGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	edge, core, folder := laneApp(t, "conversation")
	edge.Play(
		kerneltest.Answer{Calls: []string{`core_job {"task":"think"}`}}, kerneltest.Answer{Text: "I am on it."},
	)
	reached := core.StopAt(1)
	state := kerneltest.StateDir(t)
	k := kerneltest.Open(t, state)
	first := kerneltest.OpenConversation(t, k, folder)
	kerneltest.Send(t, first, "go")
	<-reached
	ok(t, k.Close())

	answered := make(chan struct{})
	core.Play(kerneltest.Answer{Text: "deep answer", Reached: answered})
	edge.Play(kerneltest.Answer{Text: "It says so."}, kerneltest.Answer{Text: "Nothing new."})
	k = kerneltest.Open(t, state)
	again := kerneltest.Resume(t, k, first.ID())
	<-answered
	job := first.ID() + "-1-1-core"
	kerneltest.Eventually(t, func() bool {
		got, err := k.Conversations.Task(t.Context(), first.ID(), job)
		return err == nil && got.Status == string(history.Done) && got.Answer == "deep answer"
	})
	kerneltest.Send(t, again, "and?")
	if last := edge.Last(); strings.Count(last, "CORE JOB "+job+" ENDED (done)") != 1 {
		t.Errorf("the edge lane was asked %s", last)
	}
	ok(t, k.Close())

	k = kerneltest.Open(t, state)
	kerneltest.Send(t, kerneltest.Resume(t, k, first.ID()), "and now?")
	if last := edge.Last(); strings.Count(last, "CORE JOB") != 1 {
		t.Errorf("the edge lane was told again: %s", last)
	}
	if _, err := k.Conversations.Task(t.Context(), "another", job); tool.KindOf(err) != tool.NotFound {
		t.Errorf("another conversation sees the task: %v", err)
	}
}

// The news of a task that ended while nobody was there comes with the next
// message, also after a restart.
func TestNoticeOutlivesItsKernel(t *testing.T) {
	t.Parallel()
	edge, core, folder := laneApp(t, "conversation")
	edge.Play(
		kerneltest.Answer{Calls: []string{`core_job {"task":"think"}`}}, kerneltest.Answer{Text: "I am on it."},
		kerneltest.Answer{Text: "Thank you."},
	)
	turnEnded := make(chan struct{})
	core.Play(kerneltest.Answer{Text: "deep answer", After: turnEnded})
	state := kerneltest.StateDir(t)
	k := kerneltest.Open(t, state)
	talk := kerneltest.OpenConversation(t, k, folder)
	kerneltest.Send(t, talk, "go")
	close(turnEnded)
	kerneltest.Eventually(t, func() bool {
		got, err := k.Conversations.Task(t.Context(), talk.ID(), talk.ID()+"-1-1-core")
		return err == nil && got.Status == string(history.Done)
	})
	ok(t, k.Close())
	if strings.Contains(edge.Last(), "deep answer") {
		t.Fatal("the model knows already")
	}
	k = kerneltest.Open(t, state)
	kerneltest.Send(t, kerneltest.Resume(t, k, talk.ID()), "and?")
	if last := edge.Last(); strings.Count(last, "deep answer") != 1 {
		t.Errorf("the edge lane was asked %s", last)
	}
	ok(t, k.Conversations.Delete(t.Context(), talk.ID()))
}

func TestAgentReadsASkill(t *testing.T) {
	t.Parallel()
	edge, _, folder := laneApp(t, "conversation")
	edge.Play(
		kerneltest.Answer{Calls: []string{`use_skill {"command":"/Tone"}`, `use_skill {"command":"none"}`}},
		kerneltest.Answer{Text: "calmly"},
	)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	talk := kerneltest.OpenConversation(t, k, folder)
	kerneltest.Send(t, talk, "write")
	if last := edge.Last(); !strings.Contains(last, "Write calmly.") || !strings.Contains(last, "the skills are tone") {
		t.Errorf("the model was told %s", last)
	}
	if text := talk.Presentation().System.Text(); !strings.Contains(text, "- tone: how we write") {
		t.Error(text)
	}
	plain := kerneltest.OpenSession(t, k, t.TempDir())
	if r := plain.Call(t.Context(), session.CallRequest{Name: "use_skill", Args: []byte(`{"command":"tone"}`)}); r.Status == tool.Success {
		t.Errorf("an app without skills has one: %+v", r)
	}
}
