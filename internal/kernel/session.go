package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"callgate/internal/app"
	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/policy"
	"callgate/internal/journal"
	"callgate/internal/registry"
	"callgate/tool"
)

// SessionConfig says where a session works and for whom.
type SessionConfig struct {
	Workspace string // a folder; required
	Named     bool   // the user said which folder
	AppFile   string // default: callgate.yaml in the workspace, when there is one
	Agent     string
	Lane      string
	PID       int    // the process on whose behalf calls are made; default this one
	HumanKey  string // with it, that process may answer what this session asks
	NoWait    bool   // no call waits for a human: it is answered with status waiting, also by what calls it
	// Began is told of each call as its handler starts, with its context.
	Began func(context.Context, tool.Call)
}

// Session makes calls in one workspace, under one app's rules.
type Session struct {
	ID  string
	App *app.App // nil without an app file
	// Warnings is what the session's user should know of its app: rules that
	// name nothing, tools that could not be loaded.
	Warnings []string

	kernel *Kernel
	door   *gate.Caller

	mu        sync.Mutex // orders the last call and the end
	ended     bool
	inFlight  sync.WaitGroup
	calls     int            // how many are in flight
	active    time.Time      // when something last happened
	idle      *time.Timer    // ends a session that its client forgot
	used      map[string]int // calls that went well, by dotted name
	catalogue catalog        // what it searches, as last made
	plans     []planned      // what it was shown, by how it asked
}

// patience is how long a session may lie idle before it is taken for forgotten.
const patience = time.Hour

// OpenSession opens a session.
func (k *Kernel) OpenSession(ctx context.Context, c SessionConfig) (*Session, error) {
	s, err := k.openFor(ctx, c, "s"+strconv.FormatUint(rand.Uint64(), 36))
	if err != nil {
		return nil, err
	}
	s.setUp(ctx)
	return s, nil
}

// register makes a session known, unless the kernel is closing.
func (k *Kernel) register(s *Session) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closing {
		_ = s.door.Root.Close()
		return tool.Errorf("callgate.OpenSession", tool.Unavailable, "the kernel is closing")
	}
	if k.sessions[s.ID] != nil {
		_ = s.door.Root.Close()
		return tool.Errorf("callgate.OpenSession", tool.Conflict, "the session %s is open already", s.ID)
	}
	k.sessions[s.ID] = s
	s.idle = time.AfterFunc(patience, s.Close)
	return nil
}

func (k *Kernel) newSession(ctx context.Context, id string, c SessionConfig, asker approval.Requester) (*Session, error) {
	workspace, root, err := openWorkspace(c.Workspace)
	if err != nil {
		return nil, err
	}
	s := &Session{ID: id, kernel: k, active: time.Now(), used: map[string]int{}}
	s.door = &gate.Caller{
		Principal: tool.Principal{User: k.user, App: filepath.Base(workspace), Agent: c.Agent, Session: id, Lane: c.Lane},
		Workspace: workspace, Root: root, Requester: asker, OnSuccess: s.ran, NoWait: c.NoWait, OnStart: c.Began,
	}
	s.hide(k.hidden())
	if err := k.applyApp(ctx, s, c.AppFile); err != nil {
		_ = root.Close()
		return nil, err
	}
	return s, nil
}

// hide keeps a session's tools out of the kernel's own folders where those lie
// inside the workspace, as they do when somebody works in their home.
func (s *Session) hide(folders []string) {
	for _, folder := range folders {
		full, err := filepath.EvalSymlinks(folder)
		if err != nil {
			continue // it is not there
		}
		rel, err := filepath.Rel(s.door.Workspace, full)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if info, err := os.Stat(full); err == nil {
			s.door.HiddenFiles, s.door.HiddenPaths = append(s.door.HiddenFiles, info), append(s.door.HiddenPaths, full)
		}
	}
}

// applyApp gives a session the rules, the modules and the folders of its app.
func (k *Kernel) applyApp(ctx context.Context, s *Session, path string) error {
	a, f, err := k.loadApp(ctx, s.door.Workspace, path)
	if err != nil || a == nil {
		return err
	}
	s.App = a
	d := s.door
	d.Principal.App, d.Rules, d.AppFile, d.Relaxed = a.ID, a.Rules, a.Path, a.Runtime.Relaxed
	d.DisabledModules = off(a)
	s.Warnings = slices.Clone(a.Warnings)
	s.readSettings(a)
	d.Middleware = care(a)
	if len(a.Dirs) > 0 || len(a.Servers) > 0 {
		d.Scope = gate.Scope(a.Path, d.Workspace)
	}
	if f != nil {
		s.Warnings = append(s.Warnings, f.problems()...)
	}
	s.Warnings = append(s.Warnings, s.serverWarnings()...)
	if text := s.Unaccepted(); text != "" {
		s.Warnings = append(s.Warnings, "this app file wants something done by itself that nobody has accepted yet, so it is left out: "+text+" (callgate app trust)")
	}
	return nil
}

