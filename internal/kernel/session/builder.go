package session

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"

	"callgate/internal/agent/surface"
	"callgate/internal/app"
	"callgate/internal/control"
	"callgate/internal/gate"
	"callgate/internal/gate/appmode"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/policy"
	"callgate/internal/hook"
	"callgate/internal/kernel/apps"
	"callgate/internal/kernel/consent"
	"callgate/internal/kernel/hooks"
	"callgate/internal/kernel/modules"
	"callgate/internal/kernel/skillruns"
	"callgate/internal/kernel/toolview"
	"callgate/tool"
)

// Spec is a session to be built.
type Spec struct {
	ID        string // empty: a new one
	Workspace string // a folder; required, unless Loaded is given
	AppFile   string // default: callgate.yaml in the workspace, when there is one
	Agent     string
	Lane      string
	Requester approval.Requester
	NoWait    bool                   // no call waits for a human: it is answered with status waiting
	Only      map[string][]string    // see gate.Rules
	AppMode   *appmode.Current       // takes more away; nil: nothing
	Profile   string                 // the part of the app that is given; empty: all, or what Only says
	Off       []string               // modules that the session is not given
	Client    *surface.Client        // the MCP client that the session is for; nil: none
	Loaded    *apps.Loaded           // the app, when it was loaded already
	OnAsked   func(approval.Request) // a human is asked, or has answered; must not wait; may be nil
	OnEnd     func()                 // the session has ended; may be nil
	Bounds
	Kept   bool // it is a conversation's, and how often its hooks fired is kept
	Nobody bool // it works without whoever it is for: see toolview.Learner
	Again  bool // for a call of an earlier session: no setup steps, and only what the app gives its agent now
}

// Bounds are what a session has of whom it works for. The zero value is of one that works
// for nobody.
type Bounds struct {
	Above     []string          // agents for which it works: their guards hold for it
	Within    policy.Narrower   // whom it works for: see gate.Rules; nil: nobody
	Guards    func() gate.Hooks // of whom it works for: they may refuse its calls, and have a human asked; nil: none
	RuleFiles []string          // of whom it works for: see gate.Place
}

// Builder builds sessions. All fields are required, but for Hooks, Admit, Enter, WorkIn and Log.
type Builder struct {
	Apps     *apps.Loader
	Gate     Gate
	Views    *toolview.Maker
	Consents *consent.Consents
	Secrets  modules.Secrets
	Table    *Table
	Hooks    *hooks.Engine
	Skills   *skillruns.Table // the skills with states that are under way
	User     string
	Hidden   []gate.PinnedFolder                        // the kernel's own folders, which no tool reaches: see Pin
	Base     context.Context                            // ends with the kernel
	Answers  bool                                       // a human can answer what agents ask
	Token    func(ctx context.Context, id string) error // an error unless the token with an ID still counts

	Admit func() error // why no session of a client is built now; may be nil
	// Enter holds the place of a session among those of its user; may be nil.
	Enter func(context.Context, tool.Principal) (leave func(), err error)
	// WorkIn has this node work in a folder until leave is called, if no other does; may be nil.
	WorkIn func(ctx context.Context, folder string) (leave func(), err error)

	Log *slog.Logger // nil: nothing is logged

	reloading sync.Mutex // held while app files are read again
}

func (b *Builder) log() *slog.Logger {
	if b.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return b.Log
}

// NewID makes the ID of a session.
func NewID(prefix string) string { return prefix + strconv.FormatUint(rand.Uint64(), 36) }

// Open builds a session and publishes it.
func (b *Builder) Open(ctx context.Context, spec Spec) (*Session, error) {
	s, err := b.Build(ctx, spec)
	if err != nil {
		return nil, err
	}
	if err := b.Publish(s, s.Close); err != nil {
		return nil, err
	}
	return s, nil
}

// Publish makes a whole session known, and has it ended by end when it is idle
// for too long. A session that cannot be published is closed.
func (b *Builder) Publish(s *Session, end func()) error {
	if err := b.Table.Publish(s); err != nil {
		s.Close()
		return err
	}
	s.use.endWhenIdle(end)
	return nil
}

