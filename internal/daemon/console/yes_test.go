package console_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"callgate/internal/client"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/proposal"
	"callgate/internal/protocol"
	"callgate/internal/question"
	"callgate/tool"
)

// deciding is a site on which one of each thing waits that a person can say yes to.
type deciding struct {
	*site
	approvals []string // two calls that wait for an approval
	questions []string // one for each kind of answer
	proposal  string
}

func decisions(t *testing.T) *deciding {
	t.Helper()
	s := open(t, folder(t, map[string]string{
		"callgate.yaml": strings.Replace(asksAboutWrites, "    filesystem:\n", "    filesystem:\n    workspace: {}\n", 1),
		"a.txt":         "one\ntwo\n",
		"b.txt":         "one\n" + strings.Repeat("x\n", 10) + "two\n",
	}))
	d := &deciding{site: s}
	for _, args := range []string{`{"path":"a.txt","content":"changed\n"}`, `{"path":"new.txt","content":"new\n"}`} {
		d.approvals = append(d.approvals, s.waiting("filesystem.write", args).Approval)
	}
	s.call("WsEdit", `{"path":"b.txt","edits":[{"old":"one","new":"ONE"},{"old":"two","new":"TWO"}]}`)
	list, err := s.kernel.Proposals.List(t.Context(), proposal.Pending)
	kerneltest.OK(t, err)
	if len(list) != 1 {
		t.Fatalf("%d proposals wait", len(list))
	}
	d.proposal = list[0].ID
	for _, args := range []string{
		`{"question":"Deploy?","response_type":"approval"}`,
		`{"question":"Which name?"}`,
		`{"question":"Which color?","choices":["red","blue"],"allow_custom":true}`,
		`{"question":"Release","form":[{"name":"version","type":"text","label":"Version"},{"name":"when","type":"date","label":"When"}]}`,
		`{"question":"Review this plan","response_type":"approval","content":"# Plan\n"}`,
	} {
		d.ask(args)
	}
	var asked []protocol.Question
	kerneltest.Eventually(t, func() bool {
		asked, err = client.QuestionsOf(s.Client).List(t.Context(), protocol.QuestionPending)
		kerneltest.OK(t, err)
		return len(asked) == 5
	})
	for _, q := range asked {
		d.questions = append(d.questions, q.ID)
	}
	return d
}

// ask asks the person a question. The call waits for the answer, at most until the test ends.
func (d *deciding) ask(args string) {
	d.Helper()
	ctx, cancel := context.WithCancel(d.Context())
	session, err := d.OpenSession(ctx, protocol.OpenSession{Workspace: d.workspace})
	kerneltest.OK(d, err)
	var asking sync.WaitGroup
	asking.Go(func() {
		_, err := session.Call(ctx, protocol.CallRequest{Name: "ask_user", Args: []byte(args)})
		if err != nil && ctx.Err() == nil {
			d.Error(err)
		}
	})
	d.Cleanup(func() { cancel(); asking.Wait() })
}

// pages are all pages that can say yes.
func (d *deciding) pages() []string {
	pages := []string{
		"/approvals", "/approvals/" + d.approvals[0], "/approvals/" + d.approvals[0] + "?edit=1",
		"/approvals/answer?id=" + d.approvals[0] + "&id=" + d.approvals[1],
		"/proposals/" + d.proposal, "/rules",
	}
	for _, q := range d.questions {
		pages = append(pages, "/questions/"+q)
	}
	return pages
}

// nothingSaidYes fails the test if anything was approved, accepted or answered.
func (d *deciding) nothingSaidYes(after string) {
	d.Helper()
	for _, id := range d.approvals {
		a, err := d.Approval(d.Context(), id)
		kerneltest.OK(d, err)
		if a.State != protocol.ApprovalPending && a.State != protocol.ApprovalDenied {
			d.Fatalf("after %s approval %s is %s", after, id, a.State)
		}
	}
	for _, id := range d.questions {
		q, err := client.QuestionsOf(d.Client).Get(d.Context(), id)
		kerneltest.OK(d, err)
		if q.Given != nil && q.Given.Approved {
			d.Fatalf("after %s question %s is answered", after, id)
		}
	}
	p, err := client.NewProposals(d.Client).Get(d.Context(), d.proposal)
	kerneltest.OK(d, err)
	if p.State == protocol.ProposalAccepted {
		d.Fatalf("after %s the proposal is accepted", after)
	}
	d.has("a.txt", "one\ntwo\n")
}

