// Package fitting keeps a conversation within its model's window: internal/conversation/compact
// decides what is left out.
//
// Law: what must stay is told here. A call that waits for a human stays, and so does the
// beginning of a task whose end the model has not seen. Hooks are asked before a
// conversation is made shorter, and only if it is.
package fitting

import (
	"context"
	"slices"

	"callgate/internal/conversation/compact"
	"callgate/internal/conversation/history"
	"callgate/internal/conversation/owed"
	"callgate/internal/conversation/turnhooks"
	"callgate/internal/gate/approval"
	"callgate/llm"
)

// Approvals tells how a request for approval stands.
type Approvals interface {
	Get(ctx context.Context, id string) (approval.Request, error)
}

// Fitter keeps one conversation within its model's window.
type Fitter struct {
	Log        func() *history.Log
	Debts      func() *owed.Debts
	Hooks      *turnhooks.Hooks
	Approvals  Approvals
	Policy     compact.Policy
	Summarizer compact.Summarizer // nil: summaries are not written
	Tools      int                // tokens of the tools that the model is offered
}

// Compact decides how the conversation is made shorter; nil: not at all.
func (f *Fitter) Compact(ctx context.Context, system string, cause compact.Cause) (*history.Compaction, error) {
	messages, err := f.messages(ctx)
	if err != nil {
		return nil, err
	}
	in := compact.Input{System: system, Tools: f.Tools, Messages: messages, Cause: cause}
	f.Hooks.Compacting(ctx, cause == compact.Requested, func() bool {
		plan, err := f.Policy.Plan(in)
		return plan != nil && err == nil
	})
	made, err := f.Policy.Compact(ctx, in, f.Summarizer)
	if made == nil || err != nil {
		return nil, err
	}
	out := &history.Compaction{
		Summary: made.Summary, Kept: made.Kept, Pinned: made.Pinned, Dropped: made.Dropped,
		Warning: made.Warning, Before: made.Before, After: made.After, Model: made.Model,
	}
	for _, s := range made.Shortened {
		out.Shortened = append(out.Shortened, history.Shortened{Message: s.Message, Call: s.Call, Text: s.Text})
	}
	if made.Usage != (llm.Usage{}) {
		out.Usage = &made.Usage
	}
	return out, nil
}

// messages is what the model is shown, with what of it must stay: the calls that
// wait for a human, and the beginnings of tasks whose end it has not seen.
func (f *Fitter) messages(ctx context.Context) ([]compact.Message, error) {
	kinds := map[history.Type]compact.Kind{
		history.User: compact.UserText, history.Note: compact.Note, history.Compacted: compact.Summary,
	}
	var all []compact.Message
	var origins []history.Origin
	f.Log().View(func(s *history.State) {
		for i, m := range s.Messages {
			kind := kinds[s.Origins[i].Type]
			if s.Origins[i].Told != nil {
				kind = compact.Retold
			}
			all = append(all, compact.Message{Message: m, Kind: kind})
			origins = append(origins, s.Origins[i])
		}
	})
	seen := map[string]bool{}
	for i := len(all) - 1; i >= 0; i-- { // a request may be shown again: the last time counts
		for call, request := range origins[i].WaitsForApproval {
			if !seen[request] && f.isPending(ctx, request) {
				all[i].Pinned, all[i].Whole = true, append(all[i].Whole, call)
			}
			seen[request] = true
		}
	}
	calls, err := f.Debts().Unreported(ctx)
	if err != nil {
		return nil, err
	}
	for i, o := range origins {
		if slices.ContainsFunc(o.Calls, func(call string) bool { return calls[call] }) {
			all[i].Pinned = true
		}
	}
	return all, nil
}

// isPending reports whether a human has not answered a request yet.
func (f *Fitter) isPending(ctx context.Context, request string) bool {
	r, err := f.Approvals.Get(ctx, request)
	return err == nil && r.State == approval.Pending
}
