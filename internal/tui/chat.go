package tui

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/alert"
	"callgate/internal/tui/approvals"
	"callgate/internal/tui/composer"
	"callgate/internal/tui/mention"
	"callgate/internal/tui/owncall"
	"callgate/internal/tui/palette"
	"callgate/internal/tui/picker"
	"callgate/internal/tui/questions"
	"callgate/internal/tui/queued"
	"callgate/internal/tui/sidebar"
	"callgate/internal/tui/statusbar"
	"callgate/internal/tui/transcript"
	"callgate/internal/tui/turnview"
	"callgate/internal/tui/welcome"
)

// chat is the model of the whole screen. It owns the parts, gives each message
// to the part that it is for, and lays their rows out.
//
// A part knows no other part. It posts a message, and the chat delivers it before
// Update returns, so that no frame shows half of a change.
type chat struct {
	opt    Options
	ctx    context.Context
	conv   OpenConversation
	posted []tea.Msg // by parts, not yet delivered

	view      *turnview.View
	approvals *approvals.Pane
	questions *questions.Pane
	composer  *composer.Composer
	palette   commands
	picker    *picker.List // nil: closed
	status    *statusbar.Bar
	side      sidebar.Sidebar
	welcome   *transcript.Entry // nil: something was said
	queue     queued.List
	own       *owncall.Calls
	alert     alert.Watch
	lists
	screen    screen
	leaveConv context.CancelFunc // ends attending the conversation; nil: it is not attended
}

// screen is the state of the terminal.
type screen struct {
	width, height int
	mouse         bool // the chat has the mouse, not the terminal
	leaving       bool // ctrl+c was the last key, and there was nothing to stop
}

func newChat(ctx context.Context, o Options, conv OpenConversation) *chat {
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &chat{opt: o, ctx: ctx, status: &statusbar.Bar{}, screen: screen{mouse: true}}
	c.view = &turnview.View{
		Script: &transcript.Transcript{}, Meter: &c.status.Meter, Now: o.Now, Post: c.post,
	}
	c.composer = composer.New(ctx, composer.Options{
		Post: c.post, Edit: o.Edit, Past: o.Past, Files: func(ctx context.Context) []string {
			return mention.Walk(ctx, conv.About.Workspace)
		},
	})
	c.alert.Mode = o.Alerts
	po := approvals.Options{By: o.By, Now: o.Now, ReadFile: o.ReadFile, Post: c.post}
	if o.Kernel != nil {
		po.Answer = o.Kernel.Answer
	}
	c.approvals = approvals.New(ctx, po)
	c.questions = questions.New(ctx, questions.Options{Answer: o.AnswerQuestion, By: o.By, Now: o.Now, Post: c.post})
	own := owncall.Options{Open: o.UserCalls, Script: c.view.Script, Now: o.Now, Post: c.post}
	if lister, ok := o.Kernel.(approvalLister); ok {
		own.Approvals = lister.Approvals
	}
	c.own = owncall.New(ctx, own)
	c.lists = newLists(ctx, o, c.view.Script)
	c.setConversation(conv)
	return c
}

// approvalLister is a kernel that lists what waits for a human. *client.Client is one.
type approvalLister interface {
	Approvals(ctx context.Context, state protocol.ApprovalState) ([]protocol.Approval, error)
}

// post takes a message of a part, to be delivered before Update returns.
func (c *chat) post(m tea.Msg) { c.posted = append(c.posted, m) }

// setConversation shows another conversation.
func (c *chat) setConversation(conv OpenConversation) {
	about := conv.About
	c.conv = conv
	c.tasks.Show(about.ID)
	c.undo.Show(about.ID)
	if c.leaveConv != nil {
		c.leaveConv()
	}
	c.approvals.Clear()
	c.questions.Clear()
	c.side.Set("")
	c.status.Meter = statusbar.Meter{Window: about.Window}
	c.status.Meter.Set(about.Info)
	c.setPermissions(about.Permissions)
	c.palette = withQuickPrompts(newPalette(about.Skills), about.AppAbout)
	c.composer.SetCommands(c.palette.Names())
	c.view.Reset(about.Human)
	c.welcome = nil
	if about.Info.Turns == 0 {
		c.welcome = c.view.Script.Add(&welcome.Block{About: about, Examples: welcome.Examples(nil)}, false)
	}
	if len(about.AppFiles) > 0 {
		c.view.Note("app: " + strings.Join(about.AppFiles, ", "))
	}
	for _, w := range about.Warnings {
		c.view.Note(w)
	}
	if about.PendingConsent != "" {
		c.view.Note("the app file asks for this, and nobody has accepted it yet:\n" + about.PendingConsent +
			"\ncallgate app trust lets it")
	}
}

