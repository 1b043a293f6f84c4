package callgate_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"callgate"
	"callgate/tool"
)

// TestAnswerThatLasts answers an approval as a program that embeds the kernel: the
// yes is kept as one of the choices that were shown, and the same call runs unasked.
func TestAnswerThatLasts(t *testing.T) {
	t.Parallel()
	type in struct {
		Name string `json:"name"`
	}
	var ran atomic.Int64
	send, err := tool.Func("mail.send", "Sends a letter.", tool.Runtime{Risk: tool.Medium, SideEffect: tool.Write},
		func(context.Context, in) (string, error) { ran.Add(1); return "sent", nil })
	if err != nil {
		t.Fatal(err)
	}
	kernel, err := callgate.Open(t.Context(), callgate.Config{State: t.TempDir(), Tools: []*tool.Tool{send}})
	if err != nil {
		t.Fatal(err)
	}
	defer kernel.Close()
	workspace := t.TempDir()
	rules := []byte("tools: {capabilities: {default_policy: approve}}\n")
	if err := os.WriteFile(filepath.Join(workspace, "callgate.yaml"), rules, 0o600); err != nil {
		t.Fatal(err)
	}
	session, err := kernel.OpenSession(t.Context(), callgate.SessionConfig{Workspace: workspace, NoWait: true})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	call := func(name string) *tool.Result {
		return session.Call(t.Context(), "mail.send", json.RawMessage(`{"name":"`+name+`"}`))
	}
	asked := call("ada")
	if asked.Status != tool.Waiting {
		t.Fatalf("it was not asked for: %s %s", asked.Status, asked.Summary)
	}
	waiting, err := kernel.Approvals().Get(t.Context(), asked.Approval)
	if err != nil || len(waiting.Choices) == 0 {
		t.Fatalf("%v: %+v", err, waiting)
	}
	answer := callgate.Answer{Approve: true, By: "ada", Remember: len(waiting.Choices) + 1}
	if err := kernel.Approvals().Answer(t.Context(), waiting.ID, answer); tool.KindOf(err) != tool.Invalid {
		t.Errorf("a choice that was not shown: %v", err)
	}
	answer.Remember, answer.Until = 1, time.Now().Add(time.Hour).Round(time.Second)
	if err := kernel.Approvals().Answer(t.Context(), waiting.ID, answer); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Collect(t.Context(), asked.Call); err != nil {
		t.Fatal(err)
	}
	if again := call("ada"); again.Status != tool.Success || ran.Load() != 2 {
		t.Errorf("it is asked for again: %s %s", again.Status, again.Summary)
	}
	if other := call("bob"); other.Status != tool.Waiting {
		t.Errorf("%s lets another call run: %s", waiting.Choices[0], other.Summary)
	}
	settled, err := kernel.Approvals().Get(t.Context(), waiting.ID)
	if err != nil || settled.Answer == nil || settled.Answer.Remember != 1 || !settled.Answer.Until.Equal(answer.Until) {
		t.Errorf("%v: %+v", err, settled.Answer)
	}
}
