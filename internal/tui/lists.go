package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/tui/agents"
	"callgate/internal/tui/proposals"
	"callgate/internal/tui/tasks"
	"callgate/internal/tui/transcript"
	"callgate/internal/tui/undo"
	"callgate/internal/tui/waiting"
)

// lists are the parts that commands show.
type lists struct {
	tasks     *tasks.Tasks
	undo      *undo.Undo
	proposals *proposals.Proposals
	waiting   *waiting.List
	agents    *agents.Agents
}

// listed has the parts that only show handle what the kernel answers.
func (l *lists) listed(msg tea.Msg) (handled bool) {
	return l.waiting.Update(msg) || l.agents.Update(msg)
}

func newLists(ctx context.Context, o Options, script *transcript.Transcript) lists {
	waits := waiting.Options{Questions: o.Questions, Script: script, Now: o.Now}
	if lister, ok := o.Kernel.(approvalLister); ok {
		waits.Approvals = lister.Approvals
	}
	if o.Proposals != nil {
		waits.Proposals = o.Proposals.List
	}
	team := agents.Options{List: o.Agents, Script: script, By: o.By}
	if o.Tasks != nil {
		waits.Tasks, team.Cancel = o.Tasks.List, o.Tasks.Cancel
	}
	return lists{
		waiting: waiting.New(ctx, waits),
		agents:  agents.New(ctx, team),
		tasks: tasks.New(ctx, tasks.Options{
			Client: o.Tasks, Agents: o.Agents, Script: script, Now: o.Now, By: o.By,
		}),
		undo:      undo.New(ctx, undo.Options{Client: o.Undo, Script: script, By: o.By}),
		proposals: proposals.New(ctx, proposals.Options{Client: o.Proposals, Script: script, By: o.By}),
	}
}
