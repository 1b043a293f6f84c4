package adoption_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/questions"
	"callgate/internal/proposal"
	"callgate/internal/question"
	"callgate/internal/task"
	"callgate/tool"
)

// wordsOf is all that a caller is told.
func wordsOf(r *tool.Result) string {
	data, _ := json.Marshal(r)
	return string(data)
}

// A question of a node that was killed waits at another, under its ID: it is answered there, once, and the turn that
// asked goes on with the answer.
func TestQuestionIsAnsweredAtAnotherNode(t *testing.T) {
	t.Parallel()
	w := newTeam(t, "", kerneltest.Answer{Calls: []string{`ask_user {"question":"Which way?","choices":["left","right"]}`}},
		kerneltest.Answer{Text: "so be it"})
	state := kerneltest.StateDir(t)
	b := w.open(kerneltest.StateDir(t))
	a, kill := w.start(doomed{State: state, Say: "go", Asks: true})
	kill()
	has(t, b, a.Conversation)
	id := a.Question
	right := question.Reply{Approve: true, Choices: []string{"right"}}
	_, err := b.Questions.AnswerVouched(t.Context(), approval.Voucher{By: "ann"}, id, right)
	ok(t, err)
	if _, err = b.Questions.AnswerVouched(t.Context(), approval.Voucher{By: "bob"}, id, right); tool.KindOf(err) != tool.Conflict {
		t.Errorf("answered again: %v", err)
	}
	end, err := kerneltest.Resume(t, b, a.Conversation).Resume(t.Context(), conversation.Watch{})
	ok(t, err)
	if last := w.model.Last(); end.Reason != history.Done || strings.Count(last, "user_response") != 1 || !strings.Contains(last, "right") {
		t.Errorf("the turn ended with %+v; the last request is %s", end, last)
	}
	returned := w.openUnaccepted(state)
	if left, err := returned.Questions.List(t.Context(), questions.Pending); err != nil || len(left) != 0 {
		t.Errorf("at the node that came back wait %+v, %v", left, err)
	}
	verified(t, b)
}

// Proposals of a node that was killed are decided at another: a change of the app, and a file that waits.
func TestProposalIsDecidedAtAnotherNode(t *testing.T) {
	t.Parallel()
	w := newTeam(t, "")
	state := kerneltest.StateDir(t)
	b := w.open(kerneltest.StateDir(t))
	a, kill := w.start(doomed{State: state, Calls: []string{
		`propose_config_change {"changes":[{"path":"runtime.max_turns","value":20}],"reason":"it never ends"}`,
		`workspace.write {"path":"a.txt","content":"waits\n"}`,
	}})
	var made struct {
		ID string `json:"proposal_id"`
	}
	if err := json.Unmarshal(a.Results[0].Data, &made); err != nil || made.ID == "" || a.Results[1].Status != tool.Success {
		t.Fatalf("%+v, %+v", a.Results[0], a.Results[1])
	}
	kill()
	has(t, b, a.Conversation)
	shown, err := b.Proposals.Show(t.Context(), made.ID)
	ok(t, err)
	_, err = b.Proposals.Accept(t.Context(), kerneltest.Human(t, b), made.ID, shown.Digest, "")
	ok(t, err)
	if file, err := os.ReadFile(filepath.Join(w.folder, "callgate.yaml")); !strings.Contains(string(file), "max_turns: 20") {
		t.Errorf("the file of the app is %s, %v", file, err)
	}
	s := kerneltest.Resume(t, b, a.Conversation).Session()
	if r := kerneltest.Call(t, s, "workspace.read", `{"path":"a.txt"}`); !strings.Contains(wordsOf(r), "waits") {
		t.Errorf("the file that waits: %+v", r)
	}
	list, err := b.Proposals.List(t.Context(), proposal.Pending)
	ok(t, err)
	if len(list) != 1 {
		t.Fatalf("%d proposals wait", len(list))
	}
	shown, err = b.Proposals.Show(t.Context(), list[0].ID)
	ok(t, err)
	_, err = b.Proposals.Accept(t.Context(), kerneltest.Human(t, b), list[0].ID, shown.Digest, "")
	ok(t, err)
	if file, err := os.ReadFile(filepath.Join(w.folder, "a.txt")); string(file) != "waits\n" {
		t.Errorf("the file has %q, %v", file, err)
	}
	returned := w.openUnaccepted(state)
	if _, err := returned.Proposals.Show(t.Context(), made.ID); tool.KindOf(err) != tool.NotFound {
		t.Errorf("the node that came back has it: %v", err)
	}
}

// A file that a human accepted at a node that was killed before it was written waits at another, and can be answered.
func TestCutOffWriteIsAnsweredAtAnotherNode(t *testing.T) {
	t.Parallel()
	w := newTeam(t, "")
	b := w.open(kerneltest.StateDir(t))
	a, kill := w.start(doomed{State: kerneltest.StateDir(t), Accepts: true, Calls: []string{
		`workspace.write {"path":"a.txt","content":"waits\n"}`, `background_run {"name":"demo.hold","params":{"mark":"a.txt"}}`,
	}})
	for i, r := range a.Results {
		if r.Status != tool.Success {
			t.Fatalf("call %d: %+v", i, r)
		}
	}
	kill()
	has(t, b, a.Conversation)
	list, err := b.Proposals.List(t.Context(), proposal.Pending)
	ok(t, err)
	if len(list) != 1 {
		t.Fatalf("%d proposals wait", len(list))
	}
	kerneltest.Eventually(t, func() bool {
		shown, err := b.Proposals.Show(t.Context(), list[0].ID)
		if err == nil {
			_, err = b.Proposals.Accept(t.Context(), kerneltest.Human(t, b), list[0].ID, shown.Digest, "")
		}
		return err == nil
	})
	if file, err := os.ReadFile(filepath.Join(w.folder, "a.txt")); string(file) != "waits\n" {
		t.Errorf("the file has %q, %v", file, err)
	}
}

