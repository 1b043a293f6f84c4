package conversation

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"callgate/internal/agent"
	"callgate/internal/app"
	"callgate/internal/conversation/admission"
	"callgate/internal/conversation/fitting"
	"callgate/internal/conversation/history"
	"callgate/internal/conversation/keyedmutex"
	"callgate/internal/conversation/owed"
	"callgate/internal/conversation/shortcut"
	"callgate/internal/conversation/summarizing"
	"callgate/internal/conversation/turnhooks"
	"callgate/internal/gate/appmode"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/permission"
	"callgate/internal/kernel/apps"
	"callgate/internal/kernel/consent"
	"callgate/internal/kernel/modelset"
	"callgate/internal/kernel/modules"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/tasks"
	"callgate/internal/task"
	"callgate/llm"
	"callgate/tool"
)

// Runner runs durable tasks.
type Runner interface {
	HandleStarted(kind string, h tasks.Handler)
	Start(ctx context.Context, t task.Task) (task.Task, error)
	Cancel(ctx context.Context, id, by string) error
	Wait(ctx context.Context, id string) error
}

// Options is what a Manager needs of the kernel.
type Options struct {
	Apps      *apps.Loader
	Sessions  *session.Builder
	Models    *modelset.Opener
	Modules   *modules.Set
	Consents  *consent.Consents
	Approvals fitting.Approvals
	// Permissions are those of the sessions; nil: only the rules count.
	Permissions *permission.Table
	Store       history.Store
	Deleter     history.Deleter
	Tasks       task.Store
	Runner      Runner
	Told        Told // of the ends of tasks of some kinds
	Record      summarizing.Record
	User        string

	Instructions string              // the user's own file of instructions; "": none
	Scrub        func(string) string // takes secrets out of a text; may be nil
	Now          func() time.Time    // may be nil

	Go         func(func(context.Context)) bool // runs work in the background, unless the kernel closes
	ShortLived bool                             // no conversation goes on without a client
	Log        *slog.Logger
}

// Told is how models are told of the ends of tasks of some kinds, and what those are. Its maps may be nil.
type Told struct {
	Texts map[string]owed.Words
	Spent map[string]owed.Spent
	// Closed are kinds whose tasks end with the conversation when its client closes it.
	Closed []string
}

// Manager holds the conversations of a kernel. Make one with NewManager.
type Manager struct {
	Options
	admitter *admission.Admitter
	opening  keyedmutex.Mutex // two clients that open one conversation come one after the other
	headless *headless

	mu   sync.Mutex
	open map[string]*Conversation
}

// NewManager makes a manager.
func NewManager(o Options) *Manager {
	m := &Manager{Options: o, open: map[string]*Conversation{}}
	m.admitter = &admission.Admitter{Apps: o.Apps, Store: o.Store, User: o.User, Open: m.attended}
	m.headless = &headless{Manager: m, waking: map[string]bool{}, held: map[string]int64{}}
	o.Runner.HandleStarted(coreTask, m.runTask)
	return m
}

// Spec is a conversation to be opened.
type Spec struct {
	Resume    string // the ID of an earlier one; it has its own folder, app, agent and lane
	Continue  bool   // without Resume: the last one with this app in this folder
	Leaves    string // the ID of one that its client then closes: it counts no more
	Workspace string
	Named     bool // the user named the workspace
	AppFile   string
	Agent     string
	Lane      string
	Requester approval.Requester
	Model     llm.Model   // in place of the app's; may be nil
	Limit     agent.Limit // of what all turns may cost from now on
	// KeepRunning says that a turn goes on when its client is gone.
	KeepRunning bool
	// Child says that it works for another conversation; nil: for its user.
	Child *Child

	loaded   *apps.Loaded           // its app
	task     bool                   // it works for another conversation, in that one's folder
	headless bool                   // it has no client
	appMode  string                 // of a new one that works for another: that one's
	id       string                 // of a new one
	only     map[string][]string    // limits it further: see session.Spec
	asked    func(approval.Request) // called in place of the turn's watcher; may be nil
}

