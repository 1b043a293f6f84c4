package tui

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/attach"
	"callgate/internal/tui/transcript"
	"callgate/tool"
)

// shellTool is the tool that runs the user's own commands.
const shellTool = "shell.bash"

// userCalls are the calls that the user makes with !COMMAND. They go through the
// gate in a session of the user's own: rules decide, and the journal says who made
// them. What they print is told to the model with the user's next message.
type userCalls struct {
	open    map[string]*userCall // by ID
	printed strings.Builder
}

// userCall is a call of the user's that is under way.
type userCall struct {
	id     string
	line   string
	call   *transcript.Call
	entry  *transcript.Entry
	cancel context.CancelFunc
	asking bool            // the kernel is being asked what waits
	asked  map[string]bool // the approvals that were shown
}

// userCallMsg is how a call of the user's ended.
type userCallMsg struct {
	call   *userCall
	result *tool.Result
	err    error
}

// userTickMsg says that the tick interval has passed in a call of the user's.
type userTickMsg struct{ call *userCall }

// userAskedMsg brings the calls that wait for a human.
type userAskedMsg struct {
	call *userCall
	list []protocol.Approval
}

// approvalLister is a kernel that lists what waits for a human. *client.Client is one.
type approvalLister interface {
	Approvals(ctx context.Context, state protocol.ApprovalState) ([]protocol.Approval, error)
}

// takePrinted returns what the commands printed since the last time, for a message.
func (u *userCalls) takePrinted() string {
	text := u.printed.String()
	u.printed.Reset()
	return text
}

// stop stops the calls under way, and reports whether there were any.
func (u *userCalls) stop() bool {
	for _, call := range u.open {
		call.cancel()
	}
	return len(u.open) > 0
}

// runOwn runs a command of the user's.
func (c *chat) runOwn(line string) tea.Cmd {
	switch {
	case line == "":
		c.status.hint = "!COMMAND runs a command of your own"
		return nil
	case c.opt.UserCalls == nil:
		c.view.bad("there is no session for commands of your own here")
		return nil
	}
	args, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		c.view.fail(err)
		return nil
	}
	ctx, cancel := context.WithCancel(c.ctx)
	u := &userCall{id: protocol.NewCallID(), line: line, cancel: cancel, asked: map[string]bool{}}
	u.call = &transcript.Call{Name: shellTool, Args: args, Began: c.opt.Now(), Shown: ownLines}
	c.hideWelcome()
	c.view.script.Add(transcript.UserText("!"+line), true)
	u.entry = c.view.script.Add(u.call, false)
	if c.own.open == nil {
		c.own.open = map[string]*userCall{}
	}
	c.own.open[u.id] = u
	return tea.Batch(u.tick(), func() tea.Msg {
		session, err := c.opt.UserCalls(ctx)
		if err != nil {
			return userCallMsg{u, nil, err}
		}
		r, err := session.Call(ctx, protocol.CallRequest{ID: u.id, Name: shellTool, Args: args})
		return userCallMsg{u, r, err}
	})
}

// ownLines is how many lines a command of the user's shows of what it printed.
const ownLines = 40

func (u *userCall) tick() tea.Cmd {
	return tea.Tick(tickInterval, func(time.Time) tea.Msg { return userTickMsg{u} })
}

// userCallUpdate handles what happens in calls of the user's.
func (c *chat) userCallUpdate(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case userCallMsg:
		return c.ownEnded(msg)
	case userTickMsg:
		return c.ownTick(msg.call)
	case userAskedMsg:
		msg.call.asking = false
		for _, a := range msg.list {
			if a.Call.ID == msg.call.id && !msg.call.asked[a.ID] && c.own.open[msg.call.id] != nil {
				msg.call.asked[a.ID] = true
				msg.call.call.Waiting = "waits for you"
				msg.call.entry.Touch()
				c.post(askedMsg{a})
			}
		}
	}
	return nil
}

// ownTick shows how long a call takes, and asks whether it waits for a human.
func (c *chat) ownTick(u *userCall) tea.Cmd {
	if c.own.open[u.id] == nil {
		return nil
	}
	u.call.Took = c.opt.Now().Sub(u.call.Began)
	u.entry.Touch()
	lister, ok := c.opt.Kernel.(approvalLister)
	if !ok || u.asking {
		return u.tick()
	}
	u.asking = true
	return tea.Batch(u.tick(), func() tea.Msg {
		list, _ := lister.Approvals(c.ctx, protocol.ApprovalPending) // the call itself says if the kernel is gone
		return userAskedMsg{u, list}
	})
}

// ownEnded shows how a call ended, and keeps what it printed for the model.
func (c *chat) ownEnded(m userCallMsg) tea.Cmd {
	u := m.call
	u.cancel()
	delete(c.own.open, u.id)
	c.approvals.CallEnded(u.id)
	r := m.result
	if m.err != nil || r == nil {
		r = &tool.Result{Status: tool.Failure, Summary: "it was not run"}
		if m.err != nil {
			r.Summary = m.err.Error()
		}
		if tool.KindOf(m.err) == tool.Cancelled {
			r.Summary = "stopped"
		}
	}
	u.call.Result, u.call.Waiting, u.call.Took = r, "", c.opt.Now().Sub(u.call.Began)
	u.entry.Touch()
	c.own.printed.WriteString(attach.Command(u.line, r))
	return nil
}
