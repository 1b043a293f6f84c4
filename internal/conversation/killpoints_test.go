package conversation_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/task"
	"callgate/llm"
)

// accept has a human accept the app of a folder, in a kernel that is closed again.
func accept(t *testing.T, state, folder string) {
	t.Helper()
	k := kerneltest.Open(t, state, marks(folder))
	kerneltest.OpenAccepted(t, k, folder)
	ok(t, k.Close())
}

// resumeTurn finishes the turn of a conversation whose kernel was killed.
func resumeTurn(t *testing.T, k *kernel.Kernel, id string) *conversation.Conversation {
	t.Helper()
	list, err := k.Conversations.List(t.Context(), 1)
	ok(t, err)
	if list[0].ID != id || list[0].Last != history.Interrupted {
		t.Errorf("the list says %+v", list[0])
	}
	talk, err := k.Conversations.Open(t.Context(), conversation.Spec{Resume: id})
	ok(t, err)
	end, err := talk.Resume(t.Context(), conversation.Watch{})
	if err != nil || end.Reason != history.Done {
		t.Fatalf("%+v, %v", end, err)
	}
	if info := talk.Info(); info.Last != history.Done {
		t.Errorf("it ended as %q", info.Last)
	}
	return talk
}

// A kernel is killed while a call of a turn waits for a human. The call runs once,
// whether the human answers before the turn is resumed or after.
func TestKilledWhileAHumanIsAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ first, mode, call string }{
		{"the answer", "direct", `demo__mark {"mark":"m1"}`},
		{"the turn", "direct", `demo__mark {"mark":"m1"}`},
		{"the answer", "discovery", `execute_tool {"name":"demo.mark","params":{"mark":"m1"}}`},
		{"the turn", "discovery", `execute_tool {"name":"demo.mark","params":{"mark":"m1"}}`},
	} {
		t.Run(c.mode+", "+c.first+" comes first", func(t *testing.T) {
			t.Parallel()
			state, folder := filepath.Join(kerneltest.StateDir(t), "s"), t.TempDir()
			model := kerneltest.NewModel(t, kerneltest.Answer{Calls: []string{c.call}})
			write(t, filepath.Join(folder, "callgate.yaml"), "agents: [{id: main, brain: "+model.Brain("openai", "gpt-4o")+"}]\n"+
				"runtime: {tool_injection: "+c.mode+"}\ntools: {capabilities: {default_policy: approve}}\n")
			accept(t, state, folder)
			id := killIt(t, state, folder, 0, nil)

			model.Play(kerneltest.Answer{Text: "done"})
			k := kerneltest.Open(t, state, marks(folder))
			pending, err := k.Approvals.List(t.Context(), approval.Pending, 0)
			ok(t, err)
			if len(pending) != 1 {
				t.Fatalf("%d wait for a human", len(pending))
			}
			human := kerneltest.Human(t, k)
			approve := func() {
				if err := k.Approvals.Answer(t.Context(), human, pending[0].ID, approval.Answer{Approve: true}); err != nil {
					t.Error(err)
				}
			}
			if c.first == "the answer" {
				approve()
			} else {
				go func() {
					kerneltest.Eventually(t, func() bool {
						info, _, err := k.Conversations.History(t.Context(), id, 0)
						return err == nil && info.Last == "" // its turn runs, and waits
					})
					approve()
				}()
			}
			resumeTurn(t, k, id)
			data, err := os.ReadFile(filepath.Join(folder, "marks"))
			ok(t, err)
			if got := strings.Fields(string(data)); !slices.Equal(got, []string{"m1"}) {
				t.Errorf("the marks are %q", got)
			}
			if last := model.Last(); strings.Count(last, `\"marked\":\"m1\"`) != 1 {
				t.Errorf("the model was asked %s", last)
			}
		})
	}
}

// A kernel is killed while another model writes the summary of what was before.
func TestKilledWhileItCompacts(t *testing.T) {
	t.Parallel()
	own, other, folder := compactApp(t, "max_tokens: 16000, output_reserved: 2000, keep_recent: 4, summary_brain: OTHER")
	own.Play(readings(30)...)
	reached := other.StopAt(1)
	state := filepath.Join(kerneltest.StateDir(t), "s")
	accept(t, state, folder)
	id := killIt(t, state, folder, 1, reached)

	asked := len(own.Asked())
	own.Play(kerneltest.Answer{Text: "done"})
	other.Play(kerneltest.Answer{Text: "Goal: read it. SUMMED."})
	k := kerneltest.Open(t, state, marks(folder))
	resumeTurn(t, k, id)
	if got := compactions(t, k, id); len(got) != 1 || got[0].Summary == "" {
		t.Errorf("the compactions are %+v", got)
	}
	if last := own.Last(); len(own.Asked()) != asked+1 || !strings.Contains(last, "SUMMED") {
		t.Errorf("the model was asked %d times more, last %s", len(own.Asked())-asked, last)
	}
}