// Open begins a conversation with an agent or, with the ID of an earlier one, resumes it where it was left.
func (m *Manager) Open(ctx context.Context, spec Spec) (*Conversation, error) {
	ofUser := !spec.task && spec.Child == nil // who works for another does so in its folder
	if spec.Resume == "" && ofUser {
		r := admission.Request{
			Continue: spec.Continue, Workspace: spec.Workspace, Named: spec.Named, AppFile: spec.AppFile, Agent: spec.Agent,
			Headless: spec.headless, User: spec.Requester.User,
		}
		loaded, release, err := m.admitter.Place(ctx, &r)
		if err != nil {
			return nil, err
		}
		defer release()
		spec.loaded, spec.Workspace, spec.AppFile, spec.Resume = loaded, r.Workspace, r.AppFile, r.Resume
	}
	if spec.Resume != "" {
		defer m.opening.Lock(spec.Resume)()
	}
	log, err := m.resumed(ctx, &spec)
	if err == nil && spec.loaded == nil {
		spec.loaded, err = m.Apps.Load(ctx, spec.Workspace, spec.AppFile)
	}
	if err != nil {
		return nil, err
	}
	if ofUser && !spec.headless {
		release, err := m.admitter.Admit(spec.loaded, spec.Requester.User, spec.Lane, spec.Resume, spec.Leaves)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	c, err := m.build(ctx, spec, log)
	if err != nil {
		return nil, err
	}
	if err := m.publish(c); err != nil {
		return nil, err
	}
	if !spec.task {
		c.hooks.Started(ctx, log != nil)
	}
	if log != nil && c.session.Principal().Lane == app.EdgeLane {
		if err := m.resumeCore(ctx, c); err != nil {
			c.release(history.KernelClosed) // its tasks are those of the next opening
			return nil, err
		}
	}
	return c, nil
}

// resumed returns the history of the conversation that a spec resumes, and gives
// the spec its folder, app, agent and lane; nil when it resumes none.
func (m *Manager) resumed(ctx context.Context, spec *Spec) (*history.Log, error) {
	if spec.Resume == "" {
		return nil, nil
	}
	log, err := history.Open(ctx, m.Store, spec.Resume)
	if err != nil {
		return nil, err
	}
	info := log.Info()
	if info.Parent != "" && spec.Child == nil {
		return nil, childError(info)
	}
	spec.Workspace, spec.AppFile, spec.Agent, spec.Lane = info.Workspace, info.AppFile, info.Agent, info.Lane
	return log, admission.CheckUser(&spec.Requester.User, info, spec.headless && spec.Child == nil)
}

// build makes a whole conversation that nobody can find yet. What can fail
// without an effect fails first: the app, the agent, consent, the model and its
// key. Then the former owner's session ends, because modules keep things by the
// session's ID; then the session is built and its setup steps run. The history
// of a new conversation is created last.
func (m *Manager) build(ctx context.Context, spec Spec, log *history.Log) (*Conversation, error) {
	loaded := spec.loaded
	c := &Conversation{
		keeps: spec.KeepRunning, approvals: m.Approvals, limit: spec.Limit, headless: spec.headless,
		user:  spec.Requester.User,
		child: spec.Child, closes: append([]string{coreTask}, m.Told.Closed...), over: make(chan struct{}),
	}
	var err error
	if c.agent, err = admission.Agent(loaded.App, spec.Agent); err != nil {
		return nil, err
	}
	if len(c.agent.Lanes) > 0 && spec.Lane == "" {
		spec.Lane = app.EdgeLane
		if c.child != nil {
			spec.Lane = app.CoreLane // nobody waits for its answer, and it hands on nothing
		}
	}
	model, err := m.openModel(ctx, c, loaded, spec, log)
	if err != nil {
		return nil, err
	}
	if log != nil {
		if err := m.closeOpen(ctx, spec.Resume, spec.headless); err != nil {
			return nil, err
		}
		if log, err = history.Open(ctx, m.Store, spec.Resume); err != nil { // its former owner may have added to it
			return nil, err
		}
	}
	if c.child != nil {
		spec.appMode = c.child.AppMode
	}
	c.newWorkMode(loaded.App, log, spec.appMode)
	asked := c.turn.onAsked
	if spec.asked != nil {
		asked = spec.asked
	}
	asked = c.child.passOn(asked)
	built := session.Spec{
		ID: cmp.Or(spec.Resume, spec.id, session.NewID("t")), Loaded: loaded, Agent: c.agent.ID, Lane: spec.Lane,
		Requester: spec.Requester, Only: appmode.Intersect(c.agent.Only(), spec.only), AppMode: c.leaves,
		OnAsked: asked, OnEnd: func() { m.remove(c) }, Kept: true, Nobody: spec.headless || spec.task || c.child != nil,
	}
	c.child.limit(&built)
	if c.session, err = m.Sessions.Build(ctx, built); err != nil {
		return nil, err
	}
	c.hooks = turnhooks.New(c.session.Hooks(), c.session.Caller(), func() *history.Log { return c.log }, c.Window)
	if !spec.task && !spec.headless {
		c.skills = &shortcut.Skills{Finder: m.Apps.Skills(), Runs: m.Sessions.Skills}
	}
	if err := m.equip(ctx, c, model, log); err != nil {
		c.session.Close()
		return nil, err
	}
	return c, nil
}

// equip gives a conversation its surface, its loop and its history.
func (m *Manager) equip(ctx context.Context, c *Conversation, model *agent.ModelConfig, log *history.Log) (err error) {
	if err := m.present(ctx, c); err != nil {
		return err
	}
	cfg, err := m.loopConfig(c, model)
	if err != nil {
		return err
	}
	if c.log = log; log == nil {
		p := c.session.Principal()
		c.log, err = history.Create(ctx, m.Store, history.Info{
			ID: c.ID(), App: p.App, AppFile: c.session.Loaded().AppFile(), Agent: c.agent.ID, Lane: p.Lane,
			Workspace: c.session.Workspace(), User: p.User, Parent: c.child.parent(),
		})
		if err != nil {
			return err
		}
	}
	c.debts = m.debtsOf(c.ID(), c.log, c.session.App())
	if c.child != nil {
		c.debts.Patience = taskPatience // it takes a single turn, and its answer is of all that it began
	}
	c.opened = c.log.Info().Usage
	m.makeLoop(c, cfg)
	return nil
}

// loopConfig is the configuration of a conversation's loop, for its model and its surface.
func (m *Manager) loopConfig(c *Conversation, model *agent.ModelConfig) (agent.Config, error) {
	cfg, err := c.loopConfig(model)
	if err != nil {
		return cfg, err
	}
	c.config = model
	cfg.InText = func() history.Event { return c.toolsRefused(m.Models) }
	return cfg, m.fit(c, &cfg)
}

// makeLoop makes the loop, on the conversation's history.
func (m *Manager) makeLoop(c *Conversation, cfg agent.Config) {
	cfg.Log, cfg.OpenLimit, cfg.Opened = c.log, c.limit, c.opened
	cfg.Tasks = c.hooks.Notices(owed.NewNotices(c.debts, m.Permissions))
	c.loop = agent.New(cfg)
}

// publish makes a whole conversation and its session known.
func (m *Manager) publish(c *Conversation) error {
	m.mu.Lock()
	m.open[c.ID()] = c
	m.mu.Unlock()
	return m.Sessions.Publish(c.session, c.Close)
}

// remove forgets a conversation whose session has ended. If it needs no client, what it
// is owed has it go on.
func (m *Manager) remove(c *Conversation) {
	m.mu.Lock()
	close(c.over)
	if m.open[c.ID()] == c {
		delete(m.open, c.ID())
	}
	m.mu.Unlock()
	a := c.session.App()
	if c.headless || c.child != nil || a == nil || a.Runtime.Mode != app.Background {
		return
	}
	if token := c.session.Caller().Requester().Token; token != "" && m.Sessions.Token(context.Background(), token) != nil {
		m.headless.hold(c) // what was said with a token that was revoked is not gone on with
		return
	}
	m.headless.wake(c.ID())
}

// closeOpen closes a conversation that is open, unless a turn is under way whose
// client is there. One without a client takes nothing from a client.
func (m *Manager) closeOpen(ctx context.Context, id string, headless bool) error {
	m.mu.Lock()
	c := m.open[id]
	m.mu.Unlock()
	if c == nil {
		return nil
	}
	if headless && !c.headless || !c.turn.abandoned() && !c.turn.idle(ctx) {
		return runningError(id)
	}
	c.release(history.TakenOver)
	return nil
}

// Get returns an open conversation.
func (m *Manager) Get(id string) (*Conversation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.open[id]; c != nil {
		return c, nil
	}
	return nil, tool.Errorf("conversation.Get", tool.NotFound, "there is no open conversation %s", tool.Truncate(id)).
		WithHint("callgate sessions list shows all; callgate sessions resume opens one again")
}

// Delete deletes a conversation, and what modules keep for it. The journal
// stays.
func (m *Manager) Delete(ctx context.Context, id string) error {
	defer m.opening.Lock(id)()
	if err := m.closeOpen(ctx, id, false); err != nil {
		return err
	}
	info, err := m.Store.Get(ctx, id)
	if err != nil {
		return err
	}
	if err := m.debtsOf(id, nil, nil).Forget(ctx); err != nil {
		return err
	}
	if err := deleteChildren(ctx, m, id); err != nil {
		return err
	}
	if err := m.Modules.DeleteConversation(tool.Principal{User: info.User, App: info.App, Session: id}); err != nil {
		return err
	}
	return m.Deleter.Delete(ctx, id)
}

// Close closes all conversations, when the kernel closes. Their tasks were given
// back, and go on when the conversations are opened again.
func (m *Manager) Close() {
	m.mu.Lock()
	all := make([]*Conversation, 0, len(m.open))
	for _, c := range m.open {
		all = append(all, c)
	}
	m.mu.Unlock()
	for _, c := range all {
		c.release(history.KernelClosed)
	}
}
