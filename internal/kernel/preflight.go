package kernel

import (
	"context"
	"maps"
	"slices"

	"callgate/internal/gate"
	"callgate/internal/gate/outcome"
	"callgate/internal/gate/policy"
	"callgate/internal/kernel/consent"
	"callgate/internal/kernel/session"
	"callgate/internal/protocol/operations"
)

// Preflight says what would become of a session's calls, and which modules and models of its app lack something. It
// makes no call, asks nobody, and leaves no record.
func Preflight(ctx context.Context, k *Kernel, s *session.Session, in operations.Preflight) operations.PreflightReport {
	report := operations.PreflightReport{Calls: make([]operations.Judgement, len(in.Calls))}
	for i, call := range in.Calls {
		report.Calls[i] = judge(ctx, k, s, call)
	}
	settings := s.Loaded().Modules.Settings
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if err, ok := settings[name].(error); ok {
			report.Modules = append(report.Modules, operations.Problem{Name: name, Text: s.App().Hide(sentence(err))})
		}
	}
	if s.App() == nil {
		return report
	}
	for _, agent := range s.App().Agents {
		for _, m := range consent.Models(s.App(), agent) {
			for _, text := range k.models.Problems(m) {
				report.Models = append(report.Models, operations.Problem{Name: agent.ID, Text: s.App().Hide(text)})
			}
		}
	}
	return report
}

// judge says what would become of one call.
func judge(ctx context.Context, k *Kernel, s *session.Session, call operations.PreflightCall) operations.Judgement {
	t, d, err := gate.Judge(ctx, k.gate, s.Caller(), gate.CallRequest{Name: call.Name, Args: call.Args})
	j := operations.Judgement{Name: call.Name, Reason: d.Reason}
	if t != nil {
		j.Tool = t.ID.Dotted()
	}
	switch {
	case err != nil:
		j.Error, j.Reason = k.vault.ScrubError(outcome.AsError("preflight", err)), ""
	case d.Verdict == policy.Approve:
		j.Verdict = operations.Asked
	default:
		j.Verdict = operations.Allowed
	}
	j.Depends = err == nil && call.Args == nil && s.Loaded().Rules.HasMatch(t.ID)
	return j
}
