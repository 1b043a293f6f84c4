package kernel

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"callgate/internal/app/inforce"
	"callgate/internal/artifact"
	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/conversation/instructions"
	"callgate/internal/conversation/summarizing"
	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/detach"
	"callgate/internal/gate/lasting"
	"callgate/internal/gate/lock"
	"callgate/internal/gate/policy"
	"callgate/internal/journal"
	"callgate/internal/journal/outputbus"
	"callgate/internal/kernel/adoption"
	"callgate/internal/kernel/apps"
	"callgate/internal/kernel/background"
	"callgate/internal/kernel/clients"
	"callgate/internal/kernel/consent"
	"callgate/internal/kernel/grants"
	"callgate/internal/kernel/llmtools"
	"callgate/internal/kernel/modelset"
	"callgate/internal/kernel/modules"
	"callgate/internal/kernel/node"
	"callgate/internal/kernel/permissions"
	"callgate/internal/kernel/recovery"
	"callgate/internal/kernel/secrets"
	"callgate/internal/kernel/servers"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/toolview"
	"callgate/internal/kernel/undoing"
	"callgate/internal/registry"
	"callgate/internal/sandbox"
	"callgate/internal/search/learned"
	"callgate/internal/secret"
	"callgate/internal/statedir"
	"callgate/internal/token"
	"callgate/internal/undo"
	"callgate/internal/unfinished"
	"callgate/internal/version"
	"callgate/tool"
)

// Kernel is the running engine. Its exported fields are set by Open and do not change; the faces use them.
type Kernel struct {
	Sessions      *session.Table
	Conversations *conversation.Manager
	Approvals     *approval.Queue
	Journal       *journal.Journal
	Output        *outputbus.Bus // what running calls print
	Artifacts     *artifact.Store
	Locks         *lock.Table
	Tools         *registry.Registry
	Servers       *servers.Set
	Clients       *clients.Table
	Secrets       *secrets.Secrets
	Grants        *grants.Grants
	Permissions   *permissions.Permissions
	Tokens        *Tokens
	Apps          *apps.Loader
	Undo          *undoing.Undoer
	Skills        Skills
	Outside       Outside
	Lasting

	parts
}

// parts is what the kernel owns and nobody else uses.
type parts struct {
	state      *statedir.Held
	log        *slog.Logger
	database   *node.Node
	unfinished *unfinished.Notes
	images     *undo.Store
	helpers    *sandbox.Helpers
	vault      *secret.Vault
	gate       *gate.Gate
	modules    *modules.Set
	models     *modelset.Opener
	consents   *consent.Consents
	indexes    *toolview.Indexes
	builder    *session.Builder
	recovery   *recovery.Recovery
	detach     *detach.Table
	background *background.Group
	user       string
	key        string // the human's; "": nobody has a human's authority
	held       error  // why nothing may be written; nil: all may
	closeOnce  func() error
}