// keepWaiting has a server in front of the console that takes every no and drops it, so
// that everything waits until the end of the test.
func (d *deciding) keepWaiting() {
	pages := d.server.Config.Handler
	d.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			d.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		form, _ := url.ParseQuery(string(body))
		switch form.Get("action") {
		case "deny", "stop", "refuse":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<link rel="icon" href="data:,"><p>this no was taken`)
		default:
			pages.ServeHTTP(w, r)
		}
	}))
	d.Cleanup(d.server.Close)
}

// Enter in a text field is never a yes: not on any page that can say yes, not in any of its
// fields, with the console's script and without it.
func TestEnterNeverSaysYes(t *testing.T) {
	t.Parallel()
	for _, scripts := range []bool{true, false} {
		t.Run(fmt.Sprintf("scripts=%v", scripts), func(t *testing.T) {
			t.Parallel()
			d := decisions(t)
			d.keepWaiting()
			b := browse(d.site)
			_, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled,
				emulation.SetScriptExecutionDisabledParams{Value: !scripts})
			kerneltest.OK(t, err)
			tried := 0
			for _, page := range d.pages() {
				for field := 0; ; field++ {
					b.open(page)
					found, submits := b.focus(field)
					if !found {
						break
					}
					tried++
					b.do(keys("no, do not\r"))
					if submits {
						b.sees("this no was taken")
					}
					d.nothingSaidYes(fmt.Sprintf("Enter in field %d of %s", field, page))
				}
			}
			if tried < 12 {
				t.Errorf("%d fields were tried", tried)
			}
			b.open("/rules")
			d.nothingSaidYes("everything")
		})
	}
}

// focus focuses the text field of the page with this number. It reports whether there is one, and
// whether Enter in it presses a button.
func (b *browser) focus(n int) (found, submits bool) {
	b.Helper()
	is, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](fmt.Sprintf(`(() => {
		document.querySelectorAll("details").forEach(d => d.open = true);
		const field = [...document.querySelectorAll("main input, main textarea")].filter(
			f => !["hidden", "checkbox", "radio"].includes(f.type))[%d];
		if (!field) return "";
		field.focus();
		const first = field.form?.querySelector("button");
		return field.localName === "input" && first && !first.disabled ? "submits" : "does not";
	})()`, n)))
	kerneltest.OK(b, err)
	return is != "", is == "submits"
}

// Yes and no are separate forms, and a form that can say yes holds no field for a reason.
func TestYesAndNoAreSeparateForms(t *testing.T) {
	t.Parallel()
	d := decisions(t)
	for _, page := range d.pages() {
		for _, form := range strings.Split(d.get(page), "<form ")[1:] {
			form, _, _ = strings.Cut(form, "</form>")
			yes := false
			for _, action := range []string{"approve", "session", "script", "always", "edit", "accept", "answer"} {
				yes = yes || strings.Contains(form, `value="`+action+`"`)
			}
			for _, no := range []string{`value="deny"`, `value="stop"`, `value="refuse"`, `name="reason"`} {
				if yes && strings.Contains(form, no) {
					t.Errorf("a form of %s says yes and has %s:\n%s", page, no, form)
				}
			}
		}
	}
}

// A yes with a reason for a no is refused, whichever form or client sends it.
func TestYesWithAReasonForANoIsRefused(t *testing.T) {
	t.Parallel()
	d := decisions(t)
	const contradiction = "says yes and gives a reason for a no"
	id := d.approvals[0]
	for _, action := range []string{"approve", "session", "edit"} {
		d.wants(d.post("/approvals/"+id, url.Values{"action": {action}, "reason": {"no!"}}), contradiction)
	}
	d.wants(d.post("/approvals", url.Values{"action": {"approve"}, "id": {id}, "reason": {"no!"}}), contradiction)
	if _, err := d.Answer(t.Context(), id, protocol.Answer{Approve: true, Feedback: "no!"}); tool.KindOf(err) != tool.Invalid {
		t.Errorf("the kernel answers %v", err)
	}
	d.wants(d.post("/questions/"+d.questions[0], url.Values{"action": {"answer"}, "reason": {"no!"}}), contradiction)
	reply := protocol.AnswerQuestion{Reply: question.Reply{Approve: true, Feedback: "no!"}}
	if _, err := client.QuestionsOf(d.Client).Answer(t.Context(), d.questions[0], reply); tool.KindOf(err) != tool.Invalid {
		t.Errorf("the kernel answers %v", err)
	}
	d.nothingSaidYes("contradictions")
}

// A key answers the call that is marked: not those that are ticked, and none if none is marked.
func TestKeysAnswerWhatIsMarked(t *testing.T) {
	t.Parallel()
	s := asking(t)
	var ids []string
	for n := range 4 {
		ids = append(ids, s.waiting("filesystem.write", fmt.Sprintf(`{"path":"%d.txt","content":"x"}`, n)).Approval)
	}
	b := browse(s)
	state := func(id string) protocol.ApprovalState {
		a, err := s.Approval(t.Context(), id)
		kerneltest.OK(t, err)
		return a.State
	}
	b.open("/approvals")
	ticked := func(id string) string { return `input[name="id"][value="` + id + `"]` }
	b.do(click(ticked(ids[0])), click(ticked(ids[1])))
	b.do(keys("a"), keys("d")) // nothing is marked
	b.do(keys("j"), keys("j"), keys("j"), keys("j"))
	marked, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.querySelector("[data-row].at").dataset.id`))
	kerneltest.OK(t, err)
	b.do(keys("d"))
	kerneltest.Eventually(t, func() bool { return state(marked) == protocol.ApprovalDenied })
	for _, id := range ids {
		if id != marked && state(id) != protocol.ApprovalPending {
			t.Errorf("%s is %s, and %s was marked", id, state(id), marked)
		}
	}
}