// Build makes a session that nobody can find yet: it loads the app, opens the
// workspace, makes the caller and the view, and runs the setup steps.
func (b *Builder) Build(ctx context.Context, spec Spec) (*Session, error) {
	loaded, err := b.load(ctx, spec)
	if err != nil {
		return nil, err
	}
	root, closeFolder, err := b.workIn(ctx, loaded.Workspace)
	if err != nil {
		return nil, err
	}
	spec = spec.in(loaded, b.Table)
	usage := b.Views.NewUsage(toolview.Learner{
		Owner: spec.Requester.Token, Session: spec.ID, Asker: spec.terminal(loaded),
		Nobody: spec.Again || spec.Nobody,
	})
	var detached func() (release func()) // of the session, when there is one
	watch := gate.Observer{
		Succeeded: usage.Count, Asked: spec.OnAsked, Detached: func() (release func()) { return detached() },
	}
	if !spec.Again {
		if err := b.Skills.Open(ctx, spec.ID, spec.Kept); err != nil {
			closeFolder()
			return nil, err
		}
	}
	first, err := b.state(ctx, spec, loaded, root, watch, usage)
	leave := func() {}
	if err == nil {
		leave, err = b.enter(ctx, spec, first)
	}
	if err != nil {
		closeFolder()
		return nil, err
	}
	s := &Session{
		id: spec.ID, gate: b.Gate, base: b.Base, guards: spec.Guards, mode: spec.AppMode, skills: b.Skills,
		token: b.Token,
	}
	s.now.Store(first)
	s.again = func(ctx context.Context, l *apps.Loaded) (*state, error) {
		return b.state(ctx, spec.within(loaded, l), l, root, watch, usage)
	}
	b.Table.hold(s)
	s.use = newUse(func() {
		if spec.OnEnd != nil {
			spec.OnEnd()
		}
		b.Table.unpublish(s)
		leave()
	}, func() {
		s.now.Load().end()
		b.Table.remove(s)
		closeFolder()
	})
	detached = s.use.keep
	if !spec.Again {
		s.setUp(ctx, b.Secrets)
	}
	return s, nil
}

// workIn opens a workspace, in which this node then works until leave is called.
func (b *Builder) workIn(ctx context.Context, folder string) (root *os.Root, leave func(), err error) {
	left := func() {}
	if b.WorkIn != nil {
		if left, err = b.WorkIn(ctx, folder); err != nil {
			return nil, nil, err
		}
	}
	if root, err = os.OpenRoot(folder); err != nil {
		left()
		return nil, nil, tool.Errorf("session.Build", tool.Invalid,
			"the workspace %s cannot be opened: %w", tool.Truncate(folder), err)
	}
	return root, func() { _ = root.Close(); left() }, nil
}

// load loads the app of a session, unless none is built now. What works already goes on with what it needs.
func (b *Builder) load(ctx context.Context, spec Spec) (*apps.Loaded, error) {
	if b.Admit != nil && !spec.Again && !spec.Nobody {
		if err := b.Admit(); err != nil {
			return nil, err
		}
	}
	if spec.Loaded != nil {
		return spec.Loaded, nil
	}
	return b.Apps.Load(ctx, spec.Workspace, spec.AppFile)
}

// enter holds the place of a session among those of its user. One that works for another has its place with that.
func (b *Builder) enter(ctx context.Context, spec Spec, first *state) (leave func(), err error) {
	if b.Enter == nil || spec.Again || spec.Nobody || spec.Within != nil {
		return func() {}, nil
	}
	leave, err = b.Enter(ctx, first.caller.Principal())
	if err != nil {
		first.end()
	}
	return leave, err
}

// state makes what a session has of its app files.
func (b *Builder) state(
	ctx context.Context, spec Spec, l *apps.Loaded, root *os.Root, watch gate.Observer, usage *toolview.Usage,
) (*state, error) {
	how := b.how(l)
	how.AppMode = spec.AppMode
	set := b.hooks(ctx, &spec, l)
	follow := &latest{builder: b, spec: spec, was: l}
	caller, err := b.caller(spec, follow, root, watch, &how, set)
	if err != nil {
		set.End()
		return nil, err
	}
	return &state{
		loaded: l, warnings: slices.Clone(l.Warnings), caller: caller, view: b.Views.New(caller, usage, how), hooks: set, latest: follow,
		limits: Limits{Profile: spec.Profile, Only: spec.Only, Off: notGiven(spec, l)},
	}, nil
}

// in returns the spec with an ID, and that of a call of an earlier session within what its
// app gives its agent now.
func (s Spec) in(l *apps.Loaded, t *Table) Spec {
	if s.ID == "" {
		s.ID = t.newID()
	}
	if !s.Again || l.App == nil {
		return s
	}
	for _, a := range l.App.Agents {
		if a.ID == s.Agent {
			s.Only = appmode.Intersect(s.Only, a.Only())
		}
	}
	return s
}

// BareSpec is a caller in a folder that has no app.
type BareSpec struct {
	Folder    string
	Identity  gate.Identity
	Scope     string   // whose tools it has
	RuleFiles []string // see gate.Place
	OnAsked   func(approval.Request)
}

// Bare makes a caller without an app: no rules, no modules. It is for what the kernel does
// itself because a human wants it. Who has it calls release after the last call.
func (b *Builder) Bare(spec BareSpec) (c *gate.Caller, release func(), err error) {
	root, err := os.OpenRoot(spec.Folder)
	if err != nil {
		return nil, nil, tool.Errorf("session.Bare", tool.NotFound,
			"the folder %s cannot be opened: %w", tool.Truncate(spec.Folder), err)
	}
	at := gate.Place{Workspace: spec.Folder, Root: root, Scope: spec.Scope, RuleFiles: spec.RuleFiles}
	if err = hide(&at, b.Hidden); err == nil {
		c, err = gate.NewCaller(spec.Identity, at, gate.Rules{}, gate.Modules{}, gate.Observer{Asked: spec.OnAsked})
	}
	if err != nil {
		_ = root.Close()
		return nil, nil, err
	}
	return c, func() { _ = root.Close() }, nil
}

