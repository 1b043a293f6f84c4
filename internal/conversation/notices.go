package conversation

import (
	"context"
	"strings"
	"sync"

	"callgate/internal/agent"
	"callgate/internal/gate/permission"
	"callgate/llm"
)

// notices are what a model is told before its next request: that the permission mode
// has changed, and which tasks have ended.
type notices struct {
	*startedTasks
	permissions *permission.Table

	mu   sync.Mutex
	told permission.Mode // as far as the history says
}

var _ agent.TaskNotices = (*notices)(nil)

func newNotices(t *startedTasks, p *permission.Table) *notices {
	return &notices{startedTasks: t, permissions: p, told: toldMode(t.log.Messages())}
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
func (n *notices) Notices(ctx context.Context) ([]agent.Notice, error) {
	list, err := n.startedTasks.Notices(ctx)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if mode := n.permissions.Of(n.parent).Mode; mode != n.told {
		n.told = mode
		list = append(list, agent.Notice{Text: modeNote(mode)})
	}
	return list, nil
}

// Noted has the tasks count as told.
func (n *notices) Noted(ctx context.Context, told []agent.Notice) error {
	var ended []agent.Notice
	for _, one := range told {
		if one.Task != "" {
			ended = append(ended, one)
		}
	}
	if len(ended) == 0 {
		return nil
	}
	return n.startedTasks.Noted(ctx, ended)
}