// The news of a task reaches its conversation once, wherever the kernel was killed
// between the end of the work and the record that it was told.
func TestNoticeSurvivesAKill(t *testing.T) {
	t.Parallel()
	const job = "-1-1-core"
	for name, died := range map[string]func(t *testing.T, k *kernel.Kernel, id string){
		"after the task ended": func(*testing.T, *kernel.Kernel, string) {},
		"after the notice was in the history": func(t *testing.T, k *kernel.Kernel, id string) {
			log, err := history.Open(t.Context(), k.Conversations.Store, id)
			ok(t, err)
			note := llm.TextMessage(llm.User, "CORE JOB "+id+job+" ENDED (done)\ndeep answer")
			ok(t, log.Append(t.Context(), history.Event{Type: history.Note, Message: &note, Task: id + job}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			edge, core, folder := laneApp(t, "conversation")
			onIt := make(chan struct{}) // the task ends after the edge lane's last request of the turn
			edge.Play(kerneltest.Answer{Calls: []string{`core_job {"task":"think"}`}},
				kerneltest.Answer{Text: "I am on it.", Reached: onIt})
			core.Play(kerneltest.Answer{Text: "deep answer", After: onIt})
			state := filepath.Join(kerneltest.StateDir(t), "s")
			accept(t, state, folder)
			id := killIt(t, state, folder, 0, nil, "CALLGATE_TEST_JOB="+job)

			edge.Play(kerneltest.Answer{Text: "Thank you."}, kerneltest.Answer{Text: "You are welcome."})
			k := kerneltest.Open(t, state, marks(folder))
			died(t, k, id)
			talk := kerneltest.Resume(t, k, id)
			for _, words := range []string{"and?", "and now?"} {
				kerneltest.Send(t, talk, words)
				if last := edge.Last(); strings.Count(last, "ENDED (done)") != 1 {
					t.Errorf("after %q the model was asked %s", words, last)
				}
			}
			owed, err := k.Conversations.Tasks.List(t.Context(), task.Query{Parent: id, Owed: true})
			if err != nil || len(owed) != 0 {
				t.Errorf("%d are still owed, %v", len(owed), err)
			}
		})
	}
}

// A task whose work ended just before its kernel was killed, so that the store does
// not know of its end, ends when its conversation is opened again, without being done
// again, and is told.
func TestTaskThatEndedUnseen(t *testing.T) {
	t.Parallel()
	edge, core, folder := laneApp(t, "conversation")
	edge.Play(kerneltest.Answer{Text: "Thank you."})
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	talk := kerneltest.OpenConversation(t, k, folder)
	id, job := talk.ID(), talk.ID()+"-1-1-core"
	p := talk.Session().Principal()
	at := history.Info{
		ID: job, App: p.App, AppFile: talk.Session().Loaded().AppFile(), Agent: p.Agent, Lane: "core", Workspace: folder, User: p.User,
	}
	log, err := history.Create(t.Context(), k.Conversations.Store, at)
	ok(t, err)
	goal, answer := llm.TextMessage(llm.User, "think"), llm.TextMessage(llm.Assistant, "deep answer")
	ok(t, log.Append(t.Context(), history.Event{Type: history.User, Message: &goal},
		history.Event{Type: history.Assistant, Message: &answer},
		history.Event{Type: history.TurnEnded, End: &history.End{Reason: history.Done}}))
	_, _, err = k.Conversations.Tasks.Create(t.Context(), task.Task{
		ID: job, Kind: "conversation.core", Parent: id, Input: []byte(`{"goal":"think"}`),
		Asker: task.Asker{Principal: p, Workspace: folder, AppFile: at.AppFile, Call: fmt.Sprint(id, "-1-1")},
	})
	ok(t, err)
	again := kerneltest.Resume(t, k, id)
	kerneltest.Eventually(t, func() bool {
		got, err := k.Conversations.Task(t.Context(), id, job)
		return err == nil && got.Status == string(history.Done)
	})
	kerneltest.Send(t, again, "and?")
	if last := edge.Last(); strings.Count(last, "deep answer") != 1 || len(core.Asked()) != 0 {
		t.Errorf("the core lane was asked %d times, the edge lane %s", len(core.Asked()), last)
	}
}
