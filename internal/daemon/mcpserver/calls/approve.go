package calls

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/mcpresult"
	"callgate/internal/daemon/mcpserver/question"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel/questions"
	"callgate/internal/kernel/session"
	"callgate/internal/visible"
	"callgate/internal/visible/arguments"
	"callgate/tool"
)

// maxTries is how often a human may edit arguments into invalid ones.
const maxTries = 3

// How many characters a form shows of what a stranger may choose. The arguments
// are shown whole.
const (
	maxName   = 200
	maxReason = 2_000
)

// The fields of the form.
const (
	fieldApprove   = "approve"
	fieldArguments = "arguments"
	fieldFeedback  = "feedback"
	fieldRemember  = "remember"
)

// approver has a human approve a call: the human at the client while a request
// attends the call, or one elsewhere. The first answer counts.
type approver struct {
	*pending
	session *session.Session
	asked   *tool.Result // the call that waits
}

// run waits for the approval and for the end of the call. A call that would touch
// something else after it was approved asks again, and so does the form.
func (a *approver) run() *tool.Result {
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	ended, again := make(chan *tool.Result, 1), make(chan approval.Request, 1)
	first := *a.asked
	go a.watchAgain(ctx, first, again)
	go func() { ended <- a.collect(first.Call) }()
	for {
		if r := a.ask(ended); r != nil {
			return r
		}
		select {
		case r := <-ended:
			return r
		case r := <-again:
			next := *a.asked
			next.Approval = r.ID
			a.mu.Lock()
			a.asked, a.waiting = &next, &next
			a.mu.Unlock()
		}
	}
}

// watchAgain sends the requests that the call makes after the first.
func (a *approver) watchAgain(ctx context.Context, first tool.Result, again chan<- approval.Request) {
	seen := map[string]bool{first.Approval: true}
	for r, err := range a.calls.Kernel.Approvals.Watch(ctx) {
		if err != nil {
			return // the call can be approved elsewhere
		}
		if r.Call.ID != first.Call || r.State != approval.Pending || seen[r.ID] {
			continue
		}
		seen[r.ID] = true
		select {
		case again <- r:
		case <-ctx.Done():
			return
		}
	}
}

// ask puts the approval to the human at the client until it is answered, there or
// elsewhere. It returns the end of a call that ended meanwhile.
func (a *approver) ask(ended <-chan *tool.Result) *tool.Result {
	note := ""
	for tries := 0; a.approvalPending(); {
		q := question.New(nil, true)
		if tries < maxTries && !a.calls.Approval.NoForms {
			if form := a.form(note); form != nil {
				q.Parts = sdk.InputRequestMap{question.ApprovalKey: form}
			}
		}
		select {
		case a.link.asks() <- q:
		case r := <-ended:
			return r
		}
		select {
		case answer := <-q.Answered():
			if answer.Automatic {
				tries = maxTries // a human may answer it elsewhere
				continue
			}
			answered, err := a.settle(answer)
			if answered {
				return nil
			}
			if err != nil {
				tries++
				note = "This could not be taken for an answer: " + err.Error()
			}
		case r := <-ended:
			return r
		}
	}
	return nil
}

// approvalPending reports whether the approval of the call is still open.
func (p *pending) approvalPending() bool {
	p.mu.Lock()
	asked := p.waiting
	p.mu.Unlock()
	if asked == nil {
		return false
	}
	if isQuestion(asked) {
		r, err := p.calls.Kernel.Questions.Get(p.ctx, asked.Approval)
		return err == nil && r.State == questions.Pending
	}
	r, err := p.calls.Kernel.Approvals.Get(p.ctx, asked.Approval)
	return err == nil && r.State == approval.Pending
}

// collect waits for the end of the call.
func (a *approver) collect(call string) *tool.Result {
	r, err := a.calls.Kernel.Collect(a.ctx, call)
	if err != nil {
		return mcpresult.Failure("mcpserver.collect", err)
	}
	return r
}

