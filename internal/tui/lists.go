package tui

import (
	"context"

	"callgate/internal/tui/proposals"
	"callgate/internal/tui/tasks"
	"callgate/internal/tui/transcript"
	"callgate/internal/tui/undo"
)

// lists are the parts that commands show.
type lists struct {
	tasks     *tasks.Tasks
	undo      *undo.Undo
	proposals *proposals.Proposals
}

func newLists(ctx context.Context, o Options, script *transcript.Transcript) lists {
	return lists{
		tasks:     tasks.New(ctx, tasks.Options{Client: o.Tasks, Script: script, Now: o.Now, By: o.By}),
		undo:      undo.New(ctx, undo.Options{Client: o.Undo, Script: script, By: o.By}),
		proposals: proposals.New(ctx, proposals.Options{Client: o.Proposals, Script: script, By: o.By}),
	}
}
