package kernel

import (
	"callgate/internal/conversation"
	"callgate/internal/conversation/owed"
	"callgate/internal/kernel/agents"
	"callgate/internal/kernel/backgroundcalls"
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