// Open takes the state directory and starts a kernel in it. A directory that
// another process holds is a Conflict: be its client instead.
func Open(ctx context.Context, cfg Config) (*Kernel, error) {
	dir, err := stateDir(cfg.State)
	if err != nil {
		return nil, err
	}
	held, err := hold(dir, cfg)
	if err != nil {
		return nil, err
	}
	k := &Kernel{
		Locks: lock.New(), Output: &outputbus.Bus{}, Tools: &registry.Registry{}, Clients: &clients.Table{},
		parts: parts{
			state: held, log: cfg.Log, user: userName(),
			background: background.New(ctx), helpers: sandbox.NewHelpers(),
		},
	}
	k.closeOnce = sync.OnceValue(k.close)
	if k.log == nil {
		k.log = slog.New(slog.DiscardHandler)
	}
	for _, open := range []func(context.Context, Config) error{k.openStores, k.openGate, k.openParts, k.openTools} {
		if err := open(ctx, cfg); err != nil {
			return nil, errors.Join(err, k.Close())
		}
	}
	if err := k.recover(ctx, cfg); err != nil {
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

// openStores opens what keeps things.
func (k *Kernel) openStores(ctx context.Context, cfg Config) (err error) {
	if err := k.openDatabase(ctx, cfg); err != nil {
		return err
	}
	if err = k.openVault(cfg); err != nil {
		return err
	}
	k.log = slog.New(k.vault.LogHandler(k.log.Handler()))
	if k.unfinished, err = unfinished.Open(k.state.String()); err != nil {
		k.log.Warn("unfinished files of an earlier kernel cannot be removed now", "error", err)
	}
	if err := k.vault.Problem(); err != nil {
		k.log.Warn("the secret store cannot be used now", "error", err)
	}
	k.Artifacts = artifact.New(k.database.Stores().Blobs)
	k.Journal, err = journal.Open(ctx, k.database.Stores().Journal, journal.Options{
		Anchor: k.state.Anchor(), KeyFile: k.state.JournalKey(), Kernel: version.Version, HoldLoss: true, Hold: k.held,
	})
	k.database.Hold(k.Journal.Held) // so that nothing changes that cannot be put on record
	return cmp.Or(err, adoption.OpenShares(k.database, cfg.Shared))
}

// openGate makes the path of a call.
func (k *Kernel) openGate(ctx context.Context, cfg Config) (err error) {
	k.Approvals = approval.New(k.database.Stores().Approvals, approval.Options{
		Key: k.key, Kernel: os.Getpid(), Lineage: cfg.Lineage,
	})
	k.Tokens = &Tokens{
		store: token.NewStore(k.database.Stores().Documents), approvals: k.Approvals, askers: k.askers,
		journal: k.Journal, user: k.user, key: k.key, unread: k.database.Unread(),
		Users: openUsers(k, cfg),
	}
	openSecrets(ctx, k)
	k.Grants, err = grants.Open(ctx, grants.Options{
		Documents: k.database.Stores().Documents, Approvals: k.Approvals, Journal: k.Journal, Secrets: k.vault,
		User: k.user, Log: k.log, Askers: k.askers, Unread: k.database.Unread(),
		Nodes: lasting.Nodes{Several: k.database.IsShared(), Account: k.user, IsShared: isSharedApp(k)},
	})
	if err != nil {
		return err
	}
	if k.images, err = openImages(k, cfg); err != nil {
		return err
	}
	k.Permissions = permissions.New(permissions.Options{
		Approvals: k.Approvals, Journal: k.Journal, Secrets: k.vault, User: k.user,
	})
	k.detach = detach.New(k.background.Context(), k.Output)
	k.gate = gate.New(gate.Config{
		Tools: k.Tools, Journal: k.Journal, Locks: k.database.Locks(k.Locks), Rates: &policy.Limiter{},
		Approvals: k.Approvals, Artifacts: k.Artifacts, Secrets: k.vault, Output: k.Output, Limits: cfg.Limits,
		Detach:  k.detach,
		Lasting: k.Grants.Store, Permissions: k.Permissions.Table, Unfinished: k.unfinished.Name,
		Images: k.images, Act: act(k), Stopped: k.database.Stopped, Count: k.Tokens.Users.Limits.Count,
		Room: statedir.NewReserve(string(k.state.Dir)).Check,
	})
	return nil
}

// openParts makes what decides about apps, sessions and conversations.
func (k *Kernel) openParts(ctx context.Context, cfg Config) (err error) {
	trusted, err := servers.OpenTrust(ctx, k.database.Stores().Documents, k.state.Servers(), k.Journal.Held() == nil)
	if err != nil {
		return err
	}
	k.consents = consent.New(trusted)
	k.consents.Among(amongNodes(k))
	userFile := cmp.Or(cfg.UserFile, inforce.UserFile(os.Getenv))
	if err := openSkills(k, cfg, trusted, userFile); err != nil {
		return err
	}
	k.Servers, err = servers.Open(servers.Options{
		Dir: k.state.Servers(), Machine: k.serverMachine(userFile), Trust: trusted,
		Logins: servers.OpenLogins(ctx, k.database.Stores().Documents, k.vault, k.state.Servers(), k.log),
		Tools:  k.Tools, Secrets: k.vault, Log: k.log, Client: k.Clients.ClientOf, Go: k.background.Go,
		Store: func(ctx context.Context, data []byte) (string, error) {
			return k.Artifacts.Put(ctx, k.vault.Scrub(data))
		},
	})
	if err != nil {
		return err
	}
	k.models = modelOpener(k)
	openTasks(k, cfg)
	llm := llmtools.Options{Opener: k.models, Check: checkModel(k), Line: checkLine(k), Hooks: cfg.LLMHooks}
	needs := modules.Config{Memories: llm.ForMemory(appOf(k)), Bases: node.KnowledgeBases(k.database)}
	if k.modules, err = modules.Open(k.vault, needs, k.moduleHost, publisher(k.Tools)); err != nil {
		return err
	}
	k.Apps = apps.New(apps.Options{
		Tools: k.Tools, Servers: k.Servers, Consents: k.consents, Hidden: k.hidden(), Folders: k.folders(),
		Helpers: k.helpers, Models: k.models, UserFile: userFile, Skills: k.Skills.Finder, Host: hostTools(k),
		Signatures: k.Secrets.Keys, Modules: k.modules, Catalogs: newCatalogs(k), LLM: llmtools.New(llm),
	})
	k.indexes = toolview.NewIndexes(k.Tools, k.state.Vectors(), k.vault.Expand)
	k.indexes.Learned = learned.New(k.database.Stores().Documents, k.vault.ScrubString, k.log)
	k.Sessions = session.NewTable(func(id string) {
		k.Permissions.End(id)
		k.Skills.Runs.End(id)
		k.modules.EndSession(id)
	})
	k.builder = &session.Builder{
		Apps: k.Apps, Gate: k.gate, Consents: k.consents, Secrets: k.vault, Table: k.Sessions, User: k.user,
		Hidden: session.Pin(k.hidden()), Base: k.background.Context(), Hooks: newHooks(k), Skills: k.Skills.Runs,
		Answers: k.key != "", Log: k.log, Token: k.Tokens.Check, Admit: k.database.Draining, WorkIn: k.database.Folders.Enter,
		Enter: k.Tokens.Users.Limits.OpenSession,
		Views: &toolview.Maker{Tools: k.Tools, Servers: k.Servers, Indexes: k.indexes, Summary: k.modules.Summary},
	}
	openBackground(k, cfg)
	k.Conversations = conversation.NewManager(conversation.Options{
		Apps: k.Apps, Sessions: k.builder, Models: k.models, Modules: k.modules, Consents: k.consents,
		Approvals: k.Approvals, Permissions: k.Permissions.Table, User: k.user, Runner: k.Tasks,
		Deleter: forgetful{k.database.Stores().Deleter, k.images, k.builder.Hooks, k.Skills.Runs, k.indexes.Learned},
		Store:   history.Scrubbed(k.database.Stores().Conversations, k.vault),
		Tasks:   k.database.Stores().Tasks, Instructions: instructions.UserFile(userFile), Scrub: k.vault.ScrubString,
		Told: told(k), Record: summarizing.Recorder(k.Journal, k.vault.ScrubString),
		Go: k.background.Go, ShortLived: cfg.ShortLived, Log: k.log,
	})
	return openUndo(k)
}

// recover finishes the work of an earlier process.
func (k *Kernel) recover(ctx context.Context, cfg Config) error {
	k.recovery = &recovery.Recovery{
		Journal: k.Journal, Gate: k.gate, Sessions: bounded{k}, Log: k.log, Go: k.background.Go, ShortLived: cfg.ShortLived,
		IsShared: k.database.Folders.Has,
	}
	openAnswered(k)
	k.Approvals.SetHooks(approval.Hooks{
		CheckEdit: k.gate.CheckEdit, Settled: answered(k), Orphaned: k.Answered.Finish,
		NewGrant: lasting.NewID, Remember: k.Grants.Remember, Allowed: k.Permissions.Allowed,
		Scripted: k.Permissions.Scripted,
	})
	if reason := k.Journal.Held(); reason != nil {
		k.database.Opened()
		k.log.Error("no call runs", "error", reason)
		return nil // AcceptLoss goes on here
	}
	return k.goOn(ctx)
}

// goOn goes on with what an earlier process left: calls, approvals and tasks.
func (k *Kernel) goOn(ctx context.Context) error {
	k.sweep()
	k.background.Go(k.images.Keep)
	adopt, err := adoption.Start(ctx, k.recovery.ShortLived, adoption.Options{
		Node: k.database, IsAbsent: apps.IsAbsent(k.Apps), TakeOver: k.gate.TakeOver, ReadFormers: k.gate.ReadFormers,
		Journal: k.Journal, Log: k.log, Go: k.background.Go,
		Parts: adoption.PartsOf(k.Approvals, k.Questions, k.Answered, k.Proposals, k.Tasks, k.Conversations),
	})
	if err != nil {
		return err
	}
	written, err := k.recovery.Run(ctx)
	if err == nil && written { // else an approved call could not begin: it runs at the next start
		err = k.Answered.Resume(ctx)
	}
	if err != nil {
		return err
	}
	if err := errors.Join(k.Approvals.Start(ctx), k.Questions.Start(ctx), k.Proposals.Start(ctx)); err != nil {
		return err
	}
	k.database.Tell(activity(k))
	k.Tasks.Run()
	k.Conversations.GoOn()
	adopt()
	return nil
}

// hidden is what no process that a tool starts may ever see: the kernel's
// state, with the human's key in it, and its socket.
func (k *Kernel) hidden() []string {
	return []string{k.state.String(), filepath.Dir(k.state.Socket())}
}

// State returns the state directory, which the kernel holds.
func (k *Kernel) State() *statedir.Held { return k.state }

// OpenSession opens a session on behalf of a process.
func (k *Kernel) OpenSession(ctx context.Context, spec session.Spec) (*session.Session, error) {
	return k.builder.Open(ctx, spec)
}

// Requester is the process with an ID, and whether it shows the human's key:
// then it may answer what it asks. Zero is this process.
func (k *Kernel) Requester(pid int, humanKey string) (approval.Requester, error) {
	if pid == 0 {
		pid = os.Getpid()
	}
	human := k.Approvals.IsHumanKey(humanKey)
	if humanKey != "" && !human {
		return approval.Requester{}, tool.Errorf("kernel.OpenSession", tool.Denied,
			"the human's key is not the one of this kernel")
	}
	return approval.Requester{PID: pid, Human: human}, nil
}

// Collect returns the result of a call that was left waiting, once it ended.
func (k *Kernel) Collect(ctx context.Context, call string) (*tool.Result, error) {
	return k.gate.Collect(ctx, call)
}

// InUse reports whether a client has a session open, a call or a turn runs, also one
// for which nobody waits, or a task runs, or waits for its time to run by itself.
func (k *Kernel) InUse() bool {
	return k.Sessions.InUse(session.HasEnded) || k.recovery.Detached() > 0 || k.Tasks.InUse() ||
		k.Outside.Triggers.Running() > 0
}

// Close cancels what runs, waits until it has stopped and is on record, and
// releases the state directory. It closes what was opened, in the opposite
// order, also when Open did not get far. A second Close waits for the first and
// returns the same.
func (k *Kernel) Close() error { return k.closeOnce() }

func (k *Kernel) close() error {
	k.background.Close()
	var errs []error
	if k.Conversations != nil {
		k.Conversations.Close()
		k.Sessions.Close()
	}
	if k.Approvals != nil {
		k.Approvals.Close()
	}
	if k.Questions != nil {
		k.Questions.Close()
	}
	if k.modules != nil {
		errs = append(errs, k.modules.Close())
	}
	if k.models != nil {
		k.models.Close()
	}
	if k.Servers != nil {
		k.Servers.Close()
	}
	if k.indexes != nil {
		errs = append(errs, k.indexes.Close())
	}
	if k.Grants != nil {
		errs = append(errs, k.Grants.Close())
	}
	if k.Journal != nil {
		errs = append(errs, k.Journal.Close())
	}
	if k.database != nil {
		errs = append(errs, k.database.Close())
	}
	if k.unfinished != nil {
		errs = append(errs, k.unfinished.Close())
	}
	errs = append(errs, k.state.Release())
	k.helpers.Close() // no helper waits for a command that will not come
	return errors.Join(errs...)
}
