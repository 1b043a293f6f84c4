package callgate

import (
	"cmp"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"callgate/internal/agent"
	"callgate/internal/agent/filter"
	"callgate/internal/agent/prompt"
	"callgate/internal/agent/session"
	"callgate/internal/agent/surface"
	"callgate/internal/app"
	"callgate/internal/arbiter"
	"callgate/internal/arbiter/approval"
	"callgate/internal/provider/offline"
	"callgate/internal/search"
	"callgate/llm"
	"callgate/tool"
)

// Conversation is a session in which an agent of the app makes the calls. It
// survives its process: see OpenConversation.
//
// One turn runs at a time. A conversation that is opened again, by another
// client, is taken over from the first, unless a turn is under way there.
type Conversation struct {
	*Session
	Agent app.Agent
	Brain BrainInfo
	Plan  *surface.Plan

	log  *session.Log
	loop *agent.Loop
	room compacting

	telling    sync.Once // guards the next two
	tools      []prompt.Tool
	categories []prompt.Category

	mu      sync.Mutex // guards the turn
	cancel  context.CancelFunc
	asked   func(approval.Request)
	ended   chan struct{} // closed when the turn under way has ended
	notices []string
	jobs    []*job // of the core lane
}

// nobody is the agent of an app that declares none.
func nobody() app.Agent { return app.Agent{ID: "main", Role: "assistant"} }

// OpenConversation begins a conversation with an agent or, with the ID of an
// earlier one, takes that up where it was left: in its folder, with its app and
// its agent.
func (k *Kernel) OpenConversation(ctx context.Context, c SessionConfig, id string) (*Conversation, error) {
	var log *session.Log
	var err error
	if id != "" {
		k.takingUp.Lock() // of two who take one up, the second takes it from the first
		defer k.takingUp.Unlock()
		if log, err = session.Open(ctx, k.talkStore(), id); err != nil {
			return nil, err
		}
		info := log.Info()
		c.Workspace, c.AppFile, c.Agent, c.Lane = info.Workspace, info.AppFile, info.Agent, info.Lane
		if err := k.takeOver(id); err != nil {
			return nil, err
		}
	}
	if id == "" {
		id = "t" + strconv.FormatUint(rand.Uint64(), 36)
		if c, err = k.workdir(ctx, c); err != nil {
			return nil, err
		}
	}
	s, err := k.openFor(ctx, c, id)
	if err != nil {
		return nil, err
	}
	talk, err := k.converse(ctx, s, c.Agent, log)
	if err != nil {
		s.Close()
		return nil, err
	}
	if log != nil && s.door.Principal.Lane == edgeLane {
		if err := talk.takeUpJobs(ctx); err != nil {
			talk.Close()
			return nil, err
		}
	}
	return talk, nil
}

// workdir decides in which folder a conversation works, as its app wants it: in
// the one that was named, the app's own, a fixed one, or none, which is an empty
// one.
func (k *Kernel) workdir(ctx context.Context, c SessionConfig) (SessionConfig, error) {
	const op = "callgate.OpenConversation"
	a, _, err := k.loadApp(ctx, c.Workspace, c.AppFile)
	if err != nil || a == nil {
		return c, err
	}
	c.AppFile = a.Path
	switch a.Runtime.WorkdirMode {
	case "required":
		if !c.Named {
			return c, tool.Errorf(op, tool.Invalid, "the app %s wants to be told in which folder it works", a.ID).WithHint("name it: callgate -C FOLDER run …")
		}
	case "fixed":
		c.Workspace = a.Runtime.Workdir
		if !filepath.IsAbs(c.Workspace) {
			c.Workspace = filepath.Join(filepath.Dir(a.Path), c.Workspace)
		}
	case "none":
		cache, err := os.UserCacheDir()
		if err != nil {
			cache = os.TempDir()
		}
		c.Workspace = filepath.Join(cache, "callgate", "empty")
		if err := os.MkdirAll(c.Workspace, 0o700); err != nil {
			return c, tool.Errorf(op, tool.Unavailable, "an empty folder cannot be made: %w", err)
		}
	}
	return c, nil
}

// openFor opens a session under an ID of its own.
func (k *Kernel) openFor(ctx context.Context, c SessionConfig, id string) (*Session, error) {
	if c.PID == 0 {
		c.PID = os.Getpid()
	}
	human := k.Approvals.Human(c.HumanKey)
	if c.HumanKey != "" && !human {
		return nil, tool.Errorf("callgate.OpenSession", tool.Denied, "the human's key is not the one of this kernel")
	}
	s, err := k.newSession(ctx, id, c, approval.Asker{PID: c.PID, Human: human})
	if err != nil {
		return nil, err
	}
	if err := k.register(s); err != nil {
		return nil, err
	}
	return s, nil
}

