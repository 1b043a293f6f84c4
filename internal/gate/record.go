package gate

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"callgate/internal/artifact"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/outcome"
	"callgate/internal/gate/policy"
	"callgate/internal/journal"
	"callgate/internal/secret"
	"callgate/tool"
)

// recordAsked records the proposal with the verdict so far. A read that needs no human is recorded later, whole; a call
// that waits for a human is on disk before the human is asked.
func (g *Gate) recordAsked(ctx context.Context, c *callState) error {
	switch {
	case c.request != nil: // it was recorded when the human was first asked
		c.stage = recordedAsked
		return nil
	case c.needsHuman() && c.how.unattended:
		return tool.Errorf("gate.recordAsked", tool.Denied, "%s needs a human's approval (%s), and nobody is asked "+
			"in a call that is made by itself", c.tool.ID.Dotted(), c.decision.Reason).
			WithHint("make the call yourself; a human may grant it for good, then it can be made by itself")
	case c.needsHuman():
		c.request = g.newRequest(c)
		if _, err := g.Journal.Commit(ctx, g.records.ask(c, journal.Wait, c.decision.Reason)); err != nil {
			return err
		}
	case c.isSingleRecord():
		return nil
	default:
		if err := g.Journal.Append(g.records.ask(c, journal.Allow, c.decision.Reason)); err != nil {
			return err
		}
	}
	c.stage = recordedAsked
	return nil
}

// recordBegun is the write-ahead: a call with an effect runs only when this is
// on disk.
func (g *Gate) recordBegun(ctx context.Context, c *callState) error {
	for _, grant := range c.lasting {
		g.Lasting.Used(grant.ID, c.call.ID)
	}
	if c.isSingleRecord() {
		return nil
	}
	if g.Room != nil && c.tool.Runtime.SideEffect.Durable() && !c.tool.Runtime.Control {
		if err := g.Room(); err != nil {
			return err
		}
	}
	// Not even a cancelled call returns before it is known whether the record
	// exists: if it does, the call must be ended.
	begun := c.record(journal.Begun)
	begun.Files = c.fileStates()
	if _, err := g.Journal.Commit(context.WithoutCancel(ctx), begun); err != nil {
		return err
	}
	c.stage = recordedBegun
	if c.request != nil {
		// The begun record keeps the call from running twice. A row that stays
		// approved is repaired at the next start.
		_ = g.Approvals.MarkUsed(ctx, c.request.ID)
	}
	return nil
}

// recorder turns a call into the records of the journal, without secrets and
// with large payloads as artifacts, and a record back into a result.
type recorder struct {
	journal   *journal.Journal
	artifacts *artifact.Store
	secrets   *secret.Vault
	inline    int // bytes of a payload kept in a record
}

// recordEnded records the end of the call, whatever was cancelled meanwhile.
func (w *recorder) recordEnded(ctx context.Context, c *callState) error {
	ctx = context.WithoutCancel(ctx)
	r := c.record(journal.Ended)
	r.End = w.endSection(c)
	doubt := w.recordDoubt(c, r.End)
	c.stage = recordedEnded
	if c.isSingleRecord() {
		r.Ask = w.askSection(c, journal.Allow, c.decision.Reason)
		if err := w.journal.Append(r); err != nil { // an answer without a record is not given
			c.fail(outcome.AsError("gate.recordEnded", err))
		}
		return nil
	}
	_, err := w.journal.Commit(ctx, r)
	if err = cmp.Or(doubt, err); err != nil {
		// The journal keeps the record and tries again; until then nobody may
		// take the effect for recorded.
		c.fail(&tool.Error{
			Op: "gate.recordEnded", Kind: tool.InDoubt, Err: err,
			Message: "the tool ran, but its record is not on disk yet",
			Hint:    "do not repeat the call before callgate log shows how it ended",
		})
	}
	return nil
}

// fail replaces the result by an error. What its caller is told beside it stays.
func (c *callState) fail(e *tool.Error) {
	warnings := c.result.Warnings
	c.result = outcome.Failure(c.call.ID, e)
	c.result.Warnings = warnings
}

