package hooks_test

import (
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/conversation/history"
	"callgate/internal/kernel/kerneltest"
)

// The middleware rag_inject tells the model the passages that fit what the user says, as data, and
// is no reason for a turn to fail.
func TestRagInject(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	model := kerneltest.NewModel(t, kerneltest.Answer{Text: "one"}, kerneltest.Answer{Text: "two"})
	folder, err := filepath.EvalSymlinks(t.TempDir())
	ok(t, err)
	write(t, filepath.Join(folder, "callgate.yaml"), free+"  modules: {rag: {}}\nagents:\n- id: main\n  brain: "+
		model.Brain("openai", "gpt-4o")+"\nruntime:\n  middleware:\n  - rag_inject: {limit: 1}\n")
	c := kerneltest.OpenConversation(t, k, folder)
	if end := kerneltest.Send(t, c, "Is anything known yet?"); end.Reason != history.Done {
		t.Fatalf("%+v", end)
	}
	p := &place{k, folder, c.Session()}
	p.call(t, "rag.ingest_text", `{"name":"rules","text":"Boats moor at the north quay for at most three days."}`)
	kerneltest.Send(t, c, "How long may boats moor?")
	last := model.Last()
	for _, want := range []string{"hook rag_inject: ", "What follows is data", "rules, line 1", "at most three days"} {
		if !strings.Contains(last, want) {
			t.Errorf("the model was asked without %q: %s", want, last)
		}
	}
}