// Init loads what happened in the conversation before.
func (c *chat) Init() tea.Cmd { return c.load() }

// load asks for the history of the conversation, or only for its memory if
// nothing was said yet.
func (c *chat) load() tea.Cmd {
	if c.conv.About.Info.Turns == 0 {
		return tea.Batch(loadMemory(c.ctx, c.conv), loadExamples(c), attend(c))
	}
	id := c.conv.About.ID
	return func() tea.Msg {
		h, err := c.opt.Kernel.History(c.ctx, id)
		return historyMsg{id, h, err}
	}
}

// historyMsg brings what happened in a conversation before.
type historyMsg struct {
	id      string
	history protocol.History
	err     error
}

// showHistory shows an earlier conversation, and resumes a turn that was broken off.
func (c *chat) showHistory(m historyMsg) tea.Cmd {
	if m.id != c.conv.About.ID || c.view.Busy() {
		return nil
	}
	if m.err != nil {
		c.view.Fail(m.err)
	}
	for _, text := range c.view.ShowHistory(m.history) {
		c.composer.Remember(text)
	}
	if info := c.conv.About.Info; info.Last == protocol.EndInterrupted {
		c.view.Note("the last turn was interrupted: it goes on")
		c.view.Script.Follow()
		return tea.Batch(c.view.Begin(c.ctx, c.conv.Resume), attend(c))
	}
	return tea.Batch(loadMemory(c.ctx, c.conv), attend(c))
}

// Update handles a message, and then those that the parts posted meanwhile.
func (c *chat) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmds := []tea.Cmd{c.route(msg)}
	for len(c.posted) > 0 {
		next := c.posted[0]
		c.posted = c.posted[1:]
		cmds = append(cmds, c.deliver(next))
	}
	return c, tea.Batch(cmds...)
}

// route handles what the terminal and the commands bring.
func (c *chat) route(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		c.screen.width, c.screen.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return c.key(msg)
	case tea.PasteMsg:
		return c.paste(msg)
	case tea.MouseWheelMsg:
		c.wheel(msg)
	case tea.MouseClickMsg:
		if msg.Button == tea.MouseLeft {
			c.view.Toggle(msg.Y - c.screen.headRows())
		}
	case turnview.Events:
		return c.view.Take(msg)
	case noticeMsg:
		c.view.Note(string(msg))
	case newsMsg:
		return takeNews(c, msg)
	case turnview.Tick:
		return c.tick(msg)
	case turnview.Locks:
		c.view.ShowLocks(msg, c.approvals.Has)
	case cancelledMsg:
		if msg.err != nil || !msg.stopped {
			c.view.Abort(msg.turn)
		}
	case tea.FocusMsg:
		c.alert.Focus(true)
	case tea.BlurMsg:
		c.alert.Focus(false)
	case historyMsg:
		return c.showHistory(msg)
	case memoryMsg:
		if msg.conversation == c.conv.About.ID {
			c.side.Set(msg.memory)
		}
	case promptMsg:
		showPrompt(c, msg)
	case compactedMsg:
		showCompaction(c, msg)
	case conversationsMsg:
		c.pick(msg)
	case openedMsg:
		return c.switchTo(msg)
	default:
		return c.routeToParts(msg)
	}
	return nil
}

// routeToParts gives a message to the part whose command brought it.
func (c *chat) routeToParts(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case examplesMsg:
		showExamples(c, msg)
	case queuedMsg:
		return c.queueAnswered(msg)
	case unqueuedMsg:
		c.unqueued(msg)
	case modelsMsg:
		pickModel(c, msg)
	case modelSetMsg:
		modelWasSet(c, msg)
	case appModeMsg:
		appModeWasSet(c, msg)
	case permissionsMsg:
		showPermissions(c, msg)
	case movedMsg:
		return moved(c, msg)
	default:
		if cmd, ok := c.own.Update(msg); ok {
			return cmd
		}
		if cmd, ok := c.tasks.Update(msg); ok {
			return cmd
		}
		if cmd, ok := c.questions.Update(msg); ok {
			return cmd
		}
		if c.lists.listed(msg) {
			return c.tasks.Count()
		}
		if !c.undo.Update(msg) && !c.proposals.Update(msg) && !c.composer.Update(msg) {
			return c.approvals.Update(msg)
		}
	}
	return nil
}

