package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"callgate/internal/agent/surface"
	"callgate/internal/artifact"
	"callgate/internal/control"
	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/lock"
	"callgate/internal/journal"
	"callgate/internal/provider"
	"callgate/internal/registry"
	"callgate/internal/sandbox"
	"callgate/internal/secret"
	"callgate/internal/source/mcp"
	"callgate/internal/source/mcp/trust"
	"callgate/internal/statedir"
	"callgate/internal/storage"
	"callgate/internal/version"
	"callgate/tool"
)

// Kernel is the running engine: it holds a state directory, the tools, the
// locks, the approvals and the journal. Close it to let go.
type Kernel struct {
	Journal   *journal.Journal
	Live      *journal.OutputBus
	Approvals *approval.Queue
	Locks     *lock.Table
	Artifacts *artifact.Store
	State     *statedir.Held

	door     *gate.Gate
	tools    registry.Registry
	secrets  *secret.Vault
	hub      *mcp.Manager
	trust    *trust.Store
	planner  surface.Planner
	log      *slog.Logger
	database storage.Driver
	helpers  *sandbox.Helpers
	user     string
	humanKey string
	asks     atomic.Pointer[Elicit] // who carries the questions of MCP servers to a human

	mu        sync.Mutex
	folders   map[string]*folders // by app file
	sessions  map[string]*Session
	finding   sync.Mutex         // guards finders; taken before mu
	finders   map[string]*finder // by how an app searches
	talks     map[string]*Conversation
	modules   []*opened              // those that ship with the kernel, in their order
	upstreams map[string][]*upstream // MCP servers, by the scope that has them
	models    provider.Pool
	takingUp  sync.Mutex // held while a conversation is taken up
	closing   bool
	orphans   atomic.Int64   // how many there are of
	running   sync.WaitGroup // calls that no session waits for
	ctx       context.Context
	cancel    context.CancelFunc
}

// Open takes the state directory and starts a kernel in it. A directory that
// another process holds is a Conflict: be its client instead.
func Open(ctx context.Context, cfg Config) (*Kernel, error) {
	dir, err := stateDir(cfg.State)
	if err != nil {
		return nil, err
	}
	held, err := dir.Hold()
	if err != nil {
		return nil, err
	}
	k := &Kernel{
		State: held, helpers: sandbox.NewHelpers(), Locks: lock.New(), Live: &journal.OutputBus{}, log: cfg.Log, user: userName(),
		sessions: map[string]*Session{}, talks: map[string]*Conversation{}, folders: map[string]*folders{}, finders: map[string]*finder{}, upstreams: map[string][]*upstream{},
	}
	if k.log == nil {
		k.log = slog.New(slog.DiscardHandler)
	}
	k.ctx, k.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := k.open(ctx, cfg); err != nil {
		return nil, errors.Join(err, k.Close())
	}
	return k, nil
}

func stateDir(path string) (statedir.Dir, error) {
	if path == "" {
		return statedir.Default()
	}
	return statedir.At(path)
}

// open wires the house, lowest floor first.
func (k *Kernel) open(ctx context.Context, cfg Config) error {
	var err error
	// First of all, so that a directory of a newer Callgate is left as it was.
	if k.database, err = openStorage(ctx, cfg.Storage, k.State.Dir); err != nil {
		return err
	}
	if k.humanKey, err = k.State.HumanKey(); err != nil {
		return err
	}
	if k.secrets, err = secret.Open(k.State.Secrets()); err != nil {
		return err
	}
	k.log = slog.New(k.secrets.LogHandler(k.log.Handler()))
	if err := k.secrets.Problem(); err != nil {
		k.log.Warn("the secret store cannot be used now", "error", err)
	}
	k.Artifacts = artifact.New(k.database.Stores().Blobs)
	k.Journal, err = journal.Open(ctx, k.database.Stores().Journal, journal.Options{
		Anchor: k.State.Anchor(), KeyFile: k.State.JournalKey(), Kernel: version.Version,
	})
	if err != nil {
		return err
	}
	if err := k.openServers(); err != nil {
		return err
	}
	// The desk and the door need each other: the desk's hooks look the door up
	// when they run, and none runs before it is started.
	k.Approvals = approval.New(k.database.Stores().Approvals, approval.Options{
		Key: k.humanKey, Kernel: os.Getpid(), Lineage: cfg.Lineage,
		Check: func(ctx context.Context, r approval.Request, args json.RawMessage) error {
			return k.door.CheckEdit(ctx, r, args)
		},
		OnSettled:  func(ctx context.Context, r approval.Request) { k.door.RecordAnswer(ctx, r) },
		OnOrphaned: k.endOrphan,
	})
	k.door = gate.New(gate.Config{
		Tools: &k.tools, Journal: k.Journal, Locks: k.Locks, Approvals: k.Approvals,
		Artifacts: k.Artifacts, Secrets: k.secrets, Output: k.Live, Limits: cfg.Limits,
	})
	if err := k.openModules(); err != nil {
		return err
	}
	if err := k.Register(control.Namespace, control.Tools(k.sight)...); err != nil {
		return err
	}
	if err := k.Register("agents", k.agentTools()...); err != nil {
		return err
	}
	if err := k.Register("embedder", cfg.Tools...); err != nil {
		return err
	}
	return k.recover(ctx)
}

