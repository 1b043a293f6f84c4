package kernel_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/agent/surface"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/questions"
	"callgate/internal/kernel/secrets"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/toolview"
	"callgate/internal/question"
	"callgate/tool"
)

// seedGrant is the example of seed 001, as it stands there.
const seedGrant = `
tools:
  capabilities:
    grant:
      - {module: context_builder, actions: [ask_user]}
`

func openQuestioner(t *testing.T, app string) (*kernel.Kernel, *session.Session) {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	kerneltest.OK(t, err)
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), app)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	return k, kerneltest.OpenAccepted(t, k, folder)
}

// askUser makes the call, and returns the question that waits then, and how the call ends.
func askUser(t *testing.T, k *kernel.Kernel, s *session.Session, id, args string) (questions.Request, <-chan *tool.Result) {
	t.Helper()
	ended := make(chan *tool.Result, 1)
	go func() {
		ended <- s.Call(context.WithoutCancel(t.Context()), session.CallRequest{ID: id, Name: "ask_user", Args: json.RawMessage(args)})
	}()
	return waitingQuestion(t, k), ended
}

func waitingQuestion(t *testing.T, k *kernel.Kernel) questions.Request {
	t.Helper()
	for r, err := range k.Questions.Watch(t.Context()) {
		kerneltest.OK(t, err)
		if r.State == questions.Pending {
			return r
		}
	}
	t.Fatal("nothing was asked")
	return questions.Request{}
}

func replyTo(t *testing.T, k *kernel.Kernel, id string, r question.Reply) {
	t.Helper()
	_, err := k.Questions.AnswerVouched(t.Context(), approval.Voucher{By: "ann"}, id, r)
	kerneltest.OK(t, err)
}

func toldOf(t *testing.T, r *tool.Result) (told map[string]any) {
	t.Helper()
	kerneltest.OK(t, json.Unmarshal(r.Data, &told))
	return told
}

// The YAML example of seed 001, and its two answers.
func TestAskUserAsTheSeedHasIt(t *testing.T) {
	t.Parallel()
	k, s := openQuestioner(t, seedGrant)
	const args = `{"question":"Review this plan?","content":"## Plan\n1. Create middleware\n"}`
	edited := "## Plan\n1. Use the one there is\n"
	for name, c := range map[string]struct {
		reply question.Reply
		want  map[string]any
	}{
		"approved": {question.Reply{Approve: true}, map[string]any{
			"status": "approved", "question": "Review this plan?", "content": "## Plan\n1. Create middleware\n",
			"content_was_edited": false, "user_response": "approved", "raw_response": "approved",
		}},
		"edited": {question.Reply{Approve: true, Content: &edited, Text: "so"}, map[string]any{
			"status": "approved", "question": "Review this plan?", "edited_content": edited,
			"content_was_edited": true, "user_response": "so", "raw_response": "so",
		}},
		"denied": {question.Reply{Feedback: "Use JWT instead of sessions"}, map[string]any{
			"status": "denied", "question": "Review this plan?", "user_feedback": "Use JWT instead of sessions",
			"user_response": "Use JWT instead of sessions",
		}},
	} {
		asked, ended := askUser(t, k, s, "", args)
		replyTo(t, k, asked.ID, c.reply)
		r := <-ended
		if r.Status != tool.Success {
			t.Fatalf("%s: %s", name, r.Summary)
		}
		got, want := toldOf(t, r), c.want
		if a, b := asJSON(got), asJSON(want); a != b {
			t.Errorf("%s: the model is told\n%s, want\n%s", name, a, b)
		}
	}
}

func asJSON(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

// The tool is shown in all three modes, but where the app denies it or has no primitives.
func TestAskUserIsShown(t *testing.T) {
	t.Parallel()
	for app, want := range map[string]bool{
		"app: {app_id: bare}\n": true, seedGrant: true,
		"runtime: {primitives: none}\n": false,
		"tools: {capabilities: {deny: [{module: context_builder, actions: [ask_user]}]}}\n": false,
	} {
		_, s := openQuestioner(t, app)
		for _, mode := range []string{"direct", "compact_direct", "discovery"} {
			if got := shows(t, s, mode, "ask_user"); got != want {
				t.Errorf("%s in %q: shown is %v", mode, app, got)
			}
		}
	}
}

// A password is in the secret store, and neither in the result nor in the journal.
func TestAskedPasswordIsASecret(t *testing.T) {
	kerneltest.OnEachStorage(t, testAskedPasswordIsASecret)
}

func testAskedPasswordIsASecret(t *testing.T) {
	t.Setenv("CALLGATE_KEYRING", "off")
	const value = "correct-horse-battery"
	k, s := openQuestioner(t, seedGrant)
	asked, ended := askUser(t, k, s, "", `{"question":"Log in","form":[{"type":"password","name":"pw","required":true}]}`)
	replyTo(t, k, asked.ID, question.Reply{Approve: true, Fields: map[string]any{"pw": value}})
	r := <-ended
	if name := questions.SecretName(asked.ID, "pw"); r.Status != tool.Success || !strings.Contains(string(r.Data), name) {
		t.Errorf("the model is told %s", r.Data)
	}
	kept, err := k.Questions.Get(t.Context(), asked.ID)
	kerneltest.OK(t, err)
	if text := asJSON(r) + asJSON(kept); strings.Contains(text, value) {
		t.Errorf("the password is in %s", text)
	}
	found, err := k.Secrets.List(t.Context(), kerneltest.Human(t, k))
	kerneltest.OK(t, err)
	isKept := func(i secrets.Info) bool {
		return i.Info.Name == questions.SecretName(asked.ID, "pw") && i.Source == "store"
	}
	if !slices.ContainsFunc(found, isKept) {
		t.Errorf("the secrets are %+v", found)
	}
}

func shows(t *testing.T, s *session.Session, mode, name string) bool {
	t.Helper()
	plan, err := s.View().Surface(t.Context(), toolview.SurfaceConfig{Mode: mode})
	kerneltest.OK(t, err)
	return slices.ContainsFunc(plan.Shown, func(e surface.Entry) bool { return e.Name == name })
}
