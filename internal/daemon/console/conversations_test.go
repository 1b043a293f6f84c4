package console_test

import (
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol"
)

// talking is a site whose agent writes a file when it is asked, for which a human is asked, and
// says so. What it says holds something hidden.
func talking(t *testing.T) *site {
	t.Helper()
	model := kerneltest.NewModel(t,
		kerneltest.Answer{Calls: []string{`filesystem__write {"path":"notes.md","content":"hello\n"}`}},
		kerneltest.Answer{Text: "I wrote <b>notes.md</b>\u202e."}, kerneltest.Answer{Text: "Good."})
	dir := folder(t, nil)
	kerneltest.Write(t, filepath.Join(dir, "callgate.yaml"),
		"agents: [{id: main, brain: "+model.Brain("openai", "gpt-4o")+"}]\nruntime: {tool_injection: direct}\n"+asksAboutWrites)
	s := open(t, dir)
	page := s.get("/rules")
	s.post("/app/trust", url.Values{"shown": {hidden(page, "shown")}})
	return s
}

// What models took today stands on the first page, of agents too.
func TestNowSaysWhatModelsTook(t *testing.T) {
	t.Parallel()
	s := talking(t)
	s.wants(s.get("/"), "<b>$0</b> no model asked today", `href="/models"`)
	s.post("/conversations", url.Values{"text": {"write a note"}})
	s.post("/approvals/"+s.pending().ID, url.Values{"action": {"deny"}})
	kerneltest.Eventually(t, func() bool {
		return strings.Contains(s.get("/"), "<b>$0.0007</b> spent today, 220 tokens")
	})
}

// pending waits for a call that waits for a human.
func (s *site) pending() (a protocol.Approval) {
	s.Helper()
	kerneltest.Eventually(s, func() bool {
		list, err := s.Approvals(s.Context(), protocol.ApprovalPending)
		kerneltest.OK(s, err)
		if len(list) > 0 {
			a = list[0]
		}
		return len(list) > 0
	})
	return a
}

func TestAConversationWithAnApprovalInTheMiddle(t *testing.T) {
	t.Parallel()
	s := talking(t)
	s.wants(s.get("/conversations"), "No conversation yet", "Ask an agent")
	page := s.post("/conversations", url.Values{"text": {"write a note"}})
	id := regexp.MustCompile(`action="/conversations/([^"]+)"`).FindStringSubmatch(page)[1]
	asked := s.pending()
	s.wants(s.get("/conversations/"+id), `data-live="turn/`+id, "Stop")
	r, err := s.server.Client().Get(s.server.URL + "/live/turn/" + id)
	kerneltest.OK(t, err)
	page = s.post("/approvals/"+asked.ID, url.Values{"action": {"approve"}, "next": {"/conversations/" + id}})
	s.wants(page, "write a note")
	stream := s.read(r, err, http.StatusOK) // it ends with the turn
	s.wants(stream, "write a note", "approval-"+asked.ID, "Approve once", "wrote", "event: over")
	if strings.Contains(stream, "<b>notes") || strings.Contains(stream, "\u202e") {
		t.Errorf("the stream says it as it is:\n%s", stream)
	}
	s.has("notes.md", "hello\n")
	if shown := s.get("/conversations/" + id); strings.Contains(shown, "filesystem__") || !strings.Contains(shown, "<strong>filesystem.write</strong>") {
		t.Errorf("the tool is not called by its name:\n%s", shown)
	}
	page = s.get("/conversations/" + id)
	s.wants(page, "&lt;b&gt;notes.md&lt;/b&gt;⟨U&#43;202E⟩", "write a note", "success", "<svg", "undo its last changes")
	if strings.Contains(page, "data-live-part") {
		t.Error("a turn that is over is live")
	}
	s.wants(s.get("/conversations"), "write a note", ">done</span>")
	s.wants(s.get("/undo?conversation="+id), "notes.md", "Put them back")
	r, err = s.server.Client().Get(s.server.URL + "/live/turn/" + id)
	s.wants(s.read(r, err, http.StatusOK), "event: over")
	s.post("/conversations/"+id, url.Values{"text": {"thanks"}})
	kerneltest.Eventually(t, func() bool {
		page := s.get("/conversations/" + id)
		return strings.Contains(page, "thanks") && strings.Contains(page, "Good.")
	})
	s.fails("/conversations/nosuch", http.StatusNotFound)
	s.fails("/live/turn/nosuch", http.StatusNotFound)
}

// A turn that ends while its page is made is shown to its end, or as one that is followed.
func TestATurnEndsWhileItIsShown(t *testing.T) {
	t.Parallel()
	s := talking(t)
	page := s.post("/conversations", url.Values{"text": {"write a note"}})
	id := regexp.MustCompile(`action="/conversations/([^"]+)"`).FindStringSubmatch(page)[1]
	asked := s.pending()
	end := func() {
		s.post("/approvals/"+asked.ID, url.Values{"action": {"approve"}, "next": {"/docs"}})
		r, err := s.server.Client().Get(s.server.URL + "/live/turn/" + id)
		s.wants(s.read(r, err, http.StatusOK), "event: over")
	}
	s.onRead.Store(&end)
	page = s.get("/conversations/" + id)
	if s.onRead.Load() != nil {
		t.Fatal("the history was not read")
	}
	if !strings.Contains(page, "data-live-part") && !strings.Contains(page, "I wrote") {
		t.Errorf("a turn that is over is shown as it was:\n%s", plain(page))
	}
}

func TestATurnIsStopped(t *testing.T) {
	t.Parallel()
	s := talking(t)
	page := s.post("/conversations", url.Values{"text": {"write a note"}})
	id := regexp.MustCompile(`action="/conversations/([^"]+)"`).FindStringSubmatch(page)[1]
	s.pending()
	s.post("/conversations/"+id, url.Values{"action": {"stop"}})
	kerneltest.Eventually(t, func() bool { return strings.Contains(s.get("/conversations/"+id), "the turn ended: cancelled") })
}

func TestAConversationInABrowser(t *testing.T) {
	t.Parallel()
	b := browse(talking(t))
	b.size(1100, 700, false)
	b.open("/conversations")
	b.do(typed("#text", "write a note"), keys("\r"))
	b.sees("Approve once")
	b.capture("turn")
	b.do(click("#turn [data-approve]"))
	b.sees("I wrote <b>notes.md</b>⟨U+202E⟩.")
	b.sees("success")
	b.do(chromedp.WaitNotPresent(chromedp.CSS("#turn")), click("details:has(svg) summary"))
	b.capture("conversation")
	b.has("notes.md", "hello\n")
	b.open("/conversations")
	b.sees("done")
	b.do(chromedp.WaitNotPresent(chromedp.CSS("[data-live-part]")))
}
