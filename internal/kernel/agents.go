package kernel

import (
	"context"

	"callgate/internal/conversation"
	"callgate/internal/conversation/owed"
	"callgate/internal/kernel/agents"
	"callgate/internal/kernel/backgroundcalls"
	"callgate/internal/kernel/session"
	"callgate/internal/task"
	"callgate/llm"
)

// openAgents makes what has agents start others.
func openAgents(k *Kernel) {
	k.Agents = agents.New(agents.Options{
		Runner: k.Tasks, Conversations: k.Conversations, Infos: k.Conversations.Store, Sessions: k.Sessions,
		Permissions: k.Permissions.Table, Apps: k.Apps, Narrow: k.Skills.Runs.Narrow, Tokens: k.Tokens, Log: k.log,
	})
}

// bounded builds the sessions of calls that earlier sessions asked for: of those that worked
// for others, with no more than they had.
type bounded struct{ k *Kernel }

func (b bounded) Build(ctx context.Context, spec session.Spec) (*session.Session, error) {
	if err := b.k.Agents.Limit(ctx, &spec); err != nil {
		return nil, err
	}
	return b.k.builder.Build(ctx, spec)
}

// told is how models are told of the ends of tasks.
func told(k *Kernel) conversation.Told {
	return conversation.Told{
		Texts: map[string]owed.Words{
			backgroundcalls.Kind: backgroundNotice,
			agents.Kind:          func(t task.Task, n int) string { return k.Agents.Notice(t, n) },
		},
		Spent:  map[string]owed.Spent{agents.Kind: func(t task.Task) *llm.Usage { return k.Agents.Spent(t) }},
		Closed: []string{agents.Kind},
	}
}
