package gate

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"callgate/internal/gate/policy"
	"callgate/internal/journal"
	"callgate/tool"
)

// recordAsked records the proposal with the verdict so far. A read that needs no
// human is told later, whole; one that waits for a human is on disk before
// the question is put.
func (d *Gate) recordAsked(ctx context.Context, p *callState) error {
	switch {
	case p.request != nil: // it was recorded when it was first asked
		p.stage = recordedAsked
		return nil
	case d.needsHuman(p):
		p.request = d.newRequest(p)
		if _, err := d.Journal.Commit(ctx, d.askRecord(p, journal.Wait, p.decision.Reason)); err != nil {
			return err
		}
	case p.isSingleRecord():
		return nil
	default:
		if err := d.Journal.Append(d.askRecord(p, journal.Allow, p.decision.Reason)); err != nil {
			return err
		}
	}
	p.stage = recordedAsked
	return nil
}

func (d *Gate) needsHuman(p *callState) bool {
	return p.decision.Verdict == policy.Approve && !d.Approvals.IsAlwaysApproved(p.call.Principal.Session, p.tool.ID)
}

// recordBegun is the write-ahead: what leaves a mark runs only when this is on disk.
func (d *Gate) recordBegun(ctx context.Context, p *callState) error {
	if p.isSingleRecord() {
		return nil
	}
	// Not even a cancelled caller leaves before it is known whether the record
	// stands: one that does must be ended.
	if _, err := d.Journal.Commit(context.WithoutCancel(ctx), p.record(journal.Begun)); err != nil {
		return err
	}
	p.stage = recordedBegun
	if p.request != nil {
		// The begun record is what keeps the call from running twice; a row
		// left behind as approved is mended at the next start.
		_ = d.Approvals.MarkUsed(ctx, p.request.ID)
	}
	return nil
}

// recordEnded records what became of the call, whatever was cancelled meanwhile.
func (d *Gate) recordEnded(ctx context.Context, p *callState) error {
	ctx = context.WithoutCancel(ctx)
	r := p.record(journal.Ended)
	r.End = d.endSection(p)
	if p.isSingleRecord() {
		r.Ask = d.askSection(p, journal.Allow, p.decision.Reason)
		p.stage = recordedEnded
		if err := d.Journal.Append(r); err != nil { // an answer that is on no record is not given
			p.result = failureResult(p.call.ID, asError("arbiter.ended", err))
		}
		return nil
	}
	p.stage = recordedEnded
	if _, err := d.Journal.Commit(ctx, r); err != nil {
		// The journal keeps the record and tries again; until then nobody may
		// take the effect for recorded.
		e := &tool.Error{Op: "arbiter.ended", Kind: tool.InDoubt, Err: err,
			Message: "the tool ran, but its record is not on disk yet",
			Hint:    "do not repeat the call before callgate log shows how it ended"}
		p.result = failureResult(p.call.ID, e)
	}
	return nil
}

// refuse answers a call that a station ended. It is recorded as refused
// when nothing was recorded yet, and as ended when it was.
func (d *Gate) refuse(p *callState, err error) *tool.Result {
	if waiting, ok := err.(*waitingError); ok {
		return waiting.answer(p)
	}
	e := d.scrubError(asError("arbiter", err))
	p.result = failureResult(p.call.ID, e)
	p.result.Warnings = p.coercions
	if p.stage == recordedNone {
		reason := e.Error()
		if p.decision.Verdict == policy.Hide {
			reason = "hidden: " + p.decision.Reason // the asker was told only that there is no such tool
		}
		_ = d.Journal.Append(d.askRecord(p, journal.Refuse, reason)) // nothing happened; the answer stands without it
		return p.result
	}
	r := p.record(journal.Ended)
	r.End = d.endSection(p)
	if err := d.Journal.Append(r); err != nil {
		p.result.Warnings = append(p.result.Warnings, "this end is not on record: "+err.Error())
	}
	return p.result
}

func (d *Gate) askRecord(p *callState, verdict journal.Verdict, reason string) journal.Record {
	r := p.record(journal.Asked)
	r.Name = d.Secrets.ScrubString(r.Name) // one that means no tool may be anything
	r.Ask = d.askSection(p, verdict, reason)
	return r
}

func (d *Gate) askSection(p *callState, verdict journal.Verdict, reason string) *journal.Ask {
	ask := &journal.Ask{Verdict: verdict, Reason: tool.TruncateTo(reason, 500), Coercions: slices.Clone(p.coercions), Claims: slices.Clone(p.claims)}
	for i, c := range ask.Coercions {
		ask.Coercions[i] = d.Secrets.ScrubString(c)
	}
	for i, c := range ask.Claims { // a file's name may be one
		ask.Claims[i].Resource = d.Secrets.ScrubString(c.Resource)
	}
	if p.request != nil {
		ask.Approval = p.request.ID
	}
	if verdict != journal.Refuse && !p.isSingleRecord() {
		ask.Workspace, ask.AppFile = p.caller.Workspace, p.caller.AppFile
	}
	ask.Args, ask.ArgsRef = d.inlineOrStore(p.call.Args)
	return ask
}

func (d *Gate) endSection(p *callState) *journal.End {
	end := &journal.End{
		Status: p.result.Status, Summary: tool.TruncateTo(p.result.Summary, 500),
		Warnings: p.result.Warnings, ArtifactRef: p.result.ArtifactRef, Took: time.Since(p.start),
	}
	if p.result.Error != nil {
		end.Error = p.result.Error.Kind
	}
	if !p.isSingleRecord() { // whoever asked may come for it later
		if data, err := json.Marshal(p.result); err == nil {
			end.Result, end.ResultRef = d.inlineOrStore(data)
		}
	}
	return end
}

// inlineOrStore returns JSON for a record: scrubbed, and inline when it is small, else
// as a reference to the artifact that holds it.
func (d *Gate) inlineOrStore(data json.RawMessage) (inline json.RawMessage, ref string) {
	if len(data) == 0 {
		return nil, ""
	}
	clean := d.Secrets.Scrub(data)
	if !json.Valid(clean) { // not JSON to begin with, or a secret that was a number
		clean, _ = json.Marshal(string(clean))
	}
	if len(clean) <= d.Limits.Inline {
		return clean, ""
	}
	ref, err := d.Artifacts.Put(context.Background(), clean)
	if err != nil {
		clean, _ = json.Marshal(tool.TruncateTo(string(clean), d.Limits.Inline/2) + " (cut: " + err.Error() + ")")
		return clean, ""
	}
	return nil, ref
}
