package console_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol"
	"callgate/tool"
)

const asksAboutWrites = `
tools:
  modules:
    filesystem:
  capabilities:
    default_policy: auto
    approve:
      - {module: filesystem, actions: [write, edit, delete]}
`

// asking is a site whose app asks about writes.
func asking(t *testing.T) *site {
	t.Helper()
	return open(t, folder(t, map[string]string{"callgate.yaml": asksAboutWrites, "a.txt": "one\ntwo\n"}))
}

// waiting makes a call that waits for a human.
func (s *site) waiting(name, args string) *tool.Result {
	s.Helper()
	got := s.call(name, args)
	if got.Status != tool.Waiting {
		s.Fatalf("%s does not wait: %s", name, got.Summary)
	}
	return got
}

func (s *site) has(name, want string) {
	s.Helper()
	data, err := os.ReadFile(filepath.Join(s.workspace, name))
	kerneltest.OK(s, err)
	if string(data) != want {
		s.Errorf("%s has %q, want %q", name, data, want)
	}
}

func (s *site) ended(call string) {
	s.Helper()
	_, err := s.Collect(s.Context(), call)
	kerneltest.OK(s, err)
}

func TestACallIsShownWithItsDifferenceAndApproved(t *testing.T) {
	t.Parallel()
	s := asking(t)
	asked := s.waiting("filesystem.write", `{"path":"a.txt","content":"one\nthree\n"}`)
	s.wants(s.get("/approvals"), "filesystem.write", "content", `name="id" value="`+asked.Approval+`"`)
	page := s.get("/approvals/" + asked.Approval)
	s.wants(page, `<span class="del">-two`, `<span class="add">&#43;three`, "Approve once", `value="csrf-of-ada"`, "Deny")
	s.wants(s.post("/approvals/"+asked.Approval, url.Values{"action": {"approve"}}), "approved by ada")
	s.ended(asked.Call)
	s.has("a.txt", "one\nthree\n")
	s.wants(s.get("/calls/"+asked.Call), "asked, and a human must answer first", "approved by ada", "began", "ended: success")
}

func TestACallIsApprovedWithOtherArguments(t *testing.T) {
	t.Parallel()
	s := asking(t)
	asked := s.waiting("filesystem.write", `{"path":"a.txt","content":"mine"}`)
	page := s.get("/approvals/" + asked.Approval)
	s.wants(page, `name="arg.content"`, `name="arg.path"`, `name="arg.mode"`)
	s.post("/approvals/"+asked.Approval, url.Values{
		"action": {"edit"}, "arg.path": {"a.txt"}, "arg.content": {"as edited\r\n"},
	})
	s.ended(asked.Call)
	s.has("a.txt", "as edited\n")
}

func TestACallIsDeniedWithAReason(t *testing.T) {
	t.Parallel()
	s := asking(t)
	asked := s.waiting("filesystem.write", `{"path":"a.txt","content":"mine"}`)
	s.wants(s.post("/approvals/"+asked.Approval, url.Values{"action": {"deny"}, "reason": {"not today"}}),
		"denied by ada", "not today")
	s.has("a.txt", "one\ntwo\n")
}

func TestAYesIsKept(t *testing.T) {
	t.Parallel()
	s := asking(t)
	asked := s.waiting("filesystem.write", `{"path":"a.txt","content":"mine"}`)
	page := s.get("/approvals/" + asked.Approval)
	s.wants(page, "Always: what is allowed from now on", `name="choice" value="1"`)
	s.wants(s.post("/approvals/"+asked.Approval, url.Values{"action": {"always"}, "choice": {"9"}}), "it is not chosen")
	s.post("/approvals/"+asked.Approval, url.Values{"action": {"always"}, "choice": {"1"}, "until": {"30d"}})
	s.ended(asked.Call)
	if again := s.call("filesystem.write", `{"path":"a.txt","content":"mine"}`); again.Status != tool.Success {
		t.Errorf("it is asked again: %s", again.Summary)
	}
}

func TestSeveralAreAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	s := asking(t)
	one := s.waiting("filesystem.write", `{"path":"b.txt","content":"b"}`)
	two := s.waiting("filesystem.write", `{"path":"c.txt","content":"c"}`)
	page := s.post("/approvals", url.Values{"action": {"approve"}, "id": {one.Approval, two.Approval, "anosuch"}})
	s.wants(page, "anosuch:", "Answered")
	s.ended(one.Call)
	s.ended(two.Call)
	s.has("b.txt", "b")
	s.has("c.txt", "c")
}

func TestAViewerIsOfferedNoAnswer(t *testing.T) {
	t.Parallel()
	s := asking(t)
	asked := s.waiting("filesystem.write", `{"path":"a.txt","content":"mine"}`)
	s.person.Role = "viewer"
	for _, page := range []string{"/approvals", "/approvals/" + asked.Approval, "/tools/filesystem.write"} {
		if got := s.get(page); strings.Contains(got, `name="action"`) || !strings.Contains(got, "A viewer") {
			t.Errorf("%s offers it:\n%s", page, plain(got))
		}
	}
}

// What a model writes cannot pass for something else on a page.
func TestWhatIsHiddenIsShown(t *testing.T) {
	t.Parallel()
	s := asking(t)
	asked := s.waiting("filesystem.write", `{"path":"a.txt","content":"<script>alert(1)</script>\u202eevil\u200b"}`)
	for _, at := range []string{"/", "/approvals", "/approvals/" + asked.Approval, "/journal", "/calls/" + asked.Call} {
		page := s.get(at)
		if strings.Contains(page, "<script>alert") || strings.ContainsAny(page, "\u202e\u200b") {
			t.Errorf("%s shows it as it is", at)
		}
	}
	s.wants(s.get("/approvals/"+asked.Approval), "⟨U&#43;202E⟩", "⟨U&#43;200B⟩", "&lt;script&gt;", `\u202e`)
}

func TestWhatIsNotThere(t *testing.T) {
	t.Parallel()
	s := asking(t)
	for _, page := range []string{"/approvals/anosuch", "/questions/qnosuch", "/calls/nosuch", "/approvals/..%2f..%2fv1%2fstop"} {
		s.fails(page, http.StatusNotFound)
	}
	list, err := s.Approvals(t.Context(), protocol.ApprovalPending)
	if err != nil || len(list) > 0 {
		t.Errorf("got %v, %v", list, err)
	}
}