// Several calls are answered on a page that lists just them, with a form for yes and one for no.
func TestSeveralAreLookedAtAndAnswered(t *testing.T) {
	t.Parallel()
	d := decisions(t)
	third := d.waiting("filesystem.write", `{"path":"third.txt","content":"3"}`)
	page := d.get("/approvals/answer?id=" + d.approvals[0] + "&id=" + d.approvals[1])
	d.wants(page, "changed", "new.txt", "Approve these 2 calls", "Deny these 2 calls")
	if strings.Contains(page, third.Approval) {
		t.Error("the page names a call that was not chosen")
	}
	d.wants(d.get("/approvals/answer"), "No call is chosen")
	d.post("/approvals", url.Values{"action": {"deny"}, "id": d.approvals, "reason": {"not today"}})
	for _, id := range d.approvals {
		a, err := d.Approval(t.Context(), id)
		kerneltest.OK(t, err)
		if a.State != protocol.ApprovalDenied || a.Answer.Feedback != "not today" {
			t.Errorf("%s is %s: %+v", id, a.State, a.Answer)
		}
	}
}

// Two people answer one call: the second sees what the first said, and that it counts.
func TestTheSecondAnswerShowsTheFirst(t *testing.T) {
	t.Parallel()
	s := asking(t)
	asked := s.waiting("filesystem.write", `{"path":"a.txt","content":"mine"}`)
	page := "/approvals/" + asked.Approval
	s.post(page, url.Values{"action": {"deny"}, "reason": {"not today"}})
	s.wants(s.post(page, url.Values{"action": {"approve"}}),
		"was already denied", "filesystem.write", "not today", s.workspace, `<span class="state denied">`)
	s.has("a.txt", "one\ntwo\n")
}

// The page of one approval shows what becomes of it while it is looked at.
func TestThePageOfAnApprovalIsLive(t *testing.T) {
	t.Parallel()
	s := asking(t)
	asked := s.waiting("filesystem.write", `{"path":"a.txt","content":"mine"}`)
	b := browse(s)
	b.open("/approvals/" + asked.Approval)
	b.do(seeing("[data-approve]"))
	_, err := s.Answer(t.Context(), asked.Approval, protocol.Answer{Feedback: "not today", By: "bob"})
	kerneltest.OK(t, err)
	b.sees("not today")
	gone, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`!document.querySelector("[data-approve]")`))
	kerneltest.OK(t, err)
	if !gone {
		t.Error("the page still offers a yes")
	}
}

// A list that changes keeps what a person has typed and where they are.
func TestALiveListKeepsWhatIsTyped(t *testing.T) {
	t.Parallel()
	s := asking(t)
	first := s.waiting("filesystem.write", `{"path":"one.txt","content":"x"}`)
	b := browse(s)
	b.open("/approvals")
	reason := `[data-id="` + first.Approval + `"] [name="reason"]`
	b.do(typed(reason, "use staging"), chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
	s.waiting("filesystem.write", `{"path":"two.txt","content":"x"}`)
	b.sees("two.txt")
	kept, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.querySelector('`+reason+`').value`))
	kerneltest.OK(t, err)
	if kept != "use staging" {
		t.Errorf("the reason is %q", kept)
	}
}

// A click that was aimed at a list before its rows moved approves nothing.
func TestAClickOnAListThatJustMovedApprovesNothing(t *testing.T) {
	t.Parallel()
	s := asking(t)
	first := s.waiting("filesystem.write", `{"path":"one.txt","content":"x"}`)
	b := browse(s)
	b.open("/approvals")
	b.do(seeing("[data-approve]"), chromedp.Evaluate[chromedp.Void](`void new MutationObserver((_, watching) => {
		if (document.querySelectorAll("[data-approve]").length < 2) return;
		watching.disconnect();
		document.querySelector("[data-approve]").click();
	}).observe(document.querySelector("#live"), {childList: true, subtree: true})`))
	second := s.waiting("filesystem.write", `{"path":"two.txt","content":"x"}`)
	b.sees("The list has just changed")
	for _, id := range []string{first.Approval, second.Approval} {
		a, err := s.Approval(t.Context(), id)
		kerneltest.OK(t, err)
		if a.State != protocol.ApprovalPending {
			t.Errorf("%s is %s", id, a.State)
		}
	}
}
