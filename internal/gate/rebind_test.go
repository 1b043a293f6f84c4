package gate_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/policy"
	"callgate/tool"
)

// human is who answers in tests.
var human = approval.Credential{Key: humanKey, By: "ada", PID: approval.Unknown}

// addFileTool registers a tool that a human must approve. It notes the claims
// that each call ran with.
func addFileTool(t *testing.T, h *harness, ran *[]string) {
	t.Helper()
	r := asks
	r.Effects = []tool.Effect{{Resource: "file:{path}", Mode: tool.X}}
	const schema = `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`
	h.add(t, "t:write@1.0.0", schema, r, func(_ context.Context, _ tool.Call, g tool.Grant) (*tool.Result, error) {
		for _, c := range g.Claims {
			*ran = append(*ran, filepath.Base(c.Resource))
		}
		return tool.OK("written", nil)
	})
}

// repoint makes the link in the workspace lead to another file.
func repoint(t *testing.T, h *harness, target string) {
	t.Helper()
	link := filepath.Join(h.at.Workspace, "link")
	if err := os.Remove(link); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	ok(t, os.Symlink(target, link))
}

// nextRequest waits for the question that a call puts before it ends.
func nextRequest(t *testing.T, h *harness, done <-chan *tool.Result) approval.Request {
	t.Helper()
	for len(done) == 0 {
		list, err := h.Approvals.List(t.Context(), approval.Pending, 0)
		if ok(t, err); len(list) > 0 {
			return list[0]
		}
	}
	t.Fatalf("nobody was asked: %q", (<-done).Summary)
	return approval.Request{}
}

// A link that is repointed while a call waits is shown before the call runs.
func TestApprovedCallIsBoundAgain(t *testing.T) {
	t.Parallel()
	yes := approval.Answer{Approve: true}
	edited := approval.Answer{Approve: true, Args: json.RawMessage(`{"path":"./link"}`)}
	for _, c := range []struct {
		name    string
		answers []approval.Answer
		targets []string // of the link, before each answer
		status  tool.Status
		words   string
		ran     string
		story   string
	}{
		{
			"nothing changed", []approval.Answer{yes}, []string{"a"}, tool.Success, "written", "a",
			"asked wait, answered approved, begun, ended success",
		},
		{
			"repointed, approved again", []approval.Answer{yes, yes}, []string{"b", "b"}, tool.Success, "written", "b",
			"asked wait, answered approved, asked wait, answered approved, begun, ended success",
		},
		{
			"repointed, refused", []approval.Answer{yes, {}}, []string{"b", "b"}, tool.Refused, "a human refused", "",
			"asked wait, answered approved, asked wait, answered denied, ended denied",
		},
		{
			"edited, knowing the new target", []approval.Answer{edited}, []string{"b"}, tool.Success, "written", "b",
			"asked wait, answered approved, begun, ended success",
		},
		{
			"repointed outside", []approval.Answer{yes}, []string{"/etc/passwd"}, tool.Refused, "outside the workspace", "",
			"asked wait, answered approved, ended denied",
		},
		{
			"repointed each time", []approval.Answer{yes, yes, yes}, []string{"b", "a", "b"}, tool.Failure,
			"what it touches changed", "",
			"asked wait, answered approved, asked wait, answered approved, asked wait, answered approved, ended error",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := open(t, gate.Limits{})
			var ran []string
			addFileTool(t, h, &ran)
			repoint(t, h, "a")
			done := make(chan *tool.Result, 1)
			go func() { done <- h.call(t, "t.write", `{"path":"link"}`) }()
			for i, answer := range c.answers {
				request := nextRequest(t, h, done)
				if i > 0 && !strings.Contains(request.Reason, "what it touches changed from") {
					t.Errorf("the human is asked again because %q", request.Reason)
				}
				repoint(t, h, c.targets[i])
				ok(t, h.Approvals.Answer(t.Context(), human, request.ID, answer))
			}
			r := <-done
			if r.Status != c.status || !strings.Contains(r.Summary, c.words) || strings.Join(ran, " ") != c.ran {
				t.Errorf("%s %q, ran on %v; want %s %q, ran on %q", r.Status, r.Summary, ran, c.status, c.words, c.ran)
			}
			if got := h.story(t, r.Call); got != c.story {
				t.Errorf("the journal tells %q, want %q", got, c.story)
			}
			left, err := h.Approvals.List(t.Context(), approval.Approved, 0)
			if ok(t, err); len(left) != 0 {
				t.Errorf("%d approvals could still be used", len(left))
			}
		})
	}
}

// A call that runs after its caller has gone is bound again too.
func TestResumedCallIsBoundAgain(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	var ran []string
	addFileTool(t, h, &ran)
	repoint(t, h, "a")
	request := gate.CallRequest{Name: "t.write", Args: json.RawMessage(`{"path":"link"}`), NoWait: true}
	waiting := h.Call(t.Context(), h.caller(), request)
	ok(t, h.Approvals.Answer(t.Context(), human, waiting.Approval, approval.Answer{Approve: true}))
	first, err := h.Approvals.Get(t.Context(), waiting.Approval)
	ok(t, err)
	repoint(t, h, "b")
	h.Approvals.Reserve(first.ID)
	first.Asker = approval.Requester{PID: 4711}
	done := make(chan *tool.Result, 1)
	go func() { done <- h.Resume(t.Context(), h.caller(), first) }()
	second := nextRequest(t, h, done)
	if second.ID == first.ID || !reflect.DeepEqual(second.Asker, first.Asker) || !strings.HasSuffix(second.Claims[0].Resource, "/b") {
		t.Errorf("asked again: %+v", second)
	}
	ok(t, h.Approvals.Answer(t.Context(), human, second.ID, approval.Answer{Approve: true}))
	if r := <-done; r.Status != tool.Success || strings.Join(ran, " ") != "b" {
		t.Errorf("%s %q, ran on %v", r.Status, r.Summary, ran)
	}
	if withdrawn, err := h.Approvals.Get(t.Context(), first.ID); err != nil || withdrawn.State != approval.Expired {
		t.Errorf("the first approval is %s (%v)", withdrawn.State, err)
	}
}

// A call that was approved, and that the rules deny when it would run, ends: whoever
// comes for its result gets the refusal.
func TestResumedCallThatIsDeniedNowEnds(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	var ran []string
	addFileTool(t, h, &ran)
	repoint(t, h, "a")
	request := gate.CallRequest{Name: "t.write", Args: json.RawMessage(`{"path":"link"}`), NoWait: true}
	waiting := h.Call(t.Context(), h.caller(), request)
	ok(t, h.Approvals.Answer(t.Context(), human, waiting.Approval, approval.Answer{Approve: true}))
	approved, err := h.Approvals.Get(t.Context(), waiting.Approval)
	ok(t, err)
	denied := &policy.Capabilities{Deny: []policy.Entry{{Module: "t", Reason: "not any more"}}}
	h.rules.Policy, err = policy.Compile(denied, nil)
	ok(t, err)
	if r := h.Resume(t.Context(), h.caller(), approved); r.Status != tool.Refused || len(ran) > 0 {
		t.Fatalf("%s %q, ran on %v", r.Status, r.Summary, ran)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r, err := h.Collect(ctx, waiting.Call)
	ok(t, err)
	if r.Status != tool.Refused || !strings.Contains(r.Summary, "not any more") {
		t.Errorf("collected %s %q", r.Status, r.Summary)
	}
	if got := h.story(t, waiting.Call); got != "asked wait, answered approved, ended denied" {
		t.Errorf("the journal tells %q", got)
	}
}