func (b *Builder) caller(
	spec Spec, follow *latest, root *os.Root, watch gate.Observer, how *toolview.How, set *hooks.Set,
) (caller *gate.Caller, err error) {
	l := follow.was
	id := gate.Identity{
		Principal: tool.Principal{
			User: cmp.Or(spec.Requester.User, b.User), App: l.AppID(), Agent: spec.Agent, Session: spec.ID, Lane: spec.Lane,
		},
		Requester: spec.Requester, NoWait: spec.NoWait,
	}
	at := gate.Place{Workspace: l.Workspace, Root: root, AppFile: l.AppFile(), Scope: l.Scope}
	if err := hide(&at, b.Hidden); err != nil {
		return nil, err
	}
	rules := gate.Rules{
		Off: off(spec, l), Only: spec.Only, AppMode: spec.AppMode, Within: spec.Within,
		Hooks: guarded(set.Calls(), spec.Guards),
	}
	if spec.Profile != "" {
		profile, err := l.App.Profile(spec.Profile)
		if err != nil {
			return nil, err
		}
		rules.Only, rules.Profile = appmode.Intersect(profile.Only(), spec.Only), profile.Name
		how.Surface.Mode = cmp.Or(profile.Surface, how.Surface.Mode)
	}
	if !spec.Again { // a call that was asked for earlier has the limit of then
		rules.Narrow = func(t *tool.Tool) error { return b.Skills.Narrow(spec.ID, t) }
	}
	at.RuleFiles, at.Readable = append(l.RuleFiles(), spec.RuleFiles...), l.SkillFolders()
	if l.App != nil {
		at.Relaxed, rules.Policy = l.Relaxed(), l.Rules
	}
	follow.hooks = rules.Hooks
	rules.Latest = follow
	if set.Any(hook.ApprovalRequest) {
		watch.Asked = func(r approval.Request) {
			if r.State == approval.Pending { // of an answer the kernel tells
				set.Asked(caller, r)
			}
			if spec.OnAsked != nil {
				spec.OnAsked(r)
			}
		}
	}
	caller, err = gate.NewCaller(id, at, rules, l.Modules, watch)
	return caller, err
}

// hooks makes the hooks of a session.
func (b *Builder) hooks(ctx context.Context, spec *Spec, l *apps.Loaded) *hooks.Set {
	return b.Hooks.For(ctx, hooks.Spec{
		ID: spec.ID, Agent: spec.Agent, App: l.App, Accepted: l.Accepted, Shell: l.Modules.Settings["shell"], Scope: l.Scope,
		Kept: spec.Kept, Above: spec.Above,
	})
}

// off returns the modules that a session does not have: those that the app leaves
// out, and those that the session is not given.
func off(spec Spec, l *apps.Loaded) map[string]bool {
	withheld := notGiven(spec, l)
	if spec.Client != nil || !l.App.GivesAgents(cmp.Or(spec.Agent, " ")) { // no agent has no name
		withheld = append(withheld, app.SpawnModule)
	}
	if len(withheld) == 0 {
		return l.Off
	}
	all := map[string]bool{}
	maps.Copy(all, l.Off)
	for _, name := range withheld {
		all[name] = true
	}
	return all
}

// notGiven returns the modules that a session is asked for without, and the shipped
// ones that its MCP client is not given, by name. What a profile names is meant,
// whoever is the client.
func notGiven(spec Spec, l *apps.Loaded) []string {
	names, c := slices.Clone(spec.Off), spec.Client
	if c == nil {
		return names
	}
	var says surface.Builtin
	if l.App != nil {
		says = l.App.Surface.Builtin
	}
	gives := c.Builtin.Or(says)
	if spec.Profile != "" && gives.Choice == surface.BuiltinAuto {
		gives.Choice = surface.BuiltinAll
	}
	for _, name := range modules.Names() {
		if !gives.Gives(name, c.Name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// how is what the app says of showing and finding its tools. Until a human
// accepts its endpoint or its folder, the built-in model searches in its place.
func (b *Builder) how(l *apps.Loaded) toolview.How {
	var features []string
	if b.Answers {
		features = append(features, control.FeatureQuestions)
	}
	if l.App == nil {
		return toolview.How{Features: append(features, l.Features...), Search: func() app.Search { return app.Search{} }}
	}
	return toolview.How{
		Surface: l.App.Surface, Features: append(features, l.Features...),
		Search: func() app.Search {
			how := l.App.Search
			if !b.Consents.Of(l.App).Has(consent.Search(l.App)) {
				how.Endpoint, how.Model = app.Endpoint{}, ""
			}
			return how
		},
	}
}
