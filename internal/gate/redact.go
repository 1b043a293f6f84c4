package gate

import (
	"context"

	"callgate/internal/gate/mask"
	"callgate/internal/gate/redaction"
)

// redact makes the result what its caller may see: without secrets, without
// what its lane is not shown, and no larger than a model should be given.
func (g *Gate) redact(ctx context.Context, c *callState) error {
	r := c.result
	if said := c.warnings(); len(said) > 0 {
		r.Warnings = append(said, r.Warnings...)
	}
	if c.how.verdict != nil {
		r.Warnings = append(r.Warnings, c.how.verdict.Told...)
	}
	tellDoubts(ctx, &g.doubts, c)
	g.redactor.CheckArtifact(r)
	repeated := redaction.RepeatsPayload(r) // before anything in either is replaced
	g.redactor.Scrub(r)
	if app := c.caller.mods().Mask; app != nil {
		mask.Result(r, app)
	}
	runtime := &c.tool.Runtime
	cutting := redaction.Cutting{Call: c.call.ID, KeepTail: runtime.KeepTail}
	switch {
	case !runtime.Exposure.ShownTo(c.call.Principal.Lane):
		g.redactor.DropPayload(r, repeated, "the result is not shown "+redaction.Lane(c.call.Principal.Lane))
	case runtime.PromptMask:
		g.redactor.DropPayload(r, repeated, "the result is masked; the summary is all that is shown")
	case c.how.whole:
		g.redactor.Truncate(r, MaxWhole, cutting)
	default:
		g.redactor.Truncate(r, runtime.MaxResult, cutting)
	}
	return nil
}
