package kernel

import (
	"cmp"
	"context"
	"strings"

	"callgate/internal/agent"
	"callgate/internal/app"
	"callgate/internal/conversation/compact"
	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
	"callgate/llm"
)

// compacting is how a conversation is kept within its model's window.
type compacting struct {
	policy compact.Policy
	by     compact.Summarizer // nil: nobody writes summaries
	tools  int                // tokens of the tools that the model is offered
}

// keepWithin has a conversation's loop keep it within the window of its model.
func (c *Conversation) keepWithin(cfg *agent.Config, b *app.Model) error {
	var how app.Context
	window := 0
	if c.App != nil {
		how, window = c.App.Runtime.Context, c.App.Surface.Window
	}
	if b != nil {
		how, window = b.Context.Over(how), cmp.Or(b.Window, window)
	}
	c.room.policy = compact.Policy{
		Window: cmp.Or(window, c.Brain.Window), OutputReserved: how.OutputReserved, Strategy: compact.Strategy(how.Strategy), KeepRecent: how.KeepRecent,
		Trigger: how.Trigger, SummaryMaxTokens: how.SummaryMaxTokens, Manual: how.Auto != nil && !*how.Auto,
	}
	if c.Brain.NativeTools {
		c.room.tools = c.Plan.ShownTokens
	}
	var err error
	if c.room.by, err = c.summarizer(cfg, how); err != nil {
		return err
	}
	cfg.Compact = func(ctx context.Context, system string, _ []llm.Message) (*history.Compaction, error) {
		return c.compact(ctx, system, compact.NearLimit)
	}
	cfg.CompactOverflow = func(ctx context.Context, system string, _ []llm.Message) (*history.Compaction, error) {
		return c.compact(ctx, system, compact.Overflow)
	}
	return nil
}

// summarizer is who writes summaries: the model that the app names, or the one
// that answers. What it writes passes the app's filters, as all its words do.
func (c *Conversation) summarizer(cfg *agent.Config, how app.Context) (compact.Summarizer, error) {
	if compact.Strategy(how.Strategy) != compact.Summarize {
		return nil, nil
	}
	brain, info := cfg.Model, c.Brain
	if other := how.SummaryModel; other != nil {
		var err error
		if brain, info, err = c.kernel.brain(other, c.Session); err != nil {
			return nil, err
		}
	}
	if info.Offline {
		return nil, nil
	}
	var by compact.Summarizer = compact.ModelSummarizer{Model: brain.Model, Settings: brain.Settings, Window: info.Window}
	if cfg.Output != nil {
		by = compact.Checked(by, cfg.Output)
	}
	return by, nil
}

// Compact makes the conversation shorter now, and returns what was done: nil
// when there was nothing to leave out. No turn may be under way.
func (c *Conversation) Compact(ctx context.Context) (*history.Compaction, error) {
	var done *history.Compaction
	_, err := c.turn(ctx, agent.Observer{}, nil, func(ctx context.Context, _ agent.Observer) (history.End, error) {
		made, err := c.compact(ctx, c.Prompt().Text(), compact.Requested)
		if made == nil || err != nil {
			return history.End{}, err
		}
		done = made
		return history.End{}, c.log.Append(ctx, history.Event{Type: history.Compacted, Compaction: made})
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

// compact decides how the conversation is made shorter; nil: not at all.
func (c *Conversation) compact(ctx context.Context, system string, cause compact.Cause) (*history.Compaction, error) {
	made, err := c.room.policy.Compact(ctx, compact.Input{System: system, Tools: c.room.tools, Messages: c.shown(ctx), Cause: cause}, c.room.by)
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

// shown is what the model is shown, with what of it must stay: the calls that
// wait for a human, and the beginnings of jobs of whose end it was not told.
func (c *Conversation) shown(ctx context.Context) []compact.Message {
	kinds := map[history.Type]compact.Kind{history.User: compact.UserText, history.Note: compact.Note, history.Compacted: compact.Summary}
	var all []compact.Message
	var origins []history.Origin
	c.log.View(func(s *history.State) {
		for i, m := range s.Messages {
			all = append(all, compact.Message{Message: m, Kind: kinds[s.Origins[i].Type]})
			origins = append(origins, s.Origins[i])
		}
	})
	seen := map[string]bool{}
	for i := len(all) - 1; i >= 0; i-- { // a question may be met again: the last time counts
		for call, question := range origins[i].WaitsForApproval {
			if !seen[question] && c.waits(ctx, question) {
				all[i].Pinned, all[i].Whole = true, append(all[i].Whole, call)
			}
			seen[question] = true
		}
	}
	for _, name := range c.untoldJobs() {
		if i := mentions(all, name); i >= 0 {
			all[i].Pinned = true
		}
	}
	return all
}

// waits reports whether a human has not answered a question yet.
func (c *Conversation) waits(ctx context.Context, question string) bool {
	r, err := c.kernel.Approvals.Get(ctx, question)
	return err == nil && r.State == approval.Pending
}

// untoldJobs are the jobs of the core lane of whose end the model was not told.
func (c *Conversation) untoldJobs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := strings.Join(c.notices, "\n")
	var names []string
	for _, j := range c.jobs {
		select {
		case <-j.done:
			if !strings.Contains(waiting, jobEnded(j.talk.ID)) {
				continue
			}
		default:
		}
		names = append(names, j.talk.ID)
	}
	return names
}

// mentions is the place of the first result that names a job; -1: there is none.
func mentions(all []compact.Message, job string) int {
	for i, m := range all {
		for _, p := range m.Parts {
			if p.Result != nil && strings.Contains(p.Result.Text(), job) {
				return i
			}
		}
	}
	return -1
}

// jobEnded is how the note of a job's end begins.
func jobEnded(job string) string { return "CORE JOB " + job + " ENDED" }
