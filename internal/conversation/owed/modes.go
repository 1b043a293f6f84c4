package owed

import (
	"context"
	"strings"
	"sync"

	"callgate/internal/agent"
	"callgate/internal/gate/permission"
	"callgate/llm"
)

// Notices are what a model is told before its next request: that the permission mode
// has changed, and what the conversation is owed. Make one with NewNotices.
type Notices struct {
	*Debts
	permissions *permission.Table

	mu   sync.Mutex
	told permission.Mode // as far as the history says
}

var _ agent.TaskNotices = (*Notices)(nil)

// NewNotices makes the notices of a conversation, on its history.
func NewNotices(d *Debts, p *permission.Table) *Notices {
	return &Notices{Debts: d, permissions: p, told: toldMode(d.Log.Messages())}
}

// modeNote tells a model of a mode. A conversation that is resumed finds the last one
// in its history, so its first words must not change.
func modeNote(m permission.Mode) string {
	switch m {
	case permission.Plan:
		return "PERMISSION MODE plan: the user wants a plan first. Nothing that changes anything runs now: " +
			"calls that write, and shell commands, are refused. Look around with the tools that only read. " +
			"Then tell the user your plan: what you would change, in which files, and how it would be checked. " +
			"The user leaves plan mode to let it happen; do not ask for calls meanwhile, and do not try to go around it."
	case permission.AcceptEdits:
		return "PERMISSION MODE accept-edits: changes of files inside the workspace run without asking the user now. " +
			"For everything else the rules are as before."
	default:
		return "PERMISSION MODE ask: calls run as the rules say, and the user is asked where they say so. " +
			"If the user agreed to a plan, carry it out."
	}
}

// toldMode is the mode that a model was last told of.
func toldMode(messages []llm.Message) permission.Mode {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role != llm.User {
			continue
		}
		text, isNote := strings.CutPrefix(messages[i].Text(), "<note>\nPERMISSION MODE ")
		name, _, _ := strings.Cut(text, ":")
		if mode, err := permission.ParseMode(name); isNote && err == nil {
			return mode
		}
	}
	return permission.Ask
}

// Notices returns what the model has not been told.
func (n *Notices) Notices(ctx context.Context) ([]agent.Notice, error) {
	list, err := n.Debts.Notices(ctx)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if mode := n.permissions.Of(n.Parent).Mode; mode != n.told {
		n.told = mode
		list = append(list, agent.Notice{Text: modeNote(mode)})
	}
	return list, nil
}