// openWorkspace gives a folder its canonical name and opens it.
func openWorkspace(path string) (string, *os.Root, error) {
	const op = "callgate.OpenSession"
	if path == "" {
		return "", nil, tool.Errorf(op, tool.Invalid, "a session needs a workspace folder")
	}
	full, err := filepath.Abs(path)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	if err != nil {
		return "", nil, tool.Errorf(op, tool.Invalid, "the workspace %s cannot be opened: %w", tool.Truncate(path), err)
	}
	root, err := os.OpenRoot(full)
	if err != nil {
		return "", nil, tool.Errorf(op, tool.Invalid, "the workspace %s cannot be opened: %w", tool.Truncate(path), err)
	}
	return full, root, nil
}

// loadApp reads the app file that is named, or the workspace's own if any, and
// makes its folders of tools known.
func (k *Kernel) loadApp(ctx context.Context, workspace, path string) (*app.App, *folders, error) {
	if path == "" {
		path = filepath.Join(workspace, app.Filename)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, nil, nil
		}
	}
	vars := app.Vars{Workdir: workspace}
	known, err := k.known(ctx, registry.Global)
	if err != nil {
		return nil, nil, err
	}
	a, err := app.LoadWith(path, known, vars)
	if err != nil {
		return nil, nil, err
	}
	scope := gate.Scope(a.Path, workspace)
	if len(a.Dirs) == 0 && len(a.Servers) == 0 && !k.serves(scope) {
		return a, nil, nil
	}
	if err := k.addServers(a, scope); err != nil {
		return nil, nil, err
	}
	f, err := k.addFolders(a, scope)
	if err != nil {
		return nil, nil, err
	}
	if known, err = k.known(ctx, scope); err != nil {
		return nil, nil, err
	}
	if f != nil && a.Runtime.Strict {
		if problems := f.problems(); len(problems) > 0 {
			return nil, nil, tool.Errorf("callgate.OpenSession", tool.Invalid, "%s says runtime.strict, and a tool is bad: %s", a.Path, problems[0])
		}
	}
	a, err = app.LoadWith(path, known, vars) // again, now that the modules of its folders and servers are known
	return a, f, err
}

// known is what an app file may name: the built-in modules, which it turns on
// and off, and all others, which are always on.
func (k *Kernel) known(ctx context.Context, scope string) (app.KnownModules, error) {
	snap, err := k.tools.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	known := app.KnownModules{}
	for t := range snap.View(scope).All() {
		m, ok := known[t.ID.Namespace]
		if !ok {
			m = k.knownModule(t.ID.Namespace)
		}
		m.Actions = append(m.Actions, t.ID.Name)
		known[t.ID.Namespace] = m
	}
	return known, nil
}

// off returns the built-in modules that an app leaves out.
func off(a *app.App) map[string]bool {
	out := map[string]bool{}
	for _, name := range Builtin() {
		if !slices.ContainsFunc(a.Modules, func(m app.Module) bool { return m.Name == name }) {
			out[name] = true
		}
	}
	return out
}

// Session returns an open session.
func (k *Kernel) Session(id string) (*Session, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s := k.sessions[id]; s != nil {
		return s, nil
	}
	return nil, tool.Errorf("callgate.Session", tool.NotFound, "there is no open session %s", tool.Truncate(id)).
		WithHint("open a new one")
}

func (k *Kernel) snapshotSessions() []*Session {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := make([]*Session, 0, len(k.sessions))
	for _, s := range k.sessions {
		all = append(all, s)
	}
	return all
}

// Busy reports whether a session of another process than pid is in the middle
// of something: a call runs, or its client was here a moment ago and may be
// about to make one.
func (k *Kernel) Busy(pid int) bool {
	const moment = 300 * time.Millisecond
	for _, s := range k.snapshotSessions() {
		s.mu.Lock()
		busy := s.calls > 0 || time.Since(s.active) < moment
		s.mu.Unlock()
		if busy && s.door.Requester.PID != pid {
			return true
		}
	}
	return false
}

// Calls returns how many calls are under way.
func (k *Kernel) Calls() int {
	n := 0
	for _, s := range k.snapshotSessions() {
		s.mu.Lock()
		n += s.calls
		s.mu.Unlock()
	}
	return n
}

// Needed reports whether anybody has a session open, or a call runs for which
// nobody waits.
func (k *Kernel) Needed() bool { return k.Sessions() > 0 || k.orphans.Load() > 0 }

// Sessions returns how many sessions are open.
func (k *Kernel) Sessions() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.sessions)
}

// Call makes a call and waits for its end, and for a human where one is asked.
// What goes wrong is told in the result.
func (s *Session) Call(ctx context.Context, name string, args json.RawMessage) *tool.Result {
	return s.Ask(ctx, Ask{Name: name, Args: args})
}

// Ask makes a call as it is described. It ends with ctx, or with the kernel.
func (s *Session) Ask(ctx context.Context, ask Ask) *tool.Result {
	if !s.enter() {
		e := tool.Errorf("callgate.Call", tool.Unavailable, "session %s has ended", s.ID).WithHint("open a new one")
		return &tool.Result{Status: tool.Failure, Summary: e.Error(), Error: e}
	}
	defer s.leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.kernel.ctx, cancel)()
	return s.kernel.door.Call(ctx, s.door, ask)
}