// A skill with states that was under way at a node that was killed is in the same state at another, and a hook that may
// fire once does not fire again.
func TestSkillGoesOnAtAnotherNode(t *testing.T) {
	t.Parallel()
	w := newTeam(t, `dev: {skills: [{command: fix, path: skills/fix}]}
runtime:
  hooks:
  - id: once
    on: tool_end
    max_fires: 1
    condition: {type: tool_name, match: ["*skill_step*"]}
    action: {type: inject_message, message: only once}
`)
	kerneltest.Write(t, filepath.Join(w.folder, "skills/fix/SKILL.md"), `---
name: fix
description: how a fault is mended
initial_state: understand
states:
  understand:
    objective: Read what is there.
    transitions: [{on: understood, to: modify}]
  modify:
    objective: Change it.
    transitions: [{on: modified, to: done}]
  done: {terminal: true}
---
Mend it calmly.
`)
	state := kerneltest.StateDir(t)
	b := w.open(kerneltest.StateDir(t))
	a, kill := w.start(doomed{State: state, Calls: []string{
		`use_skill {"command":"fix"}`, `skill_step {"on":"understood"}`,
	}})
	for i, r := range a.Results {
		if r.Status != tool.Success {
			t.Fatalf("call %d: %+v", i, r)
		}
	}
	kill()
	has(t, b, a.Conversation)
	s := kerneltest.Resume(t, b, a.Conversation).Session()
	if before := wordsOf(a.Results[1]); !strings.Contains(before, "only once") {
		t.Errorf("before: %s", before)
	}
	r := kerneltest.Call(t, s, "skill_step", `{"on":"modified"}`)
	if after := wordsOf(r); strings.Contains(after, "only once") {
		t.Errorf("the hook fired again: %s", after)
	}
	if r.Status != tool.Success {
		t.Errorf("the next step: %+v", r)
	}
	if r := kerneltest.Call(t, s, "skill_step", `{"on":"modified"}`); r.Status == tool.Success {
		t.Errorf("a step after the last: %+v", r)
	}
}

// A schedule that was due many times while nobody had it is made once at the node that goes on with it, which tells how
// many times are left out, and then at its times again.
func TestMissedTimesAreMadeOnceAtAnotherNode(t *testing.T) {
	t.Parallel()
	w := newTeam(t, "runtime: {scheduler: true}\n")
	state := kerneltest.StateDir(t)
	ok(t, w.open(state).Close()) // its human accepts the app there, too
	a, kill := w.start(doomed{State: kerneltest.StateDir(t), Calls: []string{
		`schedule {"when":"@hourly","action":"demo.mark","args":{"mark":"hour"}}`,
	}})
	kill()
	if r := a.Results[0]; r.Status != tool.Success {
		t.Fatal(wordsOf(r))
	}
	then := time.Now().Add(-10 * time.Hour).Truncate(time.Hour).UTC()
	beside, err := pgx.Connect(t.Context(), w.url)
	ok(t, err)
	tag, err := beside.Exec(t.Context(), `UPDATE callgate.tasks SET run_at = $1, due = $1, data = convert_to(jsonb_set(
		convert_from(data, 'UTF8')::jsonb, '{next_run}', to_jsonb($2::text))::text, 'UTF8'), data_mac = NULL`,
		then.UnixNano(), then.Format(time.RFC3339))
	ok(t, err)
	ok(t, beside.Close(t.Context()))
	if tag.RowsAffected() != 1 {
		t.Fatalf("there were %d tasks", tag.RowsAffected())
	}
	kerneltest.SignRows(t, w.url)
	b := w.openUnaccepted(state)
	has(t, b, a.Conversation)
	kerneltest.Eventually(t, func() bool { return w.marked() != "" })
	var s task.Task
	kerneltest.Eventually(t, func() bool {
		list, err := b.Tasks.Store().List(t.Context(), task.Query{Parent: a.Conversation, Active: true})
		if err == nil && len(list) == 1 {
			s = list[0]
		}
		return s.State == task.Queued && s.RunAt.After(time.Now())
	})
	if got := w.marked(); got != "hour" {
		t.Errorf("the marks are %q", got)
	}
	if next := s.RunAt; !next.Equal(next.Truncate(time.Hour)) || time.Until(next) > time.Hour {
		t.Errorf("it is next due at %s", next)
	}
	var stands struct{ Runs, Missed int }
	ok(t, json.Unmarshal(s.Data, &stands))
	if stands.Runs != 1 || stands.Missed < 9 || stands.Missed > 11 {
		t.Errorf("it stands at %s", s.Data)
	}
}
