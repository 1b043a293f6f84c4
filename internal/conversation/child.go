package conversation

import (
	"context"
	"math"
	"slices"

	"callgate/internal/agent"
	"callgate/internal/app"
	"callgate/internal/conversation/history"
	"callgate/internal/gate"
	"callgate/internal/gate/appmode"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/policy"
	"callgate/internal/kernel/session"
	"callgate/llm"
	"callgate/tool"
)

// # Conversations that work for others
//
// A child is the conversation of an agent that another one started: internal/kernel/agents.
// It has no client, takes turns that its parent gives it, and waits in each for what it
// began. It is given at most what its parent is, and nobody opens it but for its parent: a
// client that did would give it more.

// Child says for whom a conversation works, and what it is given less for that.
type Child struct {
	Parent    string              // the conversation it works for
	Above     []string            // the agents for which it works, its parent's first
	Only      map[string][]string // what its parent may use: see gate.Rules
	Off       []string            // modules that its parent is not given
	Within    policy.Narrower     // asked with each of its calls
	Guards    func() gate.Hooks   // see session.Spec; nil: none
	RuleFiles []string            // those of whom it works for: see gate.Place
	MaxTurns  int                 // requests to its model within one turn
	AppMode   string              // the mode of the app in which its parent began it
	Memory    string              // the conversation whose memory it is shown
	// Asked is told of what it asks a human, and what is answered; it must not wait.
	Asked func(approval.Request)
}

// WorksFor reports whether the conversation works for one of the user's, also through others.
func (c *Conversation) WorksFor(id string) bool { return c.child != nil && c.child.Memory == id }

// passOn has somebody else be told of what is asked, too.
func (c *Child) passOn(asked func(approval.Request)) func(approval.Request) {
	if c == nil || c.Asked == nil {
		return asked
	}
	return func(r approval.Request) {
		asked(r)
		c.Asked(r)
	}
}

// limit gives the session of a child no more than it may have; nil changes nothing.
func (c *Child) limit(s *session.Spec) {
	if c == nil {
		return
	}
	s.Only, s.Off = appmode.Intersect(c.Only, s.Only), slices.Clone(c.Off)
	s.Above, s.Within, s.Guards, s.RuleFiles = c.Above, c.Within, c.Guards, c.RuleFiles
}

func (c *Child) parent() string {
	if c == nil {
		return ""
	}
	return c.Parent
}

func (c *Child) maxTurns() int {
	if c == nil {
		return 0
	}
	return c.MaxTurns
}

// childError refuses to open a conversation that works for another one.
func childError(info history.Info) error {
	return tool.Errorf("conversation.Open", tool.Denied, "conversation %s works for %s", info.ID, info.Parent).
		WithHint("callgate sessions show %s shows it, and callgate sessions cancel %s stops it; open %s to have it go on",
			info.ID, info.ID, info.Parent)
}

// deleteChildren deletes the conversations that worked for another one, which is deleted. Their tasks have ended.
func deleteChildren(ctx context.Context, m *Manager, id string) error {
	list, err := m.Store.List(ctx, 0)
	if err != nil {
		return err
	}
	for _, info := range list {
		if info.Parent == id {
			if err := m.Delete(ctx, info.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// Exceeds says how the turn of a conversation that runs is over what it may cost, with what those who work
// for it have spent and it was not told yet; "": it is not.
func Exceeds(c *Conversation, more llm.Usage) string {
	if c.log == nil {
		return ""
	}
	now, began := c.log.Info().Usage, c.turn.began()
	since := func(then llm.Usage) llm.Usage {
		return llm.Usage{
			Input: now.Input - then.Input + more.Input, Output: now.Output - then.Output + more.Output,
			Cost: now.Cost - then.Cost + more.Cost,
		}
	}
	if why := turnLimit(c.session.App()).Exceeds(since(began)); why != "" {
		return "the turn of whom it works for " + why
	}
	if why := c.limit.Exceeds(since(c.opened)); why != "" {
		return "the conversation of whom it works for " + why
	}
	return ""
}

// turnLimit is what an app says that one turn may cost.
func turnLimit(a *app.App) (l agent.Limit) {
	if a == nil {
		return l
	}
	l.Tokens = a.Runtime.MaxCostTokens
	if a.Runtime.MaxCost != nil {
		l.Cost = int64(math.Round(*a.Runtime.MaxCost * 1e6))
	}
	return l
}
