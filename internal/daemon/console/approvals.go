package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/internal/client"
	"callgate/internal/client/editpreview"
	"callgate/internal/daemon/console/form"
	"callgate/internal/linediff"
	"callgate/internal/protocol"
	"callgate/tool"
)

// approvalPages answers calls that wait for a human.
type approvalPages struct{ *Console }

func (c *approvalPages) routes() map[string]serve {
	return map[string]serve{
		"GET /approvals":        c.approvals,
		"POST /approvals":       c.answerSeveral,
		"GET /approvals/answer": c.several,
		"GET /approvals/{id}":   c.approval,
		"POST /approvals/{id}":  c.answer,
	}
}

// approvalsData is what the list of approvals shows.
type approvalsData struct {
	Waits    waits
	Answered []protocol.Approval // the newest first
	Failed   []string            // of several answers: those that were refused, in words
	Done     *protocol.Approval  // the one that was just answered
	All      bool
}

// answeredShown is how many answered approvals the list shows.
const answeredShown = 20

func readApprovals(
	ctx context.Context, k *client.Client, waiting waits, all bool,
) (d approvalsData, err error) {
	d.Waits, d.All = waiting, all
	if !all {
		return d, nil
	}
	list, err := k.Approvals(ctx, "")
	if err != nil {
		return d, err
	}
	list = slices.DeleteFunc(list, func(a protocol.Approval) bool { return a.State == protocol.ApprovalPending })
	slices.SortFunc(list, func(a, b protocol.Approval) int { return b.AskedAt.Compare(a.AskedAt) })
	d.Answered = list[:min(len(list), answeredShown)]
	return d, nil
}

func (c *approvalPages) approvals(w http.ResponseWriter, r *http.Request) error {
	k := c.Client(r)
	data, err := readApprovals(r.Context(), k, c.waits(r.Context(), k), r.FormValue("all") != "")
	if err != nil {
		return err
	}
	if id := r.FormValue("done"); id != "" {
		if a, err := k.Approval(r.Context(), id); err == nil && a.Answer != nil {
			data.Done = &a
		}
	}
	p := page{Title: "Approvals", Nav: "approvals", Data: data}
	if !data.All {
		p.Live = "approvals"
	}
	return c.show(w, r, "approvals", p)
}

// severalData is what the page shows that answers several calls at once.
type severalData struct {
	Approvals []protocol.Approval
	Gone      []string // of the chosen calls, those that cannot be answered, in words
}

// several shows the calls that a person has ticked, with one form to approve them and one to
// deny them. What is answered is what this page lists.
func (c *approvalPages) several(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return err
	}
	ids := r.Form["id"]
	if len(ids) == 0 {
		data, err := readApprovals(r.Context(), c.Client(r), c.waits(r.Context(), c.Client(r)), false)
		if err != nil {
			return err
		}
		data.Failed = []string{"No call is chosen. Tick the calls that you want to answer together."}
		return c.show(w, r, "approvals", page{Title: "Approvals", Nav: "approvals", Data: data})
	}
	var data severalData
	for _, id := range ids {
		a, err := c.Client(r).Approval(r.Context(), id)
		switch {
		case err != nil:
			data.Gone = append(data.Gone, tool.Truncate(id)+": "+asError(err).Error())
		case a.State != protocol.ApprovalPending:
			data.Gone = append(data.Gone, fmt.Sprintf("%s no longer waits: it is %s", a.Call.Tool.Dotted(), a.State))
		default:
			data.Approvals = append(data.Approvals, a)
		}
	}
	return c.show(w, r, "several", page{Title: "Answer several calls", Nav: "approvals", Data: data})
}

