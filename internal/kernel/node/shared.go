package node

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"callgate/internal/gate/lock"
	"callgate/internal/gate/lockqueue"
	"callgate/internal/journal"
	"callgate/internal/kernel/sharedlocks"
	"callgate/internal/kernel/shares"
	"callgate/internal/secret"
	"callgate/internal/secret/authority"
	"callgate/internal/storage/postgres"
	"callgate/internal/storage/postgres/callnames"
	"callgate/internal/storage/postgres/locks"
	"callgate/internal/storage/postgres/quotas"
	"callgate/internal/storage/postgres/riverjobs"
	"callgate/internal/version"
	"callgate/tool"
)

// NameVariable is what people call this node; default: the name of its machine.
const NameVariable = "CALLGATE_NODE"

// LeaseVariable is how long a node lives without a heartbeat; default 15 s. On a network that fails for longer, a
// longer lease stops nothing; a shorter one has others go on sooner with what a dead machine had locked.
const LeaseVariable = "CALLGATE_LEASE"

// fromEnvironment completes what nobody has set.
func (t Timing) fromEnvironment() (Timing, error) {
	text := os.Getenv(LeaseVariable)
	if text == "" || t.Lease > 0 {
		return t, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 2*time.Second || d > 10*time.Minute {
		return t, tool.Errorf("node.Open", tool.Invalid, "%s is %q, which is no time between 2s and 10m",
			LeaseVariable, tool.Truncate(text)).WithHint("write 15s, or leave it out")
	}
	t.Lease = d
	return t, nil
}

// Activity is what a node has to do, as it tells the others with each heartbeat.
type Activity struct {
	Sessions      int `json:"sessions"`
	Calls         int `json:"calls"` // that run
	Conversations int `json:"conversations"`
	Turns         int `json:"turns"` // that run
	Tasks         int `json:"tasks"` // that run
}

// Idle reports whether nothing runs.
func (a Activity) Idle() bool { return a.Calls+a.Turns+a.Tasks == 0 }

// Member is what the database knows of a node.
type Member struct {
	postgres.NodeStatus
	Activity
	Health
	Fingerprint string         // of the certificate that it has at its address
	Shared      []shares.Share // the folders that it shares with others
	This        bool           // it is this one
	Leads       bool           // it leads the queues of tasks: see riverjobs.Jobs.Leader
}

// Condition is the state of a node in a word: lost, if it should live and its lease is over.
func (m Member) Condition() string {
	if m.Lost() {
		return "lost"
	}
	return string(m.State)
}

// shared is what a node has that a kernel alone has not.
type shared struct {
	db       *postgres.DB
	locks    *locks.Table
	counters *quotas.Counters
	draining atomic.Bool
	activity atomic.Pointer[func() Activity]
	reach    atomic.Pointer[Reach]
	folders  atomic.Pointer[[]shares.Share]
	heads    *heads
	beating  sync.Mutex // one heartbeat at a time: a late one does not tell what was before
	end      func()     // ends the heartbeats, and waits until they have
}

// openServer opens a PostgreSQL database as the node of the state directory, and keeps the node's lease.
func openServer(ctx context.Context, o Options, place string, named bool) (*Node, error) {
	if err := o.State.ReadOnly(); err != nil {
		return nil, err // its node cannot keep the head of its journal
	}
	if err := isMoved(o); err != nil {
		return nil, err
	}
	id, err := o.State.Node()
	if err != nil {
		return nil, err
	}
	_ = os.Unsetenv(Variable) // no process that is started here inherits the password
	host, _ := os.Hostname()
	timing, err := o.Timing.fromEnvironment()
	if err != nil {
		return nil, err
	}
	timing = timing.withDefaults()
	placed, err := secret.ReadPlaced(o.State.UsersKey())
	if err != nil {
		return nil, err
	}
	key := authority.New(placed)
	sent := time.Now()
	db, err := postgres.Open(ctx, place, postgres.Node{
		ID: id, Name: cmp.Or(os.Getenv(NameVariable), host, id), Version: version.Version, Lease: timing.Lease,
		Key: key, Distrust: func(err error) { o.Log.Error("a row of the database is not believed", "error", err) },
	})
	if err != nil {
		return nil, err
	}
	n := &Node{
		Driver: db, Guard: newGuard(timing, sent), ID: id, Key: key, password: passwordOf(place),
		shared: &shared{db: db, heads: openHeads(o)},
	}
	if err := db.Stores().Check(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if err := checkRows(ctx, db, o); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	byNode := locks.OptionsOf(db.DB)
	byNode.Log = o.Log
	n.shared.locks = locks.Open(byNode)
	if _, err := callnames.New(db.DB).Forget(ctx); err != nil {
		o.Log.Warn("old names of calls could not be removed now", "error", err)
	}
	n.start(ctx, o)
	return n, nil
}

// Locks returns the locks of a kernel that has a table of its own: what several nodes share, they lock together.
func (n *Node) Locks(own *lock.Table) lockqueue.Locks {
	if n.shared == nil {
		return lockqueue.Local(own)
	}
	return sharedlocks.New(own, n.shared.locks)
}

// isMoved refuses to leave behind what a state directory has in a file of its own.
func isMoved(o Options) error {
	if !exists(o.State.Database()) {
		return nil
	}
	if url, err := o.State.ReadDatabaseURL(); err != nil || url != "" && o.State.IsCopied(url) {
		return err // callgate migrate has copied everything, and the file is what is left
	}
	return tool.Errorf("node.Open", tool.Invalid, "%s is kept in %s, and not in the database that was named",
		"what this state directory has", o.State.Database()).
		WithHint("callgate migrate moves it into the database; to begin without it, name another directory with --state")
}

// start begins the heartbeats. They go on until Close, whatever else ends.
func (n *Node) start(ctx context.Context, o Options) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	looking := make(chan struct{})
	n.shared.counters = quotas.New(ctx, n.shared.db.DB)
	n.shared.end = func() { cancel(); <-done; <-looking }
	go func() {
		defer close(looking)
		n.lookAtHeads(ctx, o.Log)
	}()
	go func() {
		defer close(done)
		n.keep(ctx, n.beat, func(err error) { o.Log.Warn("the node's lease could not be renewed", "error", err) })
		if err := n.Stopped(); err != nil && ctx.Err() == nil {
			o.Log.Error("this kernel ends", "error", err)
		}
	}()
}

// beat sends a heartbeat.
func (n *Node) beat(ctx context.Context) error {
	n.shared.beating.Lock()
	defer n.shared.beating.Unlock()
	var info json.RawMessage
	activity, reach, head := n.shared.activity.Load(), n.shared.reach.Load(), n.shared.heads.own(n.ID)
	folders := n.shared.folders.Load()
	if activity != nil || reach != nil || head != nil || folders != nil {
		tell := told{Head: head, Health: n.health()}
		if activity != nil {
			tell.Activity = (*activity)()
		}
		if reach != nil {
			tell.Reach = *reach
			_, epoch := n.shared.db.Node()
			tell.Proof = n.Key.Sign(reachUse, reachParts(n.ID, epoch, *reach)...)
		}
		if folders != nil {
			tell.Shared = *folders
		}
		info, _ = json.Marshal(tell) // numbers and texts can be written
	}
	state, err := n.shared.db.Nodes().Heartbeat(ctx, info)
	if postgres.Fenced(err) {
		return lostError(err)
	}
	if err == nil {
		n.shared.heads.heard.Store(head)
		n.shared.draining.Store(state == postgres.Draining)
	}
	return err
}

// lostError is the end of a node.
func lostError(err error) error {
	e := &tool.Error{Op: "node", Kind: tool.Unavailable, Err: errors.Join(errLost, err)}
	var said *tool.Error
	if errors.As(err, &said) {
		e.Message, e.Hint = said.Message, said.Hint
	}
	return e
}

// Tell has heartbeats say what the node has to do.
func (n *Node) Tell(activity func() Activity) {
	if n.shared != nil {
		n.shared.activity.Store(&activity)
	}
}

// Draining says why nothing new begins here: somebody asked for that, to stop this machine soon. Nil: it does begin.
func (n *Node) Draining() error {
	if n.shared == nil || !n.shared.draining.Load() {
		return nil
	}
	return tool.Errorf("node", tool.Unavailable,
		"this machine is being drained: what runs is finished, and nothing new begins").
		WithHint("use another machine, or try again later; callgate drain --undo has it go on")
}

// Members lists the nodes that share the database, by name. Those of a kernel alone are none.
func (n *Node) Members(ctx context.Context) ([]Member, error) {
	if n.shared == nil {
		return nil, nil
	}
	list, err := n.shared.db.Nodes().List(ctx)
	if err != nil {
		return nil, err
	}
	leader, err := n.shared.db.Jobs().Leader(ctx)
	if err != nil {
		return nil, err
	}
	members := make([]Member, len(list))
	for i, one := range list {
		members[i] = Member{NodeStatus: one, This: one.ID == n.ID, Leads: one.ID == leader}
		var tell told
		_ = json.Unmarshal(one.Info, &tell) // of another version: it is not known
		tell.Reach = n.believed(one.ID, one.Epoch, tell.Reach)
		members[i].tells(tell)
		if activity := n.shared.activity.Load(); activity != nil && members[i].This {
			members[i].Activity = (*activity)()
		}
	}
	return members, nil
}

// Find returns the node with a name, an ID, or the beginning of one; "" is this one.
func (n *Node) Find(ctx context.Context, name string) (Member, error) {
	const op = "node.Find"
	members, err := n.Members(ctx)
	if err != nil {
		return Member{}, err
	}
	if n.shared == nil {
		return Member{}, alone(op)
	}
	name = cmp.Or(name, n.ID)
	exact := func(m Member) bool { return m.ID == name }
	for _, fits := range []func(Member) bool{
		exact, func(m Member) bool { return m.Name == name && m.State != postgres.Down },
		func(m Member) bool { return m.Name == name }, func(m Member) bool { return strings.HasPrefix(m.ID, name) },
	} {
		found := slices.DeleteFunc(slices.Clone(members), func(m Member) bool { return !fits(m) })
		if len(found) > 1 {
			return Member{}, tool.Errorf(op, tool.Invalid, "%d nodes are called %q", len(found), tool.Truncate(name)).
				WithHint("name one by its ID: callgate nodes lists them")
		}
		if len(found) == 1 {
			return found[0], nil
		}
	}
	return Member{}, tool.Errorf(op, tool.NotFound, "there is no node %q", tool.Truncate(name)).
		WithHint("callgate nodes lists them")
}

// alone is the error of a kernel that shares its storage with nobody.
func alone(op string) error {
	return tool.Errorf(op, tool.Conflict, "this kernel is alone: it shares its database with no other machine").
		WithHint("docs/guides/cluster.md says how several machines share a PostgreSQL database")
}

// SetDraining has a node begin nothing new, or go on. The node itself does so at once, another with its next heartbeat.
func (n *Node) SetDraining(ctx context.Context, id string, is bool) error {
	if n.shared == nil {
		return alone("node.SetDraining")
	}
	if err := n.shared.db.Nodes().SetDraining(ctx, id, is); err != nil {
		return err
	}
	if id == n.ID {
		n.shared.draining.Store(is)
	}
	return nil
}

// Carrier tells which of the node's tasks are due; nil: this kernel is alone, and looks by itself.
func (n *Node) Carrier(log *slog.Logger) *riverjobs.Carrier {
	if n.shared == nil {
		return nil
	}
	return riverjobs.NewCarrier(n.shared.db.Jobs(), log)
}

// JournalOf returns the records of a node, to be read; nil: this kernel is alone.
func (n *Node) JournalOf(id string) journal.Store {
	if n.shared == nil {
		return nil
	}
	return n.shared.db.JournalOf(id)
}

// unlockPatience is how long the database may take to hear of the last locks that were released. Those that it does not
// hear of go with the node's epoch.
const unlockPatience = 2 * time.Second

// Close ends the locks and the heartbeats, and closes the storage: a node is down then.
func (n *Node) Close() error {
	if n.shared != nil {
		ctx, cancel := context.WithTimeout(context.Background(), unlockPatience)
		defer cancel()
		_ = n.shared.locks.Close(ctx)
		if n.shared.heads.untold(n.ID) {
			_ = n.beat(ctx) // so that the others see where its journal ended
		}
		n.shared.end()
	}
	return n.Driver.Close()
}