func (s *Session) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.inFlight.Add(1)
	s.calls++
	if s.idle != nil {
		s.idle.Stop()
	}
	return true
}

func (s *Session) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight.Done()
	s.calls--
	s.active = time.Now()
	if s.idle != nil && !s.ended {
		s.idle.Reset(patience)
	}
}

// ran counts a call that went well.
func (s *Session) ran(t *tool.Tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used[t.ID.Dotted()]++
}

// Visible is a tool as a session sees it.
type Visible struct {
	*tool.Tool
	Decision policy.Decision
}

// Tools returns what this session may call, by name. The kernel's own tools,
// by which a model finds the others, are in its Surface.
func (s *Session) Tools(ctx context.Context) ([]Visible, error) {
	tools, err := s.domain(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Visible, len(tools))
	for i, t := range tools {
		list[i] = s.See(t)
	}
	return list, nil
}

// Tool returns the one tool that a name means to this session.
func (s *Session) Tool(ctx context.Context, name string) (Visible, error) {
	snap, err := s.kernel.tools.Snapshot(ctx)
	if err != nil {
		return Visible{}, err
	}
	view := snap.View(s.door.Scope)
	t, err := view.Resolve(name, s.door.CanSee)
	if err == nil && !s.door.CanSee(t) {
		err = view.UnknownError(name, s.door.CanSee)
	}
	if err != nil {
		return Visible{}, err
	}
	return s.See(t), nil
}

// See returns a tool with what this session's rules say of it.
func (s *Session) See(t *tool.Tool) Visible {
	return Visible{t, s.door.Decide(t)}
}

// Workspace returns the session's folder.
func (s *Session) Workspace() string { return s.door.Workspace }

// Process is the process on whose behalf calls are made.
func (s *Session) Process() int { return s.door.Requester.PID }

// Human reports whether the session's own process may answer what it asks.
func (s *Session) Human() bool { return s.door.Requester.Human }

// Close ends the session once its calls have ended. What waits for a human
// goes on waiting.
func (s *Session) Close() {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended = true
	if s.idle != nil {
		s.idle.Stop()
	}
	s.mu.Unlock()

	s.kernel.mu.Lock()
	// One that runs an orphan bears the same id as the session that asked.
	last := s.kernel.sessions[s.ID] == s || s.kernel.sessions[s.ID] == nil
	if last {
		delete(s.kernel.sessions, s.ID)
		delete(s.kernel.talks, s.ID)
	}
	s.kernel.mu.Unlock()
	s.inFlight.Wait()
	if last {
		s.kernel.Approvals.EndSession(s.ID)
		s.kernel.letGo(s.ID)
	}
	_ = s.door.Root.Close()
}

// endOrphan ends a call that nobody waits for, once a human has answered: it
// runs, in a session like its own, or its refusal is put on record.
func (k *Kernel) endOrphan(r approval.Request) {
	if !k.Approvals.Reserve(r.ID) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closing {
		return // an approved one is run at the next start
	}
	k.orphans.Add(1)
	k.running.Go(func() {
		defer k.orphans.Add(-1)
		s, err := k.sessionFor(k.ctx, r)
		if err != nil {
			k.log.Error("an answered call cannot be ended", "call", r.Call.ID, "tool", r.Call.Tool, "error", err)
			_ = k.Journal.Append(journal.Record{Kind: journal.Noted, Call: r.Call.ID, Tool: r.Call.Tool.String(), Note: "answered, but it cannot go on: " + err.Error()})
			return
		}
		defer s.Close()
		s.kernel.door.Resume(k.ctx, s.door, r)
	})
}

// sessionFor opens a session like the one that asked, for one call.
func (k *Kernel) sessionFor(ctx context.Context, r approval.Request) (*Session, error) {
	p := r.Call.Principal
	return k.newSession(ctx, p.Session, SessionConfig{Workspace: r.Workspace, AppFile: r.AppFile, Agent: p.Agent, Lane: p.Lane}, r.Asker)
}

// resumeApproved takes up calls that were approved and never begun. One that
// did begin is the journal's: it ended, or it is in doubt.
func (k *Kernel) resumeApproved(ctx context.Context) error {
	approved, err := k.Approvals.List(ctx, approval.Approved, 0)
	if err != nil {
		return err
	}
	for _, r := range approved {
		begun, err := k.Journal.Read(ctx, journal.Query{Call: r.Call.ID, Kind: journal.Begun, Limit: 1})
		if err != nil {
			return err
		}
		if len(begun) > 0 {
			if err := k.Approvals.MarkUsed(ctx, r.ID); err != nil {
				return err
			}
			continue
		}
		if patience := r.Deadline.Sub(r.AskedAt); time.Since(r.Answer.At) > patience {
			// The yes was to a question of another day.
			if err := k.Approvals.Withdraw(ctx, r.ID); err != nil {
				return err
			}
			continue
		}
		k.endOrphan(r)
	}
	return nil
}
