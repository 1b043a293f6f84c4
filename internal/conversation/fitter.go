package conversation

import (
	"context"
	"slices"

	"callgate/internal/agent"
	"callgate/internal/app"
	"callgate/internal/conversation/compact"
	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
	"callgate/llm"
)

// fitter keeps a conversation within its model's window.
type fitter struct {
	conversation *Conversation
	approvals    Approvals
	policy       compact.Policy
	summarizer   compact.Summarizer // nil: summaries are not written
	tools        int                // tokens of the tools that the model is offered
}

// fit gives a conversation its fitter, and has its loop use it.
func (m *Manager) fit(c *Conversation, cfg *agent.Config) error {
	var how app.Context
	if a := c.session.App(); a != nil {
		how = a.Runtime.Context
	}
	if d := c.described; d != nil {
		how = d.Context.Over(how)
	}
	f := &fitter{conversation: c, approvals: m.Approvals, policy: compact.Policy{
		Window: c.model.Window, OutputReserved: how.OutputReserved,
		Strategy: compact.Strategy(how.Strategy), KeepRecent: how.KeepRecent,
		Trigger: how.Trigger, SummaryMaxTokens: how.SummaryMaxTokens, Manual: how.Auto != nil && !*how.Auto,
	}}
	if c.model.NativeTools {
		f.tools = c.plan.ShownTokens
	}
	var err error
	if f.summarizer, err = m.openSummarizer(c, cfg, how); err != nil {
		return err
	}
	c.fitter = f
	cfg.Compact = func(ctx context.Context, system string, _ []llm.Message) (*history.Compaction, error) {
		return f.compact(ctx, system, compact.NearLimit)
	}
	cfg.CompactOverflow = func(ctx context.Context, system string, _ []llm.Message) (*history.Compaction, error) {
		return f.compact(ctx, system, compact.Overflow)
	}
	return nil
}

// openSummarizer opens the model that writes summaries: the one that the app
// names, or the one that answers. Its text passes the app's filters, as all
// texts of models do.
func (m *Manager) openSummarizer(c *Conversation, cfg *agent.Config, how app.Context) (compact.Summarizer, error) {
	if compact.Strategy(how.Strategy) == compact.Truncate {
		return nil, nil
	}
	model, info := cfg.Model, c.model
	if other := how.SummaryModel; other != nil {
		var err error
		if model, info, err = m.Models.Open(other, c); err != nil {
			return nil, err
		}
	}
	if info.Offline {
		return nil, nil
	}
	var s compact.Summarizer = compact.ModelSummarizer{
		Model: model.Model, Settings: model.Settings, Window: info.Window,
	}
	if cfg.Output != nil {
		s = compact.Checked(s, cfg.Output)
	}
	return s, nil
}

// requested decides how the conversation is made shorter because a user wants
// it; nil: not at all.
func (f *fitter) requested(ctx context.Context, system string) (*history.Compaction, error) {
	return f.compact(ctx, system, compact.Requested)
}

// compact decides how the conversation is made shorter; nil: not at all.
func (f *fitter) compact(ctx context.Context, system string, cause compact.Cause) (*history.Compaction, error) {
	messages, err := f.messages(ctx)
	if err != nil {
		return nil, err
	}
	in := compact.Input{System: system, Tools: f.tools, Messages: messages, Cause: cause}
	f.conversation.hooks.Compacting(ctx, cause == compact.Requested, func() bool {
		plan, err := f.policy.Plan(in)
		return plan != nil && err == nil
	})
	made, err := f.policy.Compact(ctx, in, f.summarizer)
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
func (f *fitter) messages(ctx context.Context) ([]compact.Message, error) {
	kinds := map[history.Type]compact.Kind{
		history.User: compact.UserText, history.Note: compact.Note, history.Compacted: compact.Summary,
	}
	var all []compact.Message
	var origins []history.Origin
	f.conversation.log.View(func(s *history.State) {
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
	calls, err := f.conversation.debts.Unreported(ctx)
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
func (f *fitter) isPending(ctx context.Context, request string) bool {
	r, err := f.approvals.Get(ctx, request)
	return err == nil && r.State == approval.Pending
}
