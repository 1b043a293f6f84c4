package kernel

import (
	"context"
	"time"

	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/kernel/toolview"
	"callgate/internal/protocol/operations"
	"callgate/internal/stats"
)

// Stats says what the gate did since a time. It looks at so many records at most; 0: at all.
func Stats(ctx context.Context, k *Kernel, since time.Time, limit int) (operations.Stats, error) {
	_ = k.Journal.Flush(ctx) // then the last records are missing
	s, err := stats.Collect(ctx, k.Journal, since, limit)
	if err != nil {
		return operations.Stats{}, err
	}
	out := operations.Stats{
		Since: since, From: s.From, Records: s.Records, Partial: s.Partial, Calls: s.Calls, Succeeded: s.Succeeded,
		Refused: s.Refused, Coerced: s.Coerced, PutRight: s.PutRight, Approved: s.Approved, Edited: s.Edited,
		Denied: s.Denied, Expired: s.Expired, Granted: s.Granted, Allowed: s.Allowed, Scrubbed: s.Scrubbed, Cut: s.Cut,
		Doubted: s.Doubted,
	}
	out.Surface, err = unsent(ctx, k, since)
	return out, err
}

// The bounds of what is looked at for what models were not sent.
const (
	maxCounted = 1000 // conversations, those that were touched last
	maxPlanned = 20   // agents of apps
)

// unsent counts what models were not sent of the tools' definitions.
func unsent(ctx context.Context, k *Kernel, since time.Time) (u operations.Unsent, err error) {
	list, err := k.Conversations.List(ctx, maxCounted)
	if err != nil {
		return u, err
	}
	type place struct{ workspace, appFile, agent, lane string }
	saved := map[place]int{}
	for _, info := range list {
		if info.Updated.Before(since) || info.Turns == 0 {
			continue
		}
		at := place{info.Workspace, info.AppFile, info.Agent, info.Lane}
		tokens, known := saved[at]
		if !known && len(saved) < maxPlanned {
			tokens = savedByTurn(ctx, k, info)
			saved[at] = tokens
		}
		u.Conversations++
		u.Turns += info.Turns
		u.Tokens += tokens * info.Turns
	}
	return u, nil
}

// savedByTurn is how many tokens of definitions an agent's model is not sent; 0 too where that cannot be known any
// more: its folder or its app is gone.
func savedByTurn(ctx context.Context, k *Kernel, info history.Info) int {
	shown, err := k.Conversations.Preview(ctx, conversation.Spec{
		Workspace: info.Workspace, Named: true, AppFile: info.AppFile, Agent: info.Agent, Lane: info.Lane,
	}, toolview.SurfaceConfig{})
	if err != nil || shown.Plan == nil {
		return 0
	}
	return max(0, shown.Plan.ToolTokens-shown.Plan.ShownTokens)
}
