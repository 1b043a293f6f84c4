// Package agents has agents start others: the tool agent_spawn.agent.
//
// # Law
//
//   - An agent that another one starts is a task, and a conversation of its own, which
//     bears the ID of its first task: its agent ID. Both survive the kernel. It works once:
//     after a kill it goes on where it was.
//   - It has at most the rights of whom it works for, with each of its calls: rights.go.
//   - Its end is told to its parent once, as that of any other task, with what it brought
//     and what it cost. What it cost counts for the parent from then on.
//   - It sees only what it is told. What it asks a human is shown where the user's own
//     conversation is watched, with its name and whom it works for. No agent can answer.
//   - Of the agents that one conversation starts only so many work at once, in the order in
//     which they were started; the others wait, also after a restart. An agent that is given
//     new work is the last of them.
//   - All agents that work for one conversation of a user, of whatever depth, are bounded
//     together: how deep, how many, and what they may cost. Who goes over that is stopped,
//     and says why.
//   - Who is stopped stops those that work for it, and what they began. Nothing of them runs
//     when its end is told. Those of one that was stopped by a kernel which was killed then
//     stop when they would go on.
//   - Another app that is called works as an agent does, in its own file's name: apps.go.
//   - A turn that its user stops takes the agents with it that it waits for. Others go on,
//     until they have ended, their conversation is closed by its client or deleted, or
//     somebody stops them.
package agents

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/conversation/keyedmutex"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/permission"
	"callgate/internal/kernel/apps"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/tasks"
	"callgate/internal/module"
	"callgate/internal/task"
	"callgate/tool"
)

// Kind is the kind of the tasks.
const Kind = "agent"

const op = "agent_spawn.agent"

// Conversations runs the turns of agents.
type Conversations interface {
	Run(ctx context.Context, h conversation.Headless) (id string, end history.End, err error)
	Get(id string) (*conversation.Conversation, error)
	History(ctx context.Context, id string, after int64) (history.Info, []history.Event, error)
	Asked(id string, r approval.Request)
}

// Options is what Agents needs of the kernel. All are required.
type Options struct {
	Runner        *tasks.Runner
	Conversations Conversations
	Infos         history.Store
	Sessions      *session.Table
	Permissions   *permission.Table
	Apps          Apps
	// Narrow returns why a tool may not be called in a session now; nil: it may.
	Narrow func(session string, t *tool.Tool) error
	Tokens Tokens
	Log    *slog.Logger
}

// Apps loads the app file of a folder.
type Apps interface {
	Load(ctx context.Context, workspace, file string) (*apps.Loaded, error)
}

// Tokens tells whether a token still counts.
type Tokens interface {
	Check(ctx context.Context, id string) error
}

// Agents has agents start others. Make one with New.
type Agents struct {
	opt   Options
	trees keyedmutex.Mutex // by the conversation at the top: agents are counted one after the other

	mu      sync.Mutex
	working map[string]context.CancelCauseFunc // the tasks that run or wait here
	doing   map[string]string                  // agents that run or wait here, and their tasks
	changed chan struct{}                      // closed when a task has ended
	given   map[string]bool                    // tasks whose result a call has told their parent
}

// New makes it, and has it run the agents that an earlier kernel left.
func New(o Options) *Agents {
	a := &Agents{
		opt: o, working: map[string]context.CancelCauseFunc{}, doing: map[string]string{},
		changed: make(chan struct{}), given: map[string]bool{},
	}
	o.Runner.Handle(Kind, a.run)
	return a
}

// Ended has those who wait look again: the end of a task is stored.
func (a *Agents) Ended() {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.changed)
	a.changed = make(chan struct{})
}

// change is closed with the next end of a task.
func (a *Agents) change() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.changed
}

// order is what an agent is to do: the input of its task.
type order struct {
	Agent      string   `json:"agent"` // its ID, and that of its conversation
	Specialist string   `json:"specialist"`
	Prompt     string   `json:"prompt"`
	Again      bool     `json:"again,omitempty"` // it has worked before
	Root       string   `json:"root"`            // the conversation of the user's for which all of them work
	Depth      int      `json:"depth"`           // 1 for an agent that Root's agent started
	Above      []string `json:"above"`           // the agents for which it works, the nearest first
	For        string   `json:"for,omitempty"`   // the task of the agent that started it; "": a user's conversation did

	MaxTurns int             `json:"max_turns"`
	Timeout  time.Duration   `json:"timeout"`
	Mode     permission.Mode `json:"mode,omitempty"` // in which its parent began it
	AppMode  string          `json:"app_mode,omitempty"`
	Workers  int             `json:"workers"` // of its parent that work at once
	Progress bool            `json:"progress,omitempty"`
	Retries  int             `json:"retries,omitempty"`
	Limits   limits          `json:"limits"`
	App      *appOrder       `json:"app,omitempty"`   // it is another app that was called; nil: an agent of the same
	Under    bool            `json:"under,omitempty"` // it works for an app that was called
}

// limits are those of all agents that work for one conversation.
type limits struct {
	Depth  int   `json:"depth"`
	Agents int   `json:"agents"`
	Tokens int   `json:"tokens,omitempty"` // 0: any
	Cost   int64 `json:"cost,omitempty"`   // millionths of a US dollar; 0: any
}

func orderOf(t task.Task) (o order, err error) {
	if err = json.Unmarshal(t.Input, &o); err != nil {
		err = tool.Errorf(op, tool.Internal, "the task %s cannot be read: %w", t.ID, err)
	}
	return o, err
}

// Do does what a call of the tool asks for.
func (a *Agents) Do(ctx context.Context, call tool.Call, r module.AgentRequest) (*tool.Result, error) {
	parent, err := a.opt.Conversations.Get(call.Principal.Session)
	if err != nil {
		return nil, tool.Errorf(op, tool.Denied, "only an agent in a conversation starts others").
			WithHint("begin one, with callgate chat or callgate run, and have its agent do it")
	}
	switch r.Mode {
	case module.AgentSpawn:
		return a.spawn(ctx, call, parent, r)
	case module.AgentReassign:
		return a.reassign(ctx, call, parent, r)
	case module.AgentList:
		return a.list(ctx, parent.ID())
	case module.AgentCancel:
		return a.cancel(ctx, call, parent.ID(), r)
	default:
		return a.look(ctx, parent.ID(), r)
	}
}
