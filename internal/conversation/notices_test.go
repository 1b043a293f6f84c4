package conversation_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/conversation/history"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/permissions"
)

// A model is told of the permission mode once, by a note that is appended: what it was
// sent before stays as it was. In plan mode its change is refused, and when the user
// leaves plan mode it is told that too; also by a process that comes later.
func TestModelIsToldOfThePermissionMode(t *testing.T) {
	t.Parallel()
	folder, state := t.TempDir(), kerneltest.StateDir(t)
	write := `filesystem__write {"path":"a.txt","content":"x"}`
	model := kerneltest.NewModel(t, kerneltest.Answer{Text: "hello"},
		kerneltest.Answer{Calls: []string{write}}, kerneltest.Answer{Text: "my plan"}, kerneltest.Answer{Text: "still my plan"})
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), "agents: [{id: main, brain: "+
		model.Brain("openai", "gpt-4o")+"}]\ntools: {modules: {filesystem: }, capabilities: {grant: [{module: filesystem}]}}\n")
	k := kerneltest.Open(t, state)
	talk := kerneltest.OpenConversation(t, k, folder)
	kerneltest.Send(t, talk, "hi")
	set := func(mode string) {
		t.Helper()
		asker := talk.Session().Caller().Requester()
		_, err := k.Permissions.Set(t.Context(), kerneltest.Human(t, k), talk.Session(), asker, permissions.Change{Mode: mode})
		ok(t, err)
	}
	set("plan")
	kerneltest.Send(t, talk, "write a.txt")
	kerneltest.Send(t, talk, "and?")
	if last := model.Last(); strings.Count(last, "PERMISSION MODE plan") != 1 || !strings.Contains(last, "was not run: the user has") {
		t.Errorf("in plan mode the model is sent %s", last)
	}
	if _, err := os.Stat(filepath.Join(folder, "a.txt")); err == nil {
		t.Error("the file was written in plan mode")
	}
	// A later process has no mode: the model is told that plan mode is over.
	id := talk.ID()
	ok(t, k.Close())
	k = kerneltest.Open(t, state)
	talk = kerneltest.Resume(t, k, id)
	model.Play(kerneltest.Answer{Calls: []string{write}}, kerneltest.Answer{Text: "done"})
	if end := kerneltest.Send(t, talk, "go on"); end.Reason != history.Done {
		t.Errorf("%+v", end)
	}
	if last := model.Last(); strings.Count(last, "PERMISSION MODE") != 2 || !strings.Contains(last, "PERMISSION MODE ask") {
		t.Errorf("after plan mode the model is sent %s", last)
	}
	if _, err := os.Stat(filepath.Join(folder, "a.txt")); err != nil {
		t.Errorf("the file was not written: %v", err)
	}
	var before []json.RawMessage
	for _, asked := range model.Asked() {
		var body struct{ Messages []json.RawMessage }
		ok(t, json.Unmarshal(asked, &body))
		same := func(a, b json.RawMessage) bool { return string(a) == string(b) }
		if len(body.Messages) < len(before) || len(before) > 0 && !slices.EqualFunc(body.Messages[1:len(before)], before[1:], same) {
			t.Errorf("earlier messages changed: %s", asked)
		}
		before = body.Messages
	}
}
