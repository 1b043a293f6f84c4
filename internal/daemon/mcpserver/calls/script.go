package calls

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/amount"
	"callgate/internal/daemon/mcpserver/mcpresult"
	"callgate/internal/daemon/mcpserver/question"
	"callgate/internal/gate/approval"
	"callgate/internal/visible"
	"callgate/internal/visible/arguments"
	"callgate/tool"
)

// # Calls of scripts
//
// The calls of a script that need a human are put to the client's human together, in one
// form: every call whole, and what a yes for the rest of the script covers. What does not
// fit into one form comes in the next. A client without forms is told that the script
// waits, and how its end is collected; the calls are answered elsewhere, one by one or
// together.

// The answers of the form of a script.
const (
	fieldDecision = "decision"
	approveAll    = "approve these calls"
	approveRest   = "approve these, and calls like the first for the rest of the script"
	denyAll       = "deny"
	stopScript    = "stop the script"
)

// How often it is looked for more calls of a batch, after how many looks that found none
// the rest of it is not asked about, and what one form shows.
const (
	gatherTime    = 50 * time.Millisecond
	gatherLooks   = 10
	maxFormCalls  = 20
	maxFormText   = 24 << 10
	maxEdited     = 6 // calls whose arguments can be edited in the form
	fieldArgument = "arguments_"
)

// watchScripts puts what the client's scripts ask to its human, until the client leaves.
func (c *Calls) watchScripts() {
	for r, err := range c.Kernel.Approvals.Watch(c.ctx) {
		if err != nil {
			return // they can be approved elsewhere
		}
		if r.Script == nil || r.State != approval.Pending {
			continue
		}
		l, ok := c.Kernel.Clients.Get(r.Script.Call).(*link)
		if ok && l.of != nil && l.of.calls == c && l.of.takes(batchKey(r.Script)) {
			go (&scriptApprover{pending: l.of, script: *r.Script}).run()
		}
	}
}

// batchKey names the calls that are asked about together.
func batchKey(s *approval.Script) string { return s.Call + " " + strconv.Itoa(s.Batch) }

// scriptApprover puts the calls of one batch of a script to the client's human, until all
// are settled, there or elsewhere.
type scriptApprover struct {
	*pending
	script approval.Script
	shown  []approval.Request // in the form
}

func (a *scriptApprover) run() {
	defer a.leaves(batchKey(&a.script)) // the script may be made again
	tick := time.NewTicker(gatherTime)
	defer tick.Stop()
	if !a.gather(tick.C) {
		return
	}
	for tries, note := 0, ""; ; {
		all := a.open()
		if len(all) == 0 {
			return
		}
		a.setWaiting(a.waitingResult(all))
		q := question.New(nil, true)
		if tries < maxTries && !a.calls.Approval.NoForms {
			q.Parts = sdk.InputRequestMap{question.ApprovalKey: a.form(all, note)}
		}
		select {
		case a.link.asks() <- q:
		case <-tick.C:
			continue // somebody may have answered, or there is more
		case <-a.done:
			return
		}
		answer, ok := a.await(q, tick.C)
		switch {
		case !ok:
			return
		case answer.Automatic:
			tries = maxTries // a human may answer it elsewhere
		default:
			var err error
			if note = ""; a.settle(answer, &err) {
				tries = 0
			} else if tries++; err != nil {
				note = "This could not be taken for an answer: " + err.Error()
			}
		}
	}
}

// gather waits for the rest of the batch, which is on its way: until all of it waits, or no
// more has come in a while. It reports false if the call is over.
func (a *scriptApprover) gather(tick <-chan time.Time) bool {
	before := 0
	for looks := 0; looks < gatherLooks; looks++ {
		n := len(a.open())
		if n >= min(a.script.Of, maxFormCalls) {
			return true
		}
		if n != before {
			before, looks = n, 0
		}
		select {
		case <-tick:
		case <-a.done:
			return false
		}
	}
	return true
}

// await waits for the answer to a question; false: none is needed any more.
func (a *scriptApprover) await(q *question.Question, tick <-chan time.Time) (question.Answer, bool) {
	for {
		select {
		case answer := <-q.Answered():
			return answer, true
		case <-a.done:
			return question.Answer{}, false
		case <-tick:
			if len(a.open()) == 0 {
				return question.Answer{}, false // answered elsewhere
			}
		}
	}
}

// leaves lets the batch be taken again.
func (p *pending) leaves(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.questions, key)
}

// open returns the calls of the batch that wait, in the program's order.
func (a *scriptApprover) open() []approval.Request {
	waiting, err := a.calls.Kernel.Approvals.List(a.ctx, approval.Pending, 0)
	if err != nil {
		return nil
	}
	waiting = slices.DeleteFunc(waiting, func(r approval.Request) bool {
		return r.Script == nil || r.Script.Call != a.script.Call || r.Script.Batch != a.script.Batch
	})
	slices.SortStableFunc(waiting, func(x, y approval.Request) int { return x.AskedAt.Compare(y.AskedAt) })
	return waiting
}

func (a *scriptApprover) waitingResult(all []approval.Request) *tool.Result {
	return &tool.Result{
		Status: tool.Waiting, Call: a.script.Call, Approval: all[0].ID,
		Summary: mcpresult.ScriptWaits + amount.Of(len(all), "call") + " of it: " + all[0].Call.Tool.Dotted(),
	}
}

