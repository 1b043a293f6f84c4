package agents_test

import (
	"testing"

	"callgate/internal/conversation/history"
	"callgate/internal/kernel/kerneltest"
)

// An agent that has answered waits for those that it began and did not wait for: their ends
// are told to it, and its answer is of all of them.
func TestAgentWaitsForWhatItBegan(t *testing.T) {
	t.Parallel()
	reached, goOn := make(chan struct{}), make(chan struct{})
	lead := kerneltest.NewModel(t,
		kerneltest.Answer{Calls: []string{`agent_spawn__agent {"prompt":"work","specialist":"writer","wait":true}`}},
		kerneltest.Answer{Text: "done"})
	writer := kerneltest.NewModel(t,
		kerneltest.Answer{Calls: []string{`agent_spawn__agent {"prompt":"look","specialist":"reader"}`}},
		kerneltest.Answer{Text: "I wait"},
		kerneltest.Answer{Text: "the reader says 42"})
	reader := kerneltest.NewModel(t, kerneltest.Answer{Text: "42", Reached: reached, After: goOn})
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := team(t, brains(map[string]*kerneltest.Model{"lead": lead, "writer": writer, "reader": reader}), "")
	grantSpawn(t, folder)
	c := kerneltest.OpenConversation(t, k, folder)
	ended := make(chan history.End, 1)
	go func() { ended <- kerneltest.Send(t, c, "go") }()
	<-reached
	kerneltest.Eventually(t, func() bool { return len(writer.Asked()) == 2 })
	close(goOn)
	if end := <-ended; end.Reason != history.Done {
		t.Fatalf("the turn ended: %+v", end)
	}
	if got := tree(t, k, c.ID())[0].Record().Result; got != "the reader says 42" {
		t.Errorf("the writer brought %q", got)
	}
}
