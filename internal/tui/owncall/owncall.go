// Package owncall makes the calls of the user: the commands that they enter after an
// exclamation mark.
//
// # Law
//
// A command of the user's goes through the gate in a session of their own: rules
// decide, and the journal says who made it. What it printed is shown, and told to the
// model with the user's next message, once.
package owncall

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/protocol/callid"
	"callgate/internal/tui/attach"
	"callgate/internal/tui/transcript"
	"callgate/tool"
)

// shellTool is the tool that runs the user's own commands.
const shellTool = "shell.bash"

// Options are what the calls need of their screen. Post, Script and Now are required.
type Options struct {
	// Open opens the session of the user's own calls. Nil: there is none.
	Open func(ctx context.Context) (attach.Caller, error)
	// Approvals lists what waits for a human. Nil: questions are answered elsewhere.
	Approvals func(ctx context.Context, state protocol.ApprovalState) ([]protocol.Approval, error)
	Script    *transcript.Transcript // where they are shown
	Now       func() time.Time
	Post      func(tea.Msg) // takes an Asked, and an Ended
}

// Asked says that a call of the user's waits for their answer.
type Asked struct{ Approval protocol.Approval }

// Ended says that a call of the user's has ended.
type Ended struct{ Call string }

// Calls are the calls under way, and what those before have printed.
type Calls struct {
	Options
	ctx     context.Context
	open    map[string]*userCall // by ID
	printed strings.Builder
}

// New makes an empty list. ctx ends the calls.
func New(ctx context.Context, o Options) *Calls {
	return &Calls{Options: o, ctx: ctx, open: map[string]*userCall{}}
}

// interval is how often a call is looked at.
const interval = 250 * time.Millisecond

// userCall is a call of the user's that is under way.
type userCall struct {
	id     string
	line   string
	call   *transcript.Call
	entry  *transcript.Entry
	cancel context.CancelFunc
	asking bool            // the kernel is being asked what waits
	asked  map[string]bool // the approvals that were shown
	since  time.Time       // when the human was asked; zero: nobody is
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

// TakePrinted returns what the commands printed since the last time, for a message.
func (u *Calls) TakePrinted() string {
	text := u.printed.String()
	u.printed.Reset()
	return text
}

// Stop stops the calls under way, and reports whether there were any.
func (u *Calls) Stop() bool {
	for _, call := range u.open {
		call.cancel()
	}
	return len(u.open) > 0
}

// Run runs a command.
func (c *Calls) Run(line string) tea.Cmd {
	args, err := json.Marshal(map[string]string{"command": line})
	wrong := ""
	switch {
	case line == "":
		wrong = "!COMMAND runs a command of your own"
	case c.Open == nil:
		wrong = "there is no session for commands of your own here"
	case err != nil:
		wrong = err.Error()
	}
	if wrong != "" {
		c.Script.Add(transcript.Note{Text: wrong, Bad: true}, true)
		return nil
	}
	ctx, cancel := context.WithCancel(c.ctx)
	u := &userCall{id: callid.New(), line: line, cancel: cancel, asked: map[string]bool{}}
	u.call = &transcript.Call{Name: shellTool, Args: args, Began: c.Now(), Shown: ownLines}
	c.Script.Add(transcript.UserText("!"+line), true)
	u.entry = c.Script.Add(u.call, false)
	c.open[u.id] = u
	return tea.Batch(u.tick(), func() tea.Msg {
		session, err := c.Open(ctx)
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
	return tea.Tick(interval, func(time.Time) tea.Msg { return userTickMsg{u} })
}

// Update handles what happens in the calls, and reports whether a message was about
// one.
func (c *Calls) Update(msg tea.Msg) (cmd tea.Cmd, handled bool) {
	switch msg := msg.(type) {
	case userCallMsg:
		c.ended(msg)
	case userTickMsg:
		return c.tick(msg.call), true
	case userAskedMsg:
		msg.call.asking = false
		for _, a := range msg.list {
			if a.Call.ID == msg.call.id && !msg.call.asked[a.ID] && c.open[msg.call.id] != nil {
				msg.call.asked[a.ID] = true
				msg.call.call.Waiting, msg.call.since = "waits for you", c.Now()
				msg.call.entry.Touch()
				c.Post(Asked{a})
			}
		}
	default:
		return nil, false
	}
	return nil, true
}

// Answered shows that the user let a call of theirs run. What they took for it is not
// the call's time.
func (u *Calls) Answered(call string, now time.Time) {
	if c := u.open[call]; c != nil && !c.since.IsZero() {
		c.call.Began, c.call.Waiting = c.call.Began.Add(now.Sub(c.since)), ""
		c.since = time.Time{}
		c.entry.Touch()
	}
}

// tick shows how long a call takes, and asks whether it waits for a human.
func (c *Calls) tick(u *userCall) tea.Cmd {
	if c.open[u.id] == nil {
		return nil
	}
	if u.since.IsZero() {
		u.call.Took = c.Now().Sub(u.call.Began)
	}
	u.entry.Touch()
	if c.Approvals == nil || u.asking {
		return u.tick()
	}
	u.asking = true
	return tea.Batch(u.tick(), func() tea.Msg {
		list, _ := c.Approvals(c.ctx, protocol.ApprovalPending) // the call itself says if the kernel is gone
		return userAskedMsg{u, list}
	})
}

// ended shows how a call ended, and keeps what it printed for the model.
func (c *Calls) ended(m userCallMsg) {
	u := m.call
	u.cancel()
	delete(c.open, u.id)
	c.Post(Ended{u.id})
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
	u.call.Result, u.call.Waiting, u.call.Took = r, "", c.Now().Sub(u.call.Began)
	u.entry.Touch()
	c.printed.WriteString(attach.Command(u.line, r))
}
