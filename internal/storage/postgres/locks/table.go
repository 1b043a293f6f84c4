package locks

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"callgate/internal/storage/postgres/pgnode"
	"callgate/tool"
)

const (
	opAcquire = "locks.Acquire"
	opRelease = "locks.Release"
)

// Options say whose locks they are, and how the database is reached. All but Log, Poll, Patience and Check are needed;
// [OptionsOf] has them.
type Options struct {
	Pool  *pgxpool.Pool
	Node  string
	Epoch int64
	// Channel is where releases are announced. Listen hands every announcement to got until its context ends;
	// missed says that some may have been lost.
	Channel string
	Listen  func(ctx context.Context, channel string, got func(payload string, missed bool))
	// TakeOver ends the epoch of a node whose lease is over.
	TakeOver func(ctx context.Context, node string) error
	// Fenced is told that the epoch of this node is past, and returns the error that says so.
	Fenced func() error
	Log    *slog.Logger

	Poll     time.Duration // how often a waiting request looks without being woken; 2 s
	Patience time.Duration // how long one answer of the database is waited for; 10 s
	Check    time.Duration // how often the node compares what it has with the database; 1 min
}

// OptionsOf are the options of the node that has a database open.
func OptionsOf(db *pgnode.DB) Options {
	node, epoch := db.Node()
	return Options{
		Pool: db.Pool(), Node: node.ID, Epoch: epoch, Channel: db.Channel("locks"), Listen: db.Listen, Fenced: db.Fence,
		TakeOver: func(ctx context.Context, id string) error {
			_, err := db.Nodes().TakeOver(ctx, id)
			return err
		},
	}
}

// Table is a node's side of the locks. It is safe for concurrent use.
type Table struct {
	opt  Options
	ctx  context.Context // ends with Close
	stop context.CancelFunc
	done sync.WaitGroup

	counts counts

	mu      sync.Mutex
	known   map[token]*request // that have or may have rows in the database
	ended   []ending           // that the database is still to be told of
	telling bool               // it is being told of others
	tell    chan struct{}      // has one place: something is in ended
	idle    chan struct{}      // closed when it knows of all; nil: nobody waits for that
}

// ending is a request that has ended.
type ending struct {
	request *request
	then    func() // may be nil
}

// Open begins to listen and to tell the database what was released, until Close.
func Open(o Options) *Table {
	if o.Poll <= 0 {
		o.Poll = 2 * time.Second
	}
	if o.Patience <= 0 {
		o.Patience = 10 * time.Second
	}
	if o.Check <= 0 {
		o.Check = time.Minute
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	t := &Table{opt: o, known: make(map[token]*request), tell: make(chan struct{}, 1)}
	t.ctx, t.stop = context.WithCancel(context.Background())
	compare := make(chan struct{}, 1)
	t.done.Go(func() {
		o.Listen(t.ctx, o.Channel, func(payload string, missed bool) {
			if missed {
				payload = ""
				poke(compare)
			}
			t.wake(payload)
		})
	})
	t.done.Go(func() { t.tellEnded() })
	t.done.Go(func() { t.compare(compare) })
	return t
}

// Close waits until the database knows what was released, or ctx ends. Whoever still holds something keeps it until
// the epoch of the node ends.
func (t *Table) Close(ctx context.Context) error {
	err := t.settle(ctx)
	t.stop()
	t.done.Wait()
	return err
}

// settle waits until the database knows of everything that has ended.
func (t *Table) settle(ctx context.Context) error {
	t.mu.Lock()
	if len(t.ended) == 0 && !t.telling {
		t.mu.Unlock()
		return nil
	}
	if t.idle == nil {
		t.idle = make(chan struct{})
	}
	idle := t.idle
	t.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-t.ctx.Done():
		return tool.Errorf(opRelease, tool.Unavailable, "the kernel is ending")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// poke leaves a word in a channel with one place.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// wake wakes the requests of this node that an announcement names, or all if it names none.
func (t *Table) wake(payload string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if payload == "" {
		for _, q := range t.known {
			poke(q.wake)
		}
	}
	for word := range strings.FieldsSeq(payload) {
		var name pgtype.UUID
		if name.Scan(word) != nil {
			continue // it is not ours
		}
		if q := t.known[name.Bytes]; q != nil {
			poke(q.wake)
		}
	}
}

func (t *Table) know(q *request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known[q.token] = q
}
