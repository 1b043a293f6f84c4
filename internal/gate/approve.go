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

// approve puts the exact call before a human, when one must be asked, and
// waits. An edited call is judged, checked and bound again.
func (d *Door) approve(ctx context.Context, p *passage) error {
	if p.request == nil {
		return nil
	}
	if p.request.State == approval.Pending {
		if err := d.question(ctx, p); err != nil {
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
		if quoted := approval.Quote(answer.Feedback); quoted != "" {
			return e.WithHint("they said: %s", quoted)
		}
		return e
	}
	if len(answer.Args) == 0 {
		return nil
	}
	p.call.Args = answer.Args
	for _, again := range []station{d.judge, d.check, d.bind} {
		if err := again(ctx, p); err != nil {
			return err
		}
	}
	p.coercions = append(p.coercions, "a human edited the arguments before approving")
	return nil
}

// question asks, and waits for the answer unless the asker will not.
func (d *Door) question(ctx context.Context, p *passage) error {
	id := p.request.ID
	if !p.noWait {
		d.Approvals.Claim(id) // whoever waits runs it
	}
	if err := d.Approvals.Ask(ctx, *p.request); err != nil {
		return err
	}
	placed(ctx) // nobody waits behind a person
	if p.session.Asked != nil {
		p.session.Asked(*p.request)
	}
	if p.noWait {
		return &stillWaiting{id}
	}
	settled, err := d.Approvals.Wait(ctx, id)
	if err != nil {
		// The asker went away; the question stands, and the call runs without
		// it if the answer is yes.
		d.Approvals.Disclaim(ctx, id)
		return &stillWaiting{id}
	}
	p.request = &settled
	return nil
}

func (d *Door) newRequest(p *passage) *approval.Request {
	now := time.Now()
	return &approval.Request{
		ID: newID("a"), State: approval.Pending, Call: p.call,
		Workspace: p.session.Workspace, AppFile: p.session.AppFile,
		Risk: p.tool.Runtime.Risk, Reason: p.decision.Reason, Claims: p.claims,
		AskedAt: now, Deadline: now.Add(p.session.Rules.ApprovalTimeout()),
		Asker: p.session.Asker,
	}
}

// stillWaiting ends a passage without ending its call.
type stillWaiting struct{ approval string }

func (w *stillWaiting) Error() string { return "waiting for approval " + w.approval }

func (w *stillWaiting) answer(p *passage) *tool.Result {
	return &tool.Result{
		Status: tool.Waiting, Call: p.call.ID, Approval: w.approval, Warnings: p.coercions,
		Summary: fmt.Sprintf("%s waits for a human: %s (answer with: callgate approvals approve %s; then approvals.collect gives its result)", p.tool.ID.Dotted(), p.decision.Reason, w.approval),
	}
}

// CheckEdit judges the arguments a human edited before they count as an answer.
func (d *Door) CheckEdit(ctx context.Context, r approval.Request, args json.RawMessage) error {
	// An app's own tools are in a scope that bears its file's name.
	p := &passage{session: &Session{Workspace: r.Workspace, Scope: Scope(r.AppFile, r.Workspace)}, call: r.Call}
	p.call.Name, p.call.Args = r.Call.Tool.String(), args
	for _, step := range []station{d.resolve, d.check, d.bind} {
		if err := step(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// Settled records an answer; the desk calls it before anybody goes on.
func (d *Door) Settled(_ context.Context, r approval.Request) {
	rec := journal.Record{
		Kind: journal.Answered, Call: r.Call.ID, Parent: r.Call.Parent,
		Principal: &r.Call.Principal, Name: r.Call.Name, Tool: r.Call.Tool.String(),
		Answer: &journal.Answer{
			Approval: r.ID, Verdict: string(r.State), By: r.Answer.By,
			Always: r.Answer.Always, Feedback: d.Secrets.ScrubString(r.Answer.Feedback),
		},
	}
	rec.Answer.Args, rec.Answer.ArgsRef = d.keep(r.Answer.Args)
	// The row is durable already; the record follows it as soon as it can.
	_ = d.Journal.Note(rec)
}

// Collect returns the result of a call that was left waiting, once it has
// ended. It asks the journal, so it works after a restart too.
func (d *Door) Collect(ctx context.Context, call string) (*tool.Result, error) {
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
			return d.recall(ctx, r)
		}
	}
	for r, err := range d.Journal.Follow(ctx, story[len(story)-1].Seq) {
		if err != nil {
			return nil, err
		}
		if r.Call == call && r.Kind == journal.Ended {
			return d.recall(ctx, r)
		}
	}
	return nil, &tool.Error{Op: op, Kind: tool.Cancelled, Message: "stopped waiting for call " + call, Err: context.Cause(ctx)}
}

// recall makes a result of an ended record.
func (d *Door) recall(ctx context.Context, r journal.Record) (*tool.Result, error) {
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
