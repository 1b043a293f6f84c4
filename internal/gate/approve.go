package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/tool"
)

// awaitApproval puts the exact call before a human, when one must be asked, and
// waits. An edited call is judged, checked and bound again.
func (d *Gate) awaitApproval(ctx context.Context, p *callState) error {
	if p.request == nil {
		return nil
	}
	if p.request.State == approval.Pending {
		if err := d.askHuman(ctx, p); err != nil {
			return err
		}
	}
	answer := p.request.Answer
	switch p.request.State {
	case approval.Approved:
	case approval.Expired:
		return tool.Errorf("arbiter.approve", tool.Denied, "nobody approved %s within %s", p.tool.ID.Dotted(), p.request.Deadline.Sub(p.request.AskedAt)).
			WithHint("ask the user, then try again")
	default:
		e := tool.Errorf("arbiter.approve", tool.Denied, "a human refused %s", p.tool.ID.Dotted())
		if quoted := approval.FenceFeedback(answer.Feedback); quoted != "" {
			return e.WithHint("they said: %s", quoted)
		}
		return e
	}
	if len(answer.Args) == 0 {
		return nil
	}
	p.call.Args = answer.Args
	for _, again := range []step{d.authorize, d.checkArgs, d.bindEffects} {
		if err := again(ctx, p); err != nil {
			return err
		}
	}
	p.coercions = append(p.coercions, "a human edited the arguments before approving")
	return nil
}

// askHuman asks, and waits for the answer unless the asker will not.
func (d *Gate) askHuman(ctx context.Context, p *callState) error {
	id := p.request.ID
	if !p.noWait {
		d.Approvals.Reserve(id) // whoever waits runs it
	}
	if err := d.Approvals.Submit(ctx, *p.request); err != nil {
		return err
	}
	signalQueued(ctx) // nobody waits behind a person
	if p.caller.OnApprovalAsked != nil {
		p.caller.OnApprovalAsked(*p.request)
	}
	if p.noWait {
		return &waitingError{id}
	}
	settled, err := d.Approvals.Wait(ctx, id)
	if err != nil {
		// The asker went away; the question stands, and the call runs without
		// it if the answer is yes.
		d.Approvals.Unreserve(ctx, id)
		return &waitingError{id}
	}
	p.request = &settled
	return nil
}

func (d *Gate) newRequest(p *callState) *approval.Request {
	now := time.Now()
	return &approval.Request{
		ID: newID("a"), State: approval.Pending, Call: p.call,
		Workspace: p.caller.Workspace, AppFile: p.caller.AppFile,
		Risk: p.tool.Runtime.Risk, Reason: p.decision.Reason, Claims: p.claims,
		AskedAt: now, Deadline: now.Add(p.caller.Rules.ApprovalTimeout()),
		Asker: p.caller.Requester,
	}
}

// waitingError ends a passage without ending its call.
type waitingError struct{ approval string }

func (w *waitingError) Error() string { return "waiting for approval " + w.approval }

func (w *waitingError) answer(p *callState) *tool.Result {
	return &tool.Result{
		Status: tool.Waiting, Call: p.call.ID, Approval: w.approval, Warnings: p.coercions,
		Summary: fmt.Sprintf("%s waits for a human: %s (answer with: callgate approvals approve %s; then approvals.collect gives its result)", p.tool.ID.Dotted(), p.decision.Reason, w.approval),
	}
}

// CheckEdit judges the arguments a human edited before they count as an answer.
func (d *Gate) CheckEdit(ctx context.Context, r approval.Request, args json.RawMessage) error {
	// An app's own tools are in a scope that bears its file's name.
	p := &callState{caller: &Caller{Workspace: r.Workspace, Scope: Scope(r.AppFile, r.Workspace)}, call: r.Call}
	p.call.Name, p.call.Args = r.Call.Tool.String(), args
	for _, step := range []step{d.resolve, d.checkArgs, d.bindEffects} {
		if err := step(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// RecordAnswer records an answer; the desk calls it before anybody goes on.
func (d *Gate) RecordAnswer(_ context.Context, r approval.Request) {
	rec := journal.Record{
		Kind: journal.Answered, Call: r.Call.ID, Parent: r.Call.Parent,
		Principal: &r.Call.Principal, Name: r.Call.Name, Tool: r.Call.Tool.String(),
		Answer: &journal.Answer{
			Approval: r.ID, Verdict: string(r.State), By: r.Answer.By,
			Always: r.Answer.Always, Feedback: d.Secrets.ScrubString(r.Answer.Feedback),
		},
	}
	rec.Answer.Args, rec.Answer.ArgsRef = d.inlineOrStore(r.Answer.Args)
	// The row is durable already; the record follows it as soon as it can.
	_ = d.Journal.Append(rec)
}

// Collect returns the result of a call that was left waiting, once it has
// ended. It asks the journal, so it works after a restart too.
func (d *Gate) Collect(ctx context.Context, call string) (*tool.Result, error) {
	const op = "arbiter.Collect"
	story, err := d.Journal.Read(ctx, journal.Query{Call: call})
	if err != nil {
		return nil, err
	}
	if len(story) == 0 {
		return nil, tool.Errorf(op, tool.NotFound, "the journal knows no call %s", call)
	}
	for _, r := range story {
		if r.Kind == journal.Ended {
			return d.resultFromRecord(ctx, r)
		}
	}
	for r, err := range d.Journal.Follow(ctx, story[len(story)-1].Seq) {
		if err != nil {
			return nil, err
		}
		if r.Call == call && r.Kind == journal.Ended {
			return d.resultFromRecord(ctx, r)
		}
	}
	return nil, &tool.Error{Op: op, Kind: tool.Cancelled, Message: "stopped waiting for call " + call, Err: context.Cause(ctx)}
}

// resultFromRecord makes a result of an ended record.
func (d *Gate) resultFromRecord(ctx context.Context, r journal.Record) (*tool.Result, error) {
	data := r.End.Result
	if r.End.ResultRef != "" {
		var err error
		if data, err = d.Artifacts.Get(ctx, r.End.ResultRef); err != nil {
			return nil, err
		}
	}
	result := &tool.Result{Status: r.End.Status, Summary: r.End.Summary, Call: r.Call, ArtifactRef: r.End.ArtifactRef, Warnings: r.End.Warnings}
	if len(data) > 0 && json.Unmarshal(data, result) != nil {
		result.Warnings = append(result.Warnings, "the full result could not be read back; this is its summary")
	}
	return result, nil
}
