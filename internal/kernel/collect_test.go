package kernel_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// leave makes a call that a human must approve, and does not wait.
func leave(t *testing.T, s *session.Session, path string) (id string) {
	t.Helper()
	write(t, filepath.Join(s.Workspace(), path), "")
	r := s.Call(
		t.Context(),
		session.CallRequest{Name: "filesystem.delete", Args: json.RawMessage(fmt.Sprintf(`{"path":%q}`, path)), NoWait: true},
	)
	if r.Status != tool.Waiting || !strings.Contains(r.Summary, "approvals.collect") {
		t.Fatalf("%+v", r)
	}
	return r.Approval
}

func collect(t *testing.T, s *session.Session, id string, wait int) *tool.Result {
	t.Helper()
	return s.Call(
		t.Context(),
		session.CallRequest{Name: "approvals.collect", Args: json.RawMessage(fmt.Sprintf(`{"approval":%q,"wait_seconds":%d}`, id, wait))},
	)
}

// What was left waiting is collected: as still waiting, as it ended, or with
// the reason of a no.
func TestCollectReturnsWhatWaited(t *testing.T) {
	kerneltest.OnEachStorage(t, testCollectReturnsWhatWaited)
}

func testCollectReturnsWhatWaited(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenSession(t, k, t.TempDir())
	yes, no, edited := leave(t, s, "yes"), leave(t, s, "no"), leave(t, s, "shown")
	write(t, filepath.Join(s.Workspace(), "meant"), "")
	if r := collect(t, s, yes, 0); r.Status != tool.Waiting || r.Approval != yes ||
		!strings.Contains(r.Summary, "a human must answer") || strings.Contains(r.Summary, "callgate approvals") {
		t.Errorf("before the answer: %+v", r)
	}
	late := make(chan *tool.Result)
	go func() { late <- collect(t, s, yes, 60) }()
	kerneltest.Settle(t, k, yes, approval.Answer{Approve: true})
	for _, r := range []*tool.Result{<-late, collect(t, s, yes, 0), s.Call(t.Context(), session.CallRequest{Name: "execute_tool", Args: json.RawMessage(`{"name":"approvals.collect","params":{"approval":"` + yes + `"}}`)})} {
		if r.Status != tool.Success || !strings.Contains(r.Summary, "yes") {
			t.Errorf("after a yes: %+v", r)
		}
	}
	if _, err := os.Stat(filepath.Join(s.Workspace(), "yes")); err == nil {
		t.Error("it never ran")
	}
	kerneltest.Settle(t, k, no, approval.Answer{Feedback: "keep it"})
	if r := collect(t, s, no, 1); r.Status != tool.Refused || !strings.Contains(r.Summary, "keep it") {
		t.Errorf("after a no: %+v", r)
	}
	kerneltest.Settle(t, k, edited, approval.Answer{Approve: true, Args: json.RawMessage(`{"path":"meant"}`)})
	if r := collect(t, s, edited, 1); r.Status != tool.Success || !strings.Contains(r.Summary, "meant") {
		t.Errorf("after an edit: %+v", r)
	}
	for _, args := range []string{`{}`, `{"approval":"x","wait_seconds":61}`, `{"approval":"x","wait_seconds":-1}`} {
		if r := s.Call(t.Context(), session.CallRequest{Name: "approvals.collect", Args: json.RawMessage(args)}); r.Error == nil ||
			r.Error.Kind != tool.Invalid {
			t.Errorf("%s: %+v", args, r)
		}
	}
}

// Nobody collects what somebody else asked for; a principal that comes back after its
// session has ended collects its own.
func TestOnlyTheAskerCollects(t *testing.T) { kerneltest.OnEachStorage(t, testOnlyTheAskerCollects) }

func testOnlyTheAskerCollects(t *testing.T) {
	t.Parallel()
	state, folder, other := kerneltest.StateDir(t), t.TempDir(), t.TempDir()
	k := kerneltest.Open(t, state)
	open := func(c session.Spec) *session.Session {
		t.Helper()
		s, err := k.OpenSession(t.Context(), c)
		ok(t, err)
		return s
	}
	asker := session.Spec{Workspace: folder, Agent: "one"}
	s := open(asker)
	id := leave(t, s, "x")
	strangers := map[string]session.Spec{
		"another folder": {Workspace: other, Agent: "one"}, "another agent": {Workspace: folder, Agent: "two"},
		"another lane": {Workspace: folder, Agent: "one", Lane: "edge"},
	}
	refused := func(when string, c session.Spec) {
		t.Helper()
		r, unknown := collect(t, open(c), id, 0), collect(t, open(c), "a0", 0)
		if r.Error == nil || r.Error.Kind != tool.NotFound || strings.ReplaceAll(r.Summary, id, "a0") != unknown.Summary {
			t.Errorf("%s: %+v", when, r)
		}
	}
	for who, c := range strangers {
		refused(who, c)
	}
	refused("the same agent, beside the one that asked", asker)
	kerneltest.Settle(t, k, id, approval.Answer{Approve: true})
	if r := collect(t, s, id, 1); r.Status != tool.Success {
		t.Errorf("whoever asked: %+v", r)
	}
	ok(t, k.Close())

	k = kerneltest.Open(t, state)
	for who, c := range strangers {
		refused(who+" after a restart", c)
	}
	if r := collect(t, open(asker), id, 0); r.Status != tool.Success {
		t.Errorf("whoever asked, after a restart: %+v", r)
	}
}