// answerSeveral gives the chosen approvals the same answer. What is refused is said, and the
// others are answered all the same.
func (c *approvalPages) answerSeveral(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return err
	}
	k := c.Client(r)
	yes := r.PostForm.Get("action") == "approve"
	if !yes && r.PostForm.Get("action") != "deny" {
		return tool.Errorf("console.approvals", tool.Invalid, "the form does not say yes or no").
			WithHint("use one of its buttons")
	}
	ids := r.PostForm["id"]
	if len(ids) == 0 {
		return tool.Errorf("console.approvals", tool.Invalid, "no call is chosen").
			WithHint("mark the calls that the answer is for")
	}
	var failed []string
	for _, id := range ids {
		answer := protocol.Answer{Approve: yes, Feedback: r.PostForm.Get("reason"), By: c.Person(r).Name}
		if _, err := k.Answer(r.Context(), id, answer); err != nil {
			failed = append(failed, tool.Truncate(id)+": "+asError(err).Error())
		}
	}
	if failed == nil {
		return back(w, r, "/approvals?all=1")
	}
	data, err := readApprovals(r.Context(), k, c.waits(r.Context(), k), true)
	if err != nil {
		return err
	}
	data.Failed = failed
	return c.show(w, r, "approvals", page{Title: "Approvals", Nav: "approvals", Data: data})
}

// approvalData is what the page of one approval shows.
type approvalData struct {
	protocol.Approval
	Pending bool
	Fields  []form.Field
	Diff    []linediff.Line
	Words   []string // what the call makes, as a person reads it
	NoDiff  string   // why there is none, for a call that changes a file
	Editing bool
	Error   *tool.Error
	Program []programLine
}

// programLine is a line of the script that makes the call.
type programLine struct {
	Number int
	Text   string
	Here   bool
}