// takeOver ends the session in which a conversation is open, if it is.
func (k *Kernel) takeOver(id string) error {
	k.mu.Lock()
	open, talk := k.sessions[id], k.talks[id]
	k.mu.Unlock()
	if talk != nil && talk.running() {
		return tool.Errorf("callgate.OpenConversation", tool.Conflict, "a turn of the conversation %s is under way", id).
			WithHint("wait for it, or stop it: callgate sessions cancel %s", id)
	}
	switch {
	case talk != nil:
		talk.Close()
	case open != nil:
		open.Close()
	}
	return nil
}

// converse gives a session its agent.
func (k *Kernel) converse(ctx context.Context, s *Session, name string, log *session.Log) (*Conversation, error) {
	talk := &Conversation{Session: s}
	var err error
	if talk.Agent, err = s.agent(name); err != nil {
		return nil, err
	}
	s.door.Principal.Agent = talk.Agent.ID
	s.door.Only = only(talk.Agent)
	s.door.Asked = talk.wasAsked
	s.setUp(ctx)
	for _, b := range slices.Concat(brains(talk.Agent), summaryBrains(s.App)) {
		if text := speaksTo(b); text != "" && !k.consented(s.App) {
			return nil, tool.Errorf("callgate.OpenConversation", tool.Denied, "the app wants to %s, and nobody has accepted that yet", text).
				WithHint("look at it, and accept it with: callgate app trust")
		}
	}
	if len(talk.Agent.Lanes) > 0 && s.door.Principal.Lane == "" {
		s.door.Principal.Lane = edgeLane
	}
	asked := brainOf(talk.Agent, s.door.Principal.Lane)
	brain, info, err := k.brain(asked, s)
	if err != nil {
		return nil, err
	}
	talk.Brain = info
	if talk.Plan, err = s.Surface(ctx, SurfaceConfig{Window: info.Window}); err != nil {
		return nil, err
	}
	cfg, err := talk.config(brain)
	if err == nil {
		err = talk.keepWithin(&cfg, asked)
	}
	if err != nil {
		return nil, err
	}
	if talk.log = log; log == nil {
		if talk.log, err = session.Create(ctx, k.talkStore(), session.Info{
			ID: s.ID, App: s.door.Principal.App, AppFile: s.door.AppFile, Agent: talk.Agent.ID, Lane: s.door.Principal.Lane, Workspace: s.Workspace(), User: k.user,
		}); err != nil {
			return nil, err
		}
	}
	cfg.Log = talk.log
	talk.loop = agent.New(cfg)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.talks[s.ID] = talk
	return talk, nil
}

// findFor finds tools for the offline brain: those that its words mean, and
// none where nothing answers them well.
func (s *Session) findFor(ctx context.Context, words string) []offline.ToolMatch {
	answer, err := s.Search(ctx, search.Request{Queries: []string{words}, Limit: 5})
	if err != nil || len(answer.Answers) == 0 || len(answer.Unmatched) > 0 {
		return nil
	}
	found := []offline.ToolMatch{}
	for _, h := range answer.Answers[0].Hits {
		found = append(found, offline.ToolMatch{Name: h.Tool.ID.Dotted(), Schema: h.Tool.Spec.Input})
	}
	return found
}

// isTool reports whether a name, as a model may write it, is a tool's.
func (s *Session) isTool(name string) bool {
	_, err := s.Tool(s.kernel.ctx, name)
	return err == nil
}

// agent finds the agent that is spoken to.
func (s *Session) agent(name string) (app.Agent, error) {
	if s.App == nil || len(s.App.Agents) == 0 {
		return nobody(), nil
	}
	name = cmp.Or(name, s.App.Runtime.Entry, s.App.Agents[0].ID)
	var known []string
	for _, a := range s.App.Agents {
		if a.ID == name {
			return a, nil
		}
		known = append(known, a.ID)
	}
	return app.Agent{}, tool.Errorf("callgate.OpenConversation", tool.NotFound, "the app has no agent %q", tool.Clip(name)).
		WithHint("its agents are %s", strings.Join(known, ", "))
}

// only is what an agent may use of its app's modules.
func only(a app.Agent) map[string][]string {
	if a.Modules == nil {
		return nil
	}
	out := map[string][]string{}
	for _, m := range a.Modules {
		out[m.Name] = m.Actions
	}
	return out
}

// config is the loop's, without its log.
func (c *Conversation) config(brain *agent.Brain) (agent.Config, error) {
	cfg := agent.Config{
		Brain: brain, Tools: c, Notes: c.takeNotices, More: c.awaitJobs,
		System: func() string { return c.Prompt().Text() },
	}
	for _, e := range c.Plan.Shown {
		cfg.Offer = append(cfg.Offer, llm.ToolDef{Name: e.Name, Description: e.Description, Schema: e.Schema})
	}
	if c.App == nil {
		return cfg, nil
	}
	cfg.MaxTurns, cfg.Timeout = cmp.Or(c.Agent.MaxIterations, c.App.Runtime.MaxTurns), c.App.Runtime.Timeout
	words, err := filter.New(filterRules(c.App.Middleware))
	if words != nil {
		cfg.Input, cfg.Output = words.Input, words.Output
	}
	return cfg, err
}

