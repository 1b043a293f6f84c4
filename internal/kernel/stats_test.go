package kernel_test

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"callgate/internal/conversation"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/secret"
)

// What the gate did for its user is counted out of the records that real calls leave.
func TestStats(t *testing.T) { kerneltest.OnEachStorage(t, testStats) }

func testStats(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := t.TempDir()
	ok(t, k.Secrets.Set(kerneltest.Human(t, k), "PIN", []byte("kW8#q/Zr?5+tB2")))
	kerneltest.Write(t, filepath.Join(folder, "a.txt"), "the pin is kW8#q/Zr?5+tB2\n")
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), `app: {app_id: counted}
agents: [{id: main, brain: {provider: offline}}]
tools: {modules: {filesystem: {}}, capabilities: {default_policy: auto, approve: [{module: filesystem, actions: [write]}]}}
`)
	s := kerneltest.OpenAccepted(t, k, folder)
	since := time.Now().Add(-time.Hour)
	before, err := kernel.Stats(t.Context(), k, since, 0)
	ok(t, err)
	call := func(name, args string) string {
		r := s.Call(t.Context(), session.CallRequest{Name: name, Args: json.RawMessage(args), NoWait: true})
		return r.Approval
	}
	call("filesystem.raed", `{"path":"a.txt"}`)
	read := s.Call(t.Context(), session.CallRequest{Name: "filesystem.read", Args: json.RawMessage(`{"path":"a.txt","limit":"2"}`)})
	ok(t, read.Err())
	if last := read.Warnings[len(read.Warnings)-1]; last != secret.TakenOut {
		t.Errorf("of the secret in it a result says %q", read.Warnings)
	}
	ok(t, k.Approvals.Answer(t.Context(), kerneltest.Human(t, k), call("filesystem.write", `{"path":"b.txt","content":"b"}`),
		approval.Answer{Feedback: "no"}))
	talk, err := k.Conversations.Open(t.Context(), conversation.Spec{Workspace: folder})
	ok(t, err)
	kerneltest.Send(t, talk, "hello")
	talk.Close()
	got, err := kernel.Stats(t.Context(), k, since, 0)
	ok(t, err)
	for what, n := range map[string][2]int{
		"refused": {got.Refused - before.Refused, 1}, "put right": {got.PutRight - before.PutRight, 1},
		"coerced": {got.Coerced - before.Coerced, 1}, "scrubbed": {got.Scrubbed - before.Scrubbed, 1},
		"denied": {got.Denied - before.Denied, 1}, "turns": {got.Surface.Turns, 1}, "conversations": {got.Surface.Conversations, 1},
	} {
		if n[0] != n[1] {
			t.Errorf("%s: %d, not %d: %+v", what, n[0], n[1], got)
		}
	}
	if none, err := kernel.Stats(t.Context(), k, time.Now().Add(time.Hour), 0); err != nil || none.Records != 0 {
		t.Errorf("of later there is %+v, %v", none, err)
	}
}
