package tui

import (
	"context"
	"iter"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/input"
	"callgate/internal/tui/transcript"
	"callgate/tool"
)

// chat is the whole screen and what stands behind it.
type chat struct {
	Options
	ctx       context.Context
	conv      OpenConversation
	script    *transcript.Transcript
	field     *input.Field
	turn      *turn // nil: nothing is under way
	approvals approvalPane
	picker    *picker // nil: nothing is being chosen
	meter     usageMeter
	memory    []string // goal and tasks, as lines
	screen    screen
}

// screen is how things are shown.
type screen struct {
	width, height int
	mouse         bool
	leaving       bool   // ctrl+c was pressed where nothing was under way
	hint          string // for the next moment
	frame         int    // of the mark that turns
	asking        bool   // the kernel is being asked for its locks
}

func newChat(ctx context.Context, o Options, talk OpenConversation) *chat {
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &chat{
		Options: o, ctx: ctx, script: &transcript.Transcript{},
		field: input.NewField("say what to do, or /help"),
	}
	c.screen.mouse = true
	c.setConversation(talk)
	return c
}

func (c *chat) now() time.Time { return c.Options.Now() }

// setConversation makes a conversation the one that is seen.
func (c *chat) setConversation(talk OpenConversation) {
	c.conv, c.approvals, c.memory = talk, approvalPane{}, nil
	c.meter = usageMeter{window: talk.About.Window}
	c.meter.set(talk.About.Info)
	c.script.Clear()
	for _, w := range talk.About.Warnings {
		c.note(w)
	}
	if talk.About.PendingConsent != "" {
		c.note("the app would do this by itself, and nobody has accepted it yet: " + talk.About.PendingConsent + "\ncallgate app trust lets it")
	}
}

// note says something between.
func (c *chat) note(text string) { c.script.Add(transcript.Note{Text: text}, true) }

// bad says what went wrong.
func (c *chat) bad(text string) { c.script.Add(transcript.Note{Text: text, Bad: true}, true) }

func (c *chat) wrong(err error) { c.bad(err.Error()) }

// Init asks for what happened before, if anything did.
func (c *chat) Init() tea.Cmd { return c.arrive() }

// arrive takes up the conversation that was entered.
func (c *chat) arrive() tea.Cmd {
	if c.conv.About.Info.Turns == 0 {
		return c.remembered()
	}
	id := c.conv.About.ID
	return func() tea.Msg {
		h, err := c.Kernel.History(c.ctx, id)
		return recalled{id, h, err}
	}
}

// recalled is what happened in a conversation before.
type recalled struct {
	id      string
	history protocol.History
	err     error
}

func (c *chat) recall(r recalled) tea.Cmd {
	if r.id != c.conv.About.ID || c.turn != nil {
		return nil
	}
	if r.err != nil {
		c.wrong(r.err)
	}
	c.showHistory(r.history.Log)
	if info := c.conv.About.Info; info.Turns > 0 && info.Last == "" {
		c.note("the last turn was broken off: it goes on")
		return c.begin(c.conv.Resume)
	}
	return c.remembered()
}

// showHistory shows what happened before.
func (c *chat) showHistory(log []protocol.HistoryEvent) {
	calls := map[string]*running{}
	var last *running
	for _, e := range log {
		switch e.Type {
		case protocol.EventUser:
			c.script.Add(transcript.UserText(e.Message.Text()), true)
			c.field.Remember(strings.TrimSpace(e.Message.Text()))
			last = nil
		case protocol.EventAssistant:
			if words := e.Message.Text(); strings.TrimSpace(words) != "" {
				transcript.NewAnswer(c.script).Write(words)
				last = nil
			}
			if e.Usage != nil {
				c.meter.context = e.Usage.Input + e.Usage.Output
			}
		case protocol.EventCallMade:
			r := &running{Call: &transcript.Call{Name: e.Call.Name, Args: e.Call.Args, Began: e.At}}
			r.entry = c.script.Add(r.Call, last == nil)
			r.Result = &tool.Result{Status: tool.Failure, Summary: "the turn was broken off before this call ended"}
			calls[e.Call.Model], last = r, r
		case protocol.EventCallEnded:
			if r := calls[e.Call.Model]; r != nil {
				r.Result = &tool.Result{Status: e.Result.Status, Summary: e.Result.Summary, Content: e.Result.Content}
				r.Took = e.At.Sub(r.Began)
			}
		case protocol.EventNote:
			c.note(e.Message.Text())
		case protocol.EventCompacted:
			c.note("what was said before now stands in a summary")
		case protocol.EventTurnEnded:
			if e.End.Reason != protocol.EndDone {
				c.note(strings.TrimSpace("the turn ended early: " + string(e.End.Reason) + " " + e.End.Error))
			}
		}
	}
}

// Update takes a message.
func (c *chat) Update(msg tea.Msg) (tea.Model, tea.Cmd) { return c, c.update(msg) }

func (c *chat) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		c.screen.width, c.screen.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return c.key(msg)
	case tea.PasteMsg:
		return c.pasted(msg)
	case tea.MouseWheelMsg:
		c.wheel(msg)
	case tea.MouseClickMsg:
		if e := c.script.At(msg.Y - c.headRows()); e != nil && msg.Button == tea.MouseLeft {
			e.Toggle()
		}
	case turnMsg:
		return c.take(msg)
	case tickMsg:
		return c.ticked(msg)
	case locksMsg:
		c.waiting(msg)
	case cancelledMsg:
		if msg.err != nil && c.turn == msg.turn && c.turn != nil {
			c.turn.cancel()
		}
	case previewMsg:
		msg.question.preview = msg.lines
	case answeredMsg:
		c.settled(msg)
	case recalled:
		return c.recall(msg)
	case memoryMsg:
		c.refresh(msg)
	case promptMsg:
		c.showPrompt(msg)
	case compactedMsg:
		c.compacted(msg)
	case conversationsMsg:
		c.choose(msg)
	case openedMsg:
		return c.switchTo(msg)
	}
	return nil
}

// say has the agent answer.
func (c *chat) say(words string) tea.Cmd {
	if c.turn != nil {
		c.screen.hint = "a turn is under way: esc stops it"
		c.field.Set(words)
		return nil
	}
	c.script.Add(transcript.UserText(words), true)
	talk := c.conv
	return c.begin(func(ctx context.Context) iter.Seq2[protocol.TurnEvent, error] { return talk.Send(ctx, words) })
}

// cancelledMsg says that a turn was told to stop.
type cancelledMsg struct {
	turn *turn
	err  error
}

// interrupt stops what is under way; the second time, it leaves.
func (c *chat) interrupt() tea.Cmd {
	t := c.turn
	if t.halting {
		return tea.Quit
	}
	t.halting = true
	id := c.conv.About.ID
	return func() tea.Msg {
		_, err := c.Kernel.CancelTurn(c.ctx, id)
		return cancelledMsg{t, err}
	}
}