// filterRules are the app's middleware around what is said.
func filterRules(all []app.Middleware) []filter.Rule {
	var rules []filter.Rule
	for _, m := range all {
		switch m.Kind {
		case "mask_secrets":
			rules = append(rules, filter.Rule{Mask: slices.Concat(filter.Secrets(), m.Patterns), Input: true, Output: true})
		case "content_filter":
			rules = append(rules, filter.Rule{Block: m.Patterns, Input: m.Where != "output", Output: m.Where != "input", Message: m.Message})
		}
	}
	return rules
}

// Say has the agent answer. It returns when the turn has ended, and how. watch
// and asked are told what happens meanwhile; asked of each question for a human.
func (c *Conversation) Say(ctx context.Context, words llm.Message, watch agent.Watch, asked func(approval.Request)) (session.End, error) {
	return c.turn(ctx, watch, asked, func(ctx context.Context, watch agent.Watch) (session.End, error) {
		return c.loop.Turn(ctx, words, watch)
	})
}

// Resume takes up a turn that was broken off.
func (c *Conversation) Resume(ctx context.Context, watch agent.Watch, asked func(approval.Request)) (session.End, error) {
	return c.turn(ctx, watch, asked, c.loop.Resume)
}

func (c *Conversation) turn(ctx context.Context, watch agent.Watch, asked func(approval.Request), run func(context.Context, agent.Watch) (session.End, error)) (session.End, error) {
	if !c.enter() {
		return session.End{}, tool.Errorf("callgate.Say", tool.Unavailable, "session %s has ended", c.ID).WithHint("resume the conversation: callgate sessions resume %s", c.ID)
	}
	defer c.leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.kernel.ctx, cancel)()
	c.mu.Lock()
	if c.cancel != nil {
		c.mu.Unlock()
		return session.End{}, tool.Errorf("callgate.Say", tool.Conflict, "a turn of this conversation is under way").
			WithHint("wait for it, or stop it: callgate sessions cancel %s", c.ID)
	}
	c.cancel, c.asked, c.ended = cancel, asked, make(chan struct{})
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		close(c.ended)
		c.cancel, c.asked = nil, nil
	}()
	return run(ctx, watch)
}

func (c *Conversation) running() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cancel != nil
}

// Cancel stops the turn that is under way and waits until it has stopped. It
// reports whether there was one.
func (c *Conversation) Cancel() bool {
	c.mu.Lock()
	cancel, ended := c.cancel, c.ended
	c.mu.Unlock()
	if cancel == nil {
		return false
	}
	cancel()
	<-ended
	return true
}

// wasAsked passes a question for a human on to whoever watches the turn.
func (c *Conversation) wasAsked(r approval.Request) {
	c.mu.Lock()
	tell := c.asked
	c.mu.Unlock()
	if tell != nil {
		tell(r)
	}
}

// Notify has the model be told something before it is asked again.
func (c *Conversation) Notify(note string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notices = append(c.notices, note)
}

func (c *Conversation) takeNotices() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	notices := c.notices
	c.notices = nil
	return notices
}

// Call makes the calls of the model through the door.
func (c *Conversation) Call(ctx context.Context, calls []session.Call, done func(int, *tool.Result)) []*tool.Result {
	asks := make([]arbiter.Ask, len(calls))
	for i, call := range calls {
		asks[i] = arbiter.Ask{ID: call.ID, Name: call.Name, Args: call.Args}
	}
	return c.kernel.door.CallAll(ctx, c.door, asks, done)
}

// Fate tells what became of a call of an earlier life.
func (c *Conversation) Fate(ctx context.Context, id string) (*tool.Result, bool, error) {
	fate, result, err := c.kernel.door.Fate(ctx, id)
	switch {
	case err != nil || fate == arbiter.NeverRan:
		return nil, false, err
	case fate == arbiter.HasEnded:
		return result, true, nil
	case fate == arbiter.IsInDoubt:
		e := tool.Errorf("callgate.Resume", tool.InDoubt, "the kernel died while this call ran: it may or may not have happened").
			WithHint("look before you repeat it")
		return &tool.Result{Status: tool.Failure, Summary: e.Error(), Error: e, Call: id}, true, nil
	default:
		result, err := c.kernel.door.Collect(ctx, id)
		return result, true, err
	}
}

// Info is the conversation as a list shows it.
func (c *Conversation) Info() session.Info { return c.log.Info() }

// Conversation returns an open conversation.
func (k *Kernel) Conversation(id string) (*Conversation, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if talk := k.talks[id]; talk != nil {
		return talk, nil
	}
	return nil, tool.Errorf("callgate.Conversation", tool.NotFound, "there is no open conversation %s", tool.Clip(id)).
		WithHint("callgate sessions list shows all; callgate sessions resume takes one up")
}
