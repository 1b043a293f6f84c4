package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/gate/approval"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// maxTries is how often a human may edit arguments into ones that cannot run.
const maxTries = 3

// approve has a human approve the call and returns how it ended. The human at
// the client is asked as long as a request attends; one who answers elsewhere is
// heard all the same, and the first answer counts.
func (f *pendingCall) approve(s *session.Session, asked *tool.Result) *tool.Result {
	f.bind(asked.Call)
	f.mu.Lock()
	f.waiting = asked
	f.mu.Unlock()
	ended := make(chan *tool.Result, 1)
	go func() { ended <- f.collect(asked) }()
	note := ""
	for tries := 0; f.unsettled(); {
		q := newQuestion(nil, true)
		if tries < maxTries && !f.guest.host.opt.NoElicitation {
			if form := f.form(asked, note); form != nil {
				q.asked = sdk.InputRequestMap{approvalKey: form}
			}
		}
		select {
		case f.asks <- q:
		case r := <-ended:
			return r
		}
		select {
		case said := <-q.answer:
			if said.nobody {
				tries = maxTries // somebody may answer it elsewhere
				continue
			}
			answered, err := f.settle(s, asked, said)
			if answered {
				return <-ended
			}
			if err != nil {
				tries++
				note = "This could not be taken for an answer: " + err.Error()
			}
		case r := <-ended:
			return r
		}
	}
	return <-ended
}

// unsettled reports whether nobody has said yet if the call may run.
func (f *pendingCall) unsettled() bool {
	f.mu.Lock()
	asked := f.waiting
	f.mu.Unlock()
	r, err := f.guest.host.kernel.Approvals.Get(f.ctx, asked.Approval)
	return err == nil && r.State == approval.Pending
}

// collect waits for the end of a call that a human has to approve.
func (f *pendingCall) collect(asked *tool.Result) *tool.Result {
	r, err := f.guest.host.kernel.Collect(f.ctx, asked.Call)
	if err != nil {
		return failed("mcpserver.collect", err)
	}
	return r
}

// settle answers the approval with what the human said in the form, and
// reports whether that was an answer.
func (f *pendingCall) settle(s *session.Session, asked *tool.Result, got clientAnswer) (answered bool, err error) {
	answer := approval.Answer{}
	said := got.form()
	switch {
	case said == nil:
		return false, nil
	case said.Action == "accept":
		answer.Approve, _ = said.Content[fieldApprove].(bool)
		answer.Feedback, _ = said.Content[fieldFeedback].(string)
		edited, err := f.edited(asked, said.Content[fieldArguments])
		if err != nil && answer.Approve {
			return false, err
		}
		answer.Args = edited
	case said.Action == "decline":
		answer.Feedback, _ = said.Content[fieldFeedback].(string)
	default:
		return false, nil
	}
	// An answer outlives the request that brought it.
	by := approval.Voucher{By: "the human at " + f.guest.name, Session: s.ID()}
	err = f.guest.host.kernel.Approvals.AnswerVouched(context.WithoutCancel(f.ctx), by, asked.Approval, answer)
	if tool.KindOf(err) == tool.Conflict {
		err = nil // somebody was first; its end will tell
	}
	return err == nil, err
}

// edited returns the arguments as a human wrote them, or nil when they are as
// they were shown.
func (f *pendingCall) edited(asked *tool.Result, field any) (json.RawMessage, error) {
	text, ok := field.(string)
	if text = strings.TrimSpace(text); !ok || text == "" {
		return nil, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		return nil, tool.Errorf("mcpserver.approve", tool.Invalid, "they are not a JSON object")
	}
	r, err := f.guest.host.kernel.Approvals.Get(f.ctx, asked.Approval)
	if err != nil {
		return nil, err
	}
	if canonical(r.Call.Args) == canonical(json.RawMessage(text)) {
		return nil, nil
	}
	return json.RawMessage(text), nil
}

// The fields of the form.
const (
	fieldApprove   = "approve"
	fieldArguments = "arguments"
	fieldFeedback  = "feedback"
)

// form shows the exact call. It is nil when the call is no longer known.
func (f *pendingCall) form(asked *tool.Result, note string) *sdk.ElicitParams {
	r, err := f.guest.host.kernel.Approvals.Get(f.ctx, asked.Approval)
	if err != nil {
		return nil
	}
	args := indented(r.Call.Args)
	var b strings.Builder
	if note != "" {
		b.WriteString(note + "\n\n")
	}
	fmt.Fprintf(&b, "%s wants to run %s", f.guest.name, r.Call.Tool.Dotted())
	if r.Reason != "" {
		fmt.Fprintf(&b, " (%s)", r.Reason)
	}
	fmt.Fprintf(&b, " in %s:\n%s", r.Workspace, args)
	for _, c := range r.Claims {
		if c.Mode.Writes() {
			fmt.Fprintf(&b, "\nIt changes %s.", c.Resource)
		}
	}
	defaults, _ := json.Marshal(args)
	schema := fmt.Sprintf(`{"type":"object","properties":{`+
		`%q:{"type":"boolean","title":"Run it","description":"Whether this call may run, once."},`+
		`%q:{"type":"string","title":"Arguments","description":"As JSON. What stands here is what runs.","default":%s},`+
		`%q:{"type":"string","title":"Feedback","description":"What the agent is told if it may not."}},`+
		`"required":[%q]}`, fieldApprove, fieldArguments, defaults, fieldFeedback, fieldApprove)
	return &sdk.ElicitParams{Mode: "form", Message: b.String(), RequestedSchema: json.RawMessage(schema)}
}

func indented(args json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, args, "", "  ") != nil {
		return string(args)
	}
	return b.String()
}