// settle answers the approval with what the human wrote into the form. It
// reports whether that was an answer.
func (a *approver) settle(got question.Answer) (answered bool, err error) {
	answer := approval.Answer{}
	form := got.Form()
	switch {
	case form == nil:
		return false, nil
	case form.Action == "accept":
		answer.Approve, _ = form.Content[fieldApprove].(bool)
		answer.Feedback, _ = form.Content[fieldFeedback].(string)
		edited, err := a.edited(form.Content[fieldArguments])
		if err != nil && answer.Approve {
			return false, err
		}
		answer.Args = edited
		if answer.Remember, err = a.remembered(form.Content[fieldRemember]); err != nil && answer.Approve {
			return false, err
		}
	case form.Action == "decline":
		answer.Feedback, _ = form.Content[fieldFeedback].(string)
	default:
		return false, nil
	}
	// An answer outlives the request that brought it.
	by := approval.Voucher{By: "the human at " + a.calls.Client, Session: a.session.ID()}
	err = a.calls.Kernel.Approvals.AnswerVouched(context.WithoutCancel(a.ctx), by, a.asked.Approval, answer)
	if tool.KindOf(err) == tool.Conflict {
		err = nil // another answer was first; the end of the call shows it
	}
	return err == nil, err
}

// edited returns the arguments as the human edited them, or nil if they are
// unchanged.
func (a *approver) edited(field any) (json.RawMessage, error) {
	text, ok := field.(string)
	if text = strings.TrimSpace(text); !ok || text == "" {
		return nil, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		return nil, tool.Errorf("mcpserver.approve", tool.Invalid, "the arguments are not a JSON object")
	}
	r, err := a.calls.Kernel.Approvals.Get(a.ctx, a.asked.Approval)
	if err != nil {
		return nil, err
	}
	if Canonical(r.Call.Args) == Canonical(json.RawMessage(text)) {
		return nil, nil
	}
	return json.RawMessage(text), nil
}

// form shows the exact call, with everything in it visible. It is nil if the
// approval is gone.
func (a *approver) form(note string) *sdk.ElicitParams {
	r, err := a.calls.Kernel.Approvals.Get(a.ctx, a.asked.Approval)
	if err != nil {
		return nil
	}
	args := visible.JSON(indented(r.Call.Args))
	var b strings.Builder
	if note != "" {
		b.WriteString(visible.Lines(note) + "\n\n")
	}
	fmt.Fprintf(&b, "%s wants to run %s", visible.Clip(a.calls.Client, maxName), visible.Text(r.Call.Tool.Dotted()))
	if r.Reason != "" {
		fmt.Fprintf(&b, " (%s)", visible.Clip(r.Reason, maxReason))
	}
	fmt.Fprintf(&b, " in %s:\n%s", visible.Text(r.Workspace), strings.Join(arguments.Lines(r.Call.Args), "\n"))
	for _, c := range r.Claims {
		if c.Mode.Writes() && c.Mode != tool.IX { // an intention names nothing that the tool's name does not
			fmt.Fprintf(&b, "\nIt changes %s.", visible.Text(c.Resource))
		}
	}
	defaults, _ := json.Marshal(args)
	schema := fmt.Sprintf(`{"type":"object","properties":{`+
		`%q:{"type":"boolean","title":"Run it","description":"Whether this call may run."},`+
		`%s%q:{"type":"string","title":"Arguments","description":"As JSON. What stands here is what runs.","default":%s},`+
		`%q:{"type":"string","title":"Feedback","description":"What the agent is told if it may not."}},`+
		`"required":[%q]}`, fieldApprove, rememberField(r), fieldArguments, defaults, fieldFeedback, fieldApprove)
	return &sdk.ElicitParams{Mode: "form", Message: b.String(), RequestedSchema: json.RawMessage(schema)}
}

func indented(args json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, args, "", "  ") != nil {
		return string(args)
	}
	return b.String()
}

// Canonical writes JSON in one way, so that equal values are equal texts.
func Canonical(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return "{}"
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return string(raw)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return string(raw)
	}
	return string(text)
}