// form shows as many calls as fit, whole, and keeps which they are.
func (a *scriptApprover) form(all []approval.Request, note string) *sdk.ElicitParams {
	var b strings.Builder
	if note != "" {
		b.WriteString(visible.Lines(note) + "\n\n")
	}
	fmt.Fprintf(&b, "A script of %s wants to make %s in %s", visible.Clip(a.calls.Client, maxName),
		amount.Of(len(all), "call"), visible.Text(all[0].Workspace))
	a.shown = nil
	for i, r := range all {
		text := fmt.Sprintf("\n\n%d. %s, line %d of the script (%s)\n%s", i+1, visible.Text(r.Call.Tool.Dotted()),
			r.Script.Line, visible.Clip(r.Reason, maxReason), strings.Join(arguments.Lines(r.Call.Args), "\n"))
		if i > 0 && (i == maxFormCalls || b.Len()+len(text) > maxFormText) {
			fmt.Fprintf(&b, "\n\nYou are asked about the other %d after these.", len(all)-i)
			break
		}
		b.WriteString(text)
		a.shown = append(a.shown, r)
	}
	decisions := []string{approveAll}
	if offer := a.shown[0].Script.Offer; offer != nil {
		decisions = append(decisions, approveRest)
		fmt.Fprintf(&b, "\n\nCalls like the first are: %s", visible.Text(offer.Text))
	}
	decisions = append(decisions, denyAll, stopScript)
	fields := map[string]any{
		fieldDecision: map[string]any{"type": "string", "title": "Decision", "enum": decisions},
		fieldFeedback: map[string]any{
			"type": "string", "title": "Feedback", "description": "What the agent is told if they may not.",
		},
	}
	for i, r := range a.shown {
		if len(a.shown) <= maxEdited {
			fields[argumentsField(i)] = map[string]any{
				"type": "string", "title": fmt.Sprintf("Arguments of call %d", i+1), "default": visible.JSON(indented(r.Call.Args)),
				"description": "As JSON. What stands here is what runs.",
			}
		}
	}
	return &sdk.ElicitParams{Mode: "form", Message: b.String(), RequestedSchema: map[string]any{
		"type": "object", "properties": fields, "required": []string{fieldDecision},
	}}
}

func argumentsField(i int) string { return fieldArgument + strconv.Itoa(i+1) }

// settle answers the calls that the form showed. It reports whether that was an answer.
func (a *scriptApprover) settle(got question.Answer, failed *error) bool {
	form := got.Form()
	if form == nil || form.Action != "accept" && form.Action != "decline" {
		return false
	}
	answer := approval.Answer{}
	answer.Feedback, _ = form.Content[fieldFeedback].(string)
	decision, _ := form.Content[fieldDecision].(string)
	switch {
	case form.Action == "decline" || decision == denyAll:
	case decision == stopScript:
		answer.Script = true
	case decision == approveAll, decision == approveRest && a.shown[0].Script.Offer != nil:
		answer.Approve, answer.Script = true, decision == approveRest
	default:
		*failed = tool.Errorf("mcpserver.approve", tool.Invalid, "%q is no decision", tool.Truncate(decision))
		return false
	}
	edited, err := a.edited(form, answer.Approve)
	if err == nil {
		err = a.answer(answer, edited)
	}
	*failed = err
	return err == nil
}

// edited returns the arguments that the human edited, by the call's place in the form.
func (a *scriptApprover) edited(form *sdk.ElicitResult, approve bool) (map[int]json.RawMessage, error) {
	edited := map[int]json.RawMessage{}
	for i, r := range a.shown {
		text, _ := form.Content[argumentsField(i)].(string)
		if text = strings.TrimSpace(text); text == "" || !approve {
			continue
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
			return nil, tool.Errorf("mcpserver.approve", tool.Invalid, "the arguments of call %d are not a JSON object", i+1)
		}
		if Canonical(r.Call.Args) != Canonical(json.RawMessage(text)) {
			edited[i] = json.RawMessage(text)
		}
	}
	return edited, nil
}

// answer gives the answer to all that the form showed: to edited calls first, each by
// itself, so that a wrong edit leaves the others to be asked about again.
func (a *scriptApprover) answer(answer approval.Answer, edited map[int]json.RawMessage) error {
	by := approval.Voucher{By: "the human at " + a.calls.Client, Session: a.session}
	ctx := context.WithoutCancel(a.ctx) // an answer outlives the request that brought it
	var rest []string
	for i, r := range a.shown {
		if edited[i] == nil {
			rest = append(rest, r.ID)
			continue
		}
		one := approval.Answer{Approve: true, Feedback: answer.Feedback, Args: edited[i]}
		err := a.calls.Kernel.Approvals.AnswerVouched(ctx, by, r.ID, one)
		if err != nil && tool.KindOf(err) != tool.Conflict {
			return err
		}
	}
	for len(rest) > 0 {
		answer.With = rest[1:]
		err := a.calls.Kernel.Approvals.AnswerVouched(ctx, by, rest[0], answer)
		if tool.KindOf(err) != tool.Conflict {
			return err
		}
		rest = rest[1:] // that one was answered elsewhere
	}
	return nil
}
