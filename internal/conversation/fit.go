package conversation

import (
	"context"

	"callgate/internal/agent"
	"callgate/internal/app"
	"callgate/internal/conversation/compact"
	"callgate/internal/conversation/fitting"
	"callgate/internal/conversation/history"
	"callgate/internal/conversation/owed"
	"callgate/internal/conversation/summarizing"
	"callgate/internal/kernel/modelset"
	"callgate/llm"
)

// fit gives a conversation its fitter, and has its loop use it.
func (m *Manager) fit(c *Conversation, cfg *agent.Config) error {
	var how app.Context
	if a := c.session.App(); a != nil {
		how = a.Runtime.Context
	}
	if d := c.described; d != nil {
		how = d.Context.Over(how)
	}
	f := &fitting.Fitter{
		Log: func() *history.Log { return c.log }, Debts: func() *owed.Debts { return c.debts }, Hooks: c.hooks,
		Approvals: m.Approvals, Policy: compact.Policy{
			Window: c.model.Window, OutputReserved: how.OutputReserved,
			Strategy: compact.Strategy(how.Strategy), KeepRecent: how.KeepRecent,
			Trigger: how.Trigger, SummaryMaxTokens: how.SummaryMaxTokens, Manual: how.Auto != nil && !*how.Auto,
		},
	}
	if c.model.NativeTools {
		f.Tools = c.plan.ShownTokens
	}
	var err error
	if f.Summarizer, err = m.openSummarizer(c, cfg, how); err != nil {
		return err
	}
	c.fitter = f
	cfg.Compact = func(ctx context.Context, system string, _ []llm.Message) (*history.Compaction, error) {
		return f.Compact(ctx, system, compact.NearLimit)
	}
	cfg.CompactOverflow = func(ctx context.Context, system string, _ []llm.Message) (*history.Compaction, error) {
		return f.Compact(ctx, system, compact.Overflow)
	}
	return nil
}

// openSummarizer opens the model that writes summaries: the one that the app names, or the one that answers. Its
// text passes the app's filters, as all texts of models do.
func (m *Manager) openSummarizer(c *Conversation, cfg *agent.Config, how app.Context) (compact.Summarizer, error) {
	if compact.Strategy(how.Strategy) == compact.Truncate {
		return nil, nil
	}
	model, info := cfg.Model, c.model
	if other := how.SummaryModel; other != nil {
		var err error
		use := modelset.UseFor(c.session.App(), c.user, unattended(c))
		if model, info, err = m.Models.Open(use, other, tools{c}); err != nil {
			return nil, err
		}
	}
	if info.Offline {
		return nil, nil
	}
	by := summarizing.Model{Model: model.Model, Settings: model.Settings, Window: info.Window,
		Name: info.Provider + "/" + info.Model, By: c.session.Principal(), Record: m.Record}
	var s compact.Summarizer = by
	if how.RememberFacts != nil && *how.RememberFacts {
		s = summarizing.Remembering{Model: by, Call: c.session.CallAll, Check: cfg.Output}
	}
	if cfg.Output != nil {
		s = compact.Checked(s, cfg.Output)
	}
	return s, nil
}