// hidden is what no process that a tool starts may ever see: the kernel's
// state, with the human's key in it, and its socket.
func (k *Kernel) hidden() []string {
	return []string{k.State.String(), filepath.Dir(k.State.Socket())}
}

// recover takes up what an earlier life of the kernel left unfinished: calls
// in doubt, and calls that were approved and never begun.
func (k *Kernel) recover(ctx context.Context) error {
	fresh, err := k.Journal.Recover(ctx)
	if err != nil {
		return err
	}
	open, err := k.Journal.Doubts(ctx)
	if err != nil {
		return err
	}
	for _, d := range open {
		k.log.Warn("a call is in doubt: it began, and its end was never recorded", "call", d.Call, "tool", d.Tool)
		proposal, err := k.door.LoadDoubtful(ctx, d)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(fresh, func(f journal.Record) bool { return f.Call == d.Call }) {
			k.retry(d.Call, proposal)
		} else {
			k.door.NotifyDoubt(proposal, d.Call)
		}
	}
	if err := k.resumeApproved(ctx); err != nil {
		return err
	}
	return k.Approvals.Start(ctx)
}

// retry makes a call in doubt again, in the background, if that is safe, and
// resolves the doubt when it went well. Else whoever asked is told.
func (k *Kernel) retry(doubted string, p gate.DoubtfulCall) {
	s, err := k.newSession(k.ctx, p.Principal.Session, SessionConfig{
		Workspace: p.Workspace, AppFile: p.AppFile, Agent: p.Principal.Agent, Lane: p.Principal.Lane,
	}, approval.Requester{})
	if err != nil { // its workspace is gone
		k.door.NotifyDoubt(p, doubted)
		return
	}
	if !k.door.CanRetry(k.ctx, s.door, p) {
		k.door.NotifyDoubt(p, doubted)
		s.Close()
		return
	}
	k.running.Go(func() {
		defer s.Close()
		again, done := k.door.Retry(k.ctx, s.door, doubted, p)
		if !done {
			k.door.NotifyDoubt(p, doubted)
			return
		}
		if err := k.Journal.Resolve(k.ctx, doubted, journal.Resolution{Happened: true, By: "the kernel", Retry: again}); err != nil {
			k.log.Error("a doubt cannot be resolved", "call", doubted, "error", err)
		}
	})
}

// Register adds tools under a source's name. A name that is taken is a
// Conflict; a tool that is not fit to publish is reported, not added.
func (k *Kernel) Register(source string, tools ...*tool.Tool) error {
	for _, t := range tools {
		if err := t.Validate(); err != nil {
			return err
		}
	}
	return k.tools.Add(registry.Global, registry.Static{Source: source, List: tools})
}

// Unregister takes a source and its tools away.
func (k *Kernel) Unregister(source string) bool { return k.tools.Remove(source) }

// Tools returns every tool, for whoever asks on the kernel's own behalf.
func (k *Kernel) Tools(ctx context.Context) (*registry.Snapshot, error) {
	return k.tools.Snapshot(ctx)
}

// Collect returns the result of a call that was left waiting, once it ended.
func (k *Kernel) Collect(ctx context.Context, call string) (*tool.Result, error) {
	return k.door.Collect(ctx, call)
}

// Retain drops the journal's epochs that ended before a time, and the
// artifacts older than that which nothing names any more.
func (k *Kernel) Retain(ctx context.Context, before time.Time) (records uint64, artifacts artifact.Usage, err error) {
	drops, err := k.Journal.Prune(ctx, before)
	if err != nil {
		return 0, artifacts, err
	}
	for _, d := range drops {
		records += d.LastSeq - d.FirstSeq + 1
	}
	live := map[string]bool{}
	for ref, err := range k.Journal.Refs(ctx) {
		if err != nil {
			return records, artifacts, err
		}
		live[ref] = true
	}
	artifacts, err = k.Artifacts.DeleteUnused(ctx, func(ref string) bool { return live[ref] }, before)
	return records, artifacts, err
}

// Close cancels what runs, waits until it has stopped and is on record, and
// lets the state go.
func (k *Kernel) Close() error {
	k.mu.Lock()
	k.closing = true
	k.mu.Unlock()
	k.cancel()
	k.running.Wait()
	for _, s := range k.snapshotSessions() {
		s.Close()
	}
	if k.Approvals != nil {
		k.Approvals.Close()
	}
	var errs []error
	errs = append(errs, k.closeModules())
	k.models.Close()
	if k.hub != nil {
		k.hub.Close()
	}
	k.finding.Lock()
	for _, f := range k.finders {
		errs = append(errs, f.index.Close())
	}
	k.finding.Unlock()
	if k.Journal != nil {
		errs = append(errs, k.Journal.Close())
	}
	if k.database != nil {
		errs = append(errs, k.database.Close())
	}
	errs = append(errs, k.State.Release())
	k.helpers.Close() // no helper waits for a command that will not come
	return errors.Join(errs...)
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}