// refuse answers a call that a step ended. It is recorded as refused when
// nothing was recorded yet, and as ended when something was.
func (w *recorder) refuse(c *callState, err error) *tool.Result {
	if waiting, ok := err.(*waitingError); ok {
		return waiting.answer(c)
	}
	e := w.secrets.ScrubError(outcome.AsError("gate", err))
	c.result = outcome.Failure(c.call.ID, e)
	c.result.Warnings = c.warnings()
	if c.stage == recordedNone && c.request == nil { // one that was approved before is on record as asked
		reason := e.Error()
		if c.decision.Verdict == policy.Hide {
			reason = "hidden: " + c.decision.Reason // the caller learns only that there is no such tool
		}
		// Nothing happened; the answer is right without the record.
		r := w.ask(c, journal.Refuse, reason)
		r.Ask.Error = e.Kind
		_ = w.journal.Append(r)
		return c.result
	}
	r := c.record(journal.Ended)
	r.End = w.endSection(c)
	if err := w.journal.Append(r); err != nil {
		c.result.Warnings = append(c.result.Warnings, "this end is not on record: "+err.Error())
	}
	return c.result
}

// note puts a remark about a call on record. A remark that cannot be written
// is lost: the call's own records tell what happened.
func (w *recorder) note(c *callState, text string) {
	r := c.record(journal.Noted)
	r.Note = w.secrets.ScrubText(text).Truncate(16 << 10)
	_ = w.journal.Append(r)
}

// ask is the record of a proposal.
func (w *recorder) ask(c *callState, verdict journal.Verdict, reason string) journal.Record {
	r := c.record(journal.Asked)
	r.Name = w.secrets.ScrubString(r.Name) // a name that means no tool may be anything
	r.Ask = w.askSection(c, verdict, reason)
	return r
}

func (w *recorder) askSection(c *callState, verdict journal.Verdict, reason string) *journal.Ask {
	ask := &journal.Ask{
		Verdict: verdict, Reason: w.secrets.ScrubText(reason).Truncate(500),
		Coercions: c.warnings(), Claims: slices.Clone(c.claims), Line: c.how.script.AtLine(),
	}
	for i, text := range ask.Coercions {
		ask.Coercions[i] = w.secrets.ScrubString(text)
	}
	for i, claim := range ask.Claims { // a file's name may be a secret
		ask.Claims[i].Resource = w.secrets.ScrubString(claim.Resource)
	}
	if c.request != nil {
		ask.Approval = c.request.ID
	}
	if verdict != journal.Refuse && !c.isSingleRecord() {
		ask.Workspace, ask.AppFile = c.caller.place.Workspace, c.caller.place.AppFile
	}
	ask.Args, ask.ArgsRef = w.inlineOrStore(c.call.Args)
	return ask
}

func (w *recorder) endSection(c *callState) *journal.End {
	end := &journal.End{
		Status: c.result.Status, Summary: w.secrets.ScrubText(c.result.Summary).Truncate(500),
		Warnings: c.result.Warnings, ArtifactRef: c.result.ArtifactRef, Took: c.result.Took, Attempts: c.result.Attempts,
	}
	end.Readable = end.ArtifactRef != "" && len(c.result.Content)+len(c.result.Data) > 0
	if c.result.Error != nil {
		end.Error = c.result.Error.Kind
	}
	if !c.isSingleRecord() { // the caller may collect it later
		if data, err := json.Marshal(c.result); err == nil {
			end.Result, end.ResultRef = w.inlineOrStore(data)
		}
	}
	return end
}

// answer is the record of a human's answer.
func (w *recorder) answer(r approval.Request) journal.Record {
	rec := journal.Record{
		Kind: journal.Answered, Call: r.Call.ID, Parent: r.Call.Parent,
		Principal: &r.Call.Principal, Name: r.Call.Name, Tool: r.Call.Tool.String(),
		Answer: &journal.Answer{
			Approval: r.ID, Verdict: string(r.State), By: r.Answer.By,
			Always: r.Answer.Always, Feedback: w.secrets.ScrubString(r.Answer.Feedback),
		},
	}
	if r.Answer.Remember != nil {
		rec.Answer.Grant = r.Answer.Remember.Grant
	}
	rec.Answer.Args, rec.Answer.ArgsRef = w.inlineOrStore(r.Answer.Args)
	return rec
}

// inlineOrStore returns JSON for a record: scrubbed, and inline when it is
// small, else as a reference to the artifact that holds it.
func (w *recorder) inlineOrStore(data json.RawMessage) (inline json.RawMessage, ref string) {
	if len(data) == 0 {
		return nil, ""
	}
	clean := w.secrets.Scrub(data)
	if !json.Valid(clean) { // it was no JSON, or a secret in it was a number
		clean, _ = json.Marshal(string(clean))
	}
	if len(clean) <= w.inline {
		return clean, ""
	}
	ref, err := w.artifacts.Put(context.Background(), clean)
	if err != nil {
		clean, _ = json.Marshal(w.secrets.ScrubText(string(clean)).Truncate(w.inline/2) + " (cut: " + err.Error() + ")")
		return clean, ""
	}
	return nil, ref
}