func (c *approvalPages) approval(w http.ResponseWriter, r *http.Request) error {
	a, err := c.Client(r).Approval(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return c.showApproval(w, r, a, nil, nil)
}

// showApproval shows the page of an approval: after an answer that was refused, with what was
// written and why.
func (c *approvalPages) showApproval(
	w http.ResponseWriter, r *http.Request, a protocol.Approval, fields []form.Field, refused error,
) error {
	d := approvalData{
		Approval: a, Pending: a.State == protocol.ApprovalPending, Fields: fields,
		Editing: fields != nil || r.FormValue("edit") != "",
	}
	if refused != nil {
		d.Error = asError(refused)
	}
	if d.Fields == nil {
		d.Fields = form.Fields(c.schemaOf(r, a), a.Call.Args)
	}
	if a.Script != nil {
		for i, line := range strings.Split(a.Script.Program, "\n") {
			d.Program = append(d.Program, programLine{i + 1, line, i+1 == a.Script.Line})
		}
	}
	d.Words = editpreview.Words(a)
	if d.Pending && d.Words == nil && editpreview.Changes(a) {
		d.Diff = editpreview.Lines(a, func(path string) ([]byte, error) {
			text, err := c.readFile(r, a, path)
			if err != nil && tool.KindOf(err) != tool.NotFound {
				d.NoDiff = "The file as it is now could not be read: " + asError(err).Error()
			}
			return text, err
		})
	}
	return c.show(w, r, "approval", page{Title: a.Call.Tool.Dotted(), Nav: "approvals", Data: d})
}

// schemaOf is the schema of an approval's tool, as the person's session has it; nil: it has
// no such tool.
func (c *approvalPages) schemaOf(r *http.Request, a protocol.Approval) json.RawMessage {
	s, err := c.sessions.open(r.Context(), c.Client(r), a.Workspace, a.AppFile, time.Now())
	if err != nil {
		return nil
	}
	t, err := s.Tool(r.Context(), a.Call.Tool.Dotted())
	if err != nil {
		return nil
	}
	return t.Input
}

// readFile reads a file through the gate, as a call of the person: the console has no other
// way to a file.
func (c *approvalPages) readFile(r *http.Request, a protocol.Approval, path string) ([]byte, error) {
	const op = "console.readFile"
	if !c.Person(r).MayCall() {
		return nil, tool.Errorf(op, tool.Denied, "a %s makes no calls", c.Person(r).Role)
	}
	s, err := c.sessions.open(r.Context(), c.Client(r), a.Workspace, a.AppFile, time.Now())
	if err != nil {
		return nil, err
	}
	if t, err := s.Tool(r.Context(), "filesystem.read"); err != nil || t.Policy != "allow" {
		return nil, tool.Errorf(op, tool.Denied, "the rules here do not let it be read unasked")
	}
	args, err := json.Marshal(map[string]any{"path": path, "line_numbers": false, "raw": true, "limit": 100_000})
	if err != nil {
		return nil, err
	}
	got, err := s.Call(r.Context(), protocol.CallRequest{Name: "filesystem.read", Args: args, NoWait: true})
	var about struct{ Truncated bool }
	switch {
	case err != nil:
		return nil, err
	case got.Error != nil:
		return nil, got.Error
	case got.Status == tool.Waiting: // a rule about this very file: nobody is bothered for the sake of a page
		no := protocol.Answer{Feedback: "the console wanted to compare the file", By: c.Person(r).Name}
		_, _ = c.Client(r).Answer(r.Context(), got.Approval, no) // who may not say no leaves it waiting
		return nil, tool.Errorf(op, tool.Denied, "the rules here do not let it be read unasked")
	case got.Status != tool.Success:
		return nil, tool.Errorf(op, tool.Denied, "%s", got.Summary)
	}
	_ = json.Unmarshal(got.Data, &about)
	if about.Truncated || got.Cut != nil || len(got.Content) != 1 || got.Content[0].Type != "text" {
		return nil, tool.Errorf(op, tool.Limited, "%s is too long to be compared here", path)
	}
	return []byte(got.Content[0].Text), nil
}

// answer answers one approval.
func (c *approvalPages) answer(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return err
	}
	k := c.Client(r)
	a, err := k.Approval(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	answer, fields, err := c.readAnswer(r, a)
	if err == nil {
		if a, err = k.Answer(r.Context(), a.ID, answer); err == nil {
			switch next := r.PostForm.Get("next"); {
			case next == "/approvals":
				return back(w, r, "/approvals?done="+url.QueryEscape(a.ID))
			case strings.HasPrefix(next, "/conversations/"):
				return back(w, r, next)
			}
			return back(w, r, "/calls/"+url.PathEscape(a.Call.ID))
		}
	}
	now, gone := k.Approval(r.Context(), r.PathValue("id")) // another person may have answered it
	if gone != nil {
		return gone
	}
	return c.showApproval(w, r, now, fields, err)
}

// readAnswer reads the answer of a form; fields are those of the arguments, where they were
// edited.
func (c *approvalPages) readAnswer(
	r *http.Request, a protocol.Approval,
) (answer protocol.Answer, fields []form.Field, err error) {
	answer = protocol.Answer{Approve: true, Feedback: r.PostForm.Get("reason"), By: c.Person(r).Name}
	switch r.PostForm.Get("action") {
	case "approve":
	case "session":
		answer.Always = true
	case "script":
		answer.Script = true
	case "deny":
		answer.Approve = false
	case "stop":
		answer.Approve, answer.Script = false, true
	case "always":
		n, err := strconv.Atoi(r.PostForm.Get("choice"))
		if err != nil || n < 1 || n > len(a.Choices) {
			return answer, nil, tool.Errorf("console.answer", tool.Invalid, "it is not chosen what is allowed from now on").
				WithHint("choose one of the patterns")
		}
		until, err := protocol.ParseUntil(r.PostForm.Get("until"), time.Now())
		if err != nil {
			return answer, nil, err
		}
		answer.Remember = &protocol.Remember{Choice: n, Until: until}
	case "edit":
		var changed bool
		answer.Args, changed, fields, err = form.Read(c.schemaOf(r, a), a.Call.Args, r.PostForm)
		if !changed {
			answer.Args = nil
		}
	default:
		err = tool.Errorf("console.answer", tool.Invalid, "the form does not say yes or no").
			WithHint("use one of its buttons")
	}
	return answer, fields, err
}