// deliver handles what a part posted.
func (c *chat) deliver(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case composer.Submit:
		return c.submit(msg)
	case turnview.Asked:
		return tea.Batch(c.approvals.Add(msg.Approval, c.composer.Empty() && c.picker == nil),
			c.callUser(msg.Approval.Call.Tool.Dotted()+" waits for your answer"))
	case turnview.Questioned:
		return c.questioned(msg.Question)
	case owncall.Asked:
		c.post(turnview.Asked{Approval: msg.Approval})
	case owncall.Ended:
		c.approvals.CallEnded(msg.Call)
	case turnview.Taken:
		c.taken(msg)
	case turnview.Settled:
		c.approvals.Settled(msg.Approval)
	case turnview.CallEnded:
		c.approvals.CallEnded(msg.Call.ID)
		c.questions.CallEnded(msg.Call.ID)
		if strings.Contains(msg.Call.Name, "propose_") {
			c.status.Hint = "a proposal waits for you: /proposals"
		}
		if usesMemory(msg.Call) {
			return tea.Batch(loadMemory(c.ctx, c.conv), c.tasks.Count())
		}
		return c.tasks.Count()
	case turnview.Ended:
		c.conv.About.Info = msg.Info
		c.giveBack(msg.Returned)
	case turnview.Over:
		c.approvals.Clear()
		c.questions.Clear()
		return tea.Batch(loadMemory(c.ctx, c.conv), loadPermissions(c), c.turnOver(msg), c.tasks.Count())
	case pickedModelMsg:
		c.picker = nil
		return setModel(c, msg.name)
	case pickedMsg:
		c.picker = nil
		if msg.id != "" {
			return c.open(msg.id)
		}
	case approvals.Answered:
		c.view.Answered(msg)
		c.own.Answered(msg.Call, c.opt.Now())
	case approvals.Interrupt:
		return c.interrupt()
	case approvals.LeftWaiting:
		c.status.Hint = "left waiting; tab goes back to it, and callgate approvals answers it elsewhere"
	case questions.Left:
		c.status.Hint = "left waiting; tab goes back to it, and callgate questions answers it elsewhere"
	case transcript.Note:
		c.view.Script.Add(msg, true)
	}
	return nil
}

// submit runs a command, or sends a text to the agent.
func (c *chat) submit(m composer.Submit) tea.Cmd {
	if line, ok := strings.CutPrefix(m.Text, "!"); ok {
		c.hideWelcome()
		return c.own.Run(strings.TrimSpace(line))
	}
	run, ok := c.palette.Find(m.Text)
	switch {
	case !ok:
		return c.say(m.Shown, m.Text)
	case run == nil:
		c.view.Script.Follow()
		c.view.Bad("there is no command /" + palette.Word(m.Text) + "; /help shows them")
		return nil
	}
	c.view.Script.Follow() // to what the command says
	return run(c)
}

// busyHint is shown when something cannot be done during a turn.
const busyHint = "a turn is under way: esc stops it"

// say sends a text to the agent and shows the turn; while one is under way, the
// text is queued for it. shown is the text as the user saw it.
func (c *chat) say(shown, text string) tea.Cmd {
	if c.view.Busy() {
		return c.enqueue(shown, text)
	}
	c.hideWelcome()
	c.view.Script.Add(transcript.UserText(shown), true)
	c.view.Script.Follow()
	conv, prepare := c.conv, c.prepare(text)
	return c.view.Begin(c.ctx, func(ctx context.Context) iter.Seq2[protocol.TurnEvent, error] {
		return func(yield func(protocol.TurnEvent, error) bool) {
			m := prepare(ctx)
			for _, note := range slices.Concat(m.Notes, m.Problems) {
				if !yield(protocol.TurnEvent{Notice: note}, nil) {
					return
				}
			}
			for e, err := range conv.SendMessage(ctx, m.SendMessage) {
				if !yield(e, err) {
					return
				}
			}
		}
	})
}

// tick updates what changes with time while a turn runs.
func (c *chat) tick(m turnview.Tick) tea.Cmd {
	if m.Turn != c.view.Turn {
		return nil
	}
	c.status.Frame++
	c.view.UpdateDurations()
	c.approvals.Expire()
	return tea.Batch(m.Turn.Tick(), c.view.AskLocks(c.ctx, c.opt.Kernel.Locks))
}
