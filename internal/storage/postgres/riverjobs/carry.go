package riverjobs

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"callgate/internal/storage/postgres/pgnode"
)

const (
	// workers is how many jobs are told at once. A runner leases one after the other.
	workers = 4
	// pollEvery is how often the queue is looked at without being told that a job came. A runner looks at its tasks to
	// the instant: this is for when it does not.
	pollEvery = 5 * time.Second
	// fetchPause is between two looks at the queue.
	fetchPause = 100 * time.Millisecond
	// putOff is how much later a job is told again whose task could not be leased.
	putOff = time.Second
	// restartPause is between two attempts to begin.
	restartPause = 2 * time.Second
	// stopPatience is how long what is told may take when the carrying ends.
	stopPatience = 5 * time.Second
	// keepDone is how long a job is kept that was told.
	keepDone = time.Hour
)

// Carrier tells a node's runner of the tasks whose time has come.
type Carrier struct {
	Jobs *Jobs
	Log  *slog.Logger  // of what River says, which is for whoever looks for a fault; nil: nowhere
	Poll time.Duration // default pollEvery

	mu     sync.Mutex // also while a client begins: a pause comes before that, or after
	paused bool
	client *river.Client[pgx.Tx] // the one that works; nil: none does
}

// NewCarrier returns a carrier of jobs.
func NewCarrier(j *Jobs, log *slog.Logger) *Carrier {
	return &Carrier{Jobs: j, Log: log}
}

// Carry calls begin with the ID of each task of the node whose time has come, several at once, until ctx ends. What
// begin returns an error for it is told of again. Meanwhile the node takes part in the election of River's leader.
func (c *Carrier) Carry(ctx context.Context, begin func(ctx context.Context, id string) error) {
	if !c.Jobs.works() {
		c.log().Warn("the name of the schema is too long for River to work in it: tasks are found by looking",
			"schema", c.Jobs.db.Schema(), "most", maxSchema)
		<-ctx.Done()
	}
	for ctx.Err() == nil {
		if err := c.carry(ctx, begin); err != nil && ctx.Err() == nil {
			c.log().Debug("River does not work now", "error", err)
		}
		select {
		case <-time.After(restartPause):
		case <-ctx.Done():
		}
	}
}

func (c *Carrier) log() *slog.Logger {
	if c.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Log
}

// carry works until ctx ends, or returns why it cannot.
func (c *Carrier) carry(ctx context.Context, begin func(context.Context, string) error) error {
	if err := c.Jobs.takeBack(ctx); err != nil {
		return err
	}
	if err := c.Jobs.Fill(ctx); err != nil {
		return err
	}
	client, stopped, err := c.start(ctx, begin)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-stopped:
	}
	c.mu.Lock()
	c.client = nil
	c.mu.Unlock()
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer cancel()
	if err := client.Stop(limited); errors.Is(err, context.DeadlineExceeded) {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
		defer cancel()
		return client.StopAndCancel(limited)
	}
	return nil
}

// start begins to work. A queue that was paused when its node ended is so noted; it goes on with the node.
func (c *Carrier) start(
	ctx context.Context, begin func(context.Context, string) error,
) (client *river.Client[pgx.Tx], stopped <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if client, err = c.newClient(begin); err != nil {
		return nil, nil, err
	}
	if err = c.setPaused(ctx, client); err != nil {
		return nil, nil, err
	}
	if err = client.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, nil, err
	}
	if c.paused { // it had no queue before that could be
		_ = c.setPaused(ctx, client)
	}
	c.client = client
	return client, client.Stopped(), nil
}

// newClient makes the client that works the node's queue. Its name says which process of the node it is: River takes
// two clients of one name for one.
func (c *Carrier) newClient(begin func(context.Context, string) error) (*river.Client[pgx.Tx], error) {
	bundle := river.NewWorkers()
	if err := river.AddWorkerSafely(bundle, &worker{jobs: c.Jobs, begin: begin}); err != nil {
		return nil, err
	}
	node, epoch := c.Jobs.db.Node()
	return river.NewClient(riverpgxv5.New(c.Jobs.db.Pool()), &river.Config{
		ID:      node.ID + "/" + strconv.FormatInt(epoch, 10),
		Queues:  map[string]river.QueueConfig{c.Jobs.queue: {MaxWorkers: workers}},
		Workers: bundle, Logger: slog.New(asDebug{c.log().Handler()}),
		FetchCooldown: fetchPause, FetchPollInterval: cmp.Or(c.Poll, pollEvery),
		CompletedJobRetentionPeriod: keepDone, ReindexerIndexNames: []string{}, // the server cleans up by itself
	})
}

// Pause has no job told, or has them told again.
func (c *Carrier) Pause(ctx context.Context, is bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused = is; c.client == nil { // it is paused when it begins
		return nil
	}
	return pgnode.ConvertError("riverjobs.Pause", c.setPaused(ctx, c.client))
}

// setPaused notes for River whether the queue is paused. The lock is held.
func (c *Carrier) setPaused(ctx context.Context, client *river.Client[pgx.Tx]) error {
	change := client.QueueResume
	if c.paused {
		change = client.QueuePause
	}
	err := change(ctx, c.Jobs.queue, nil)
	if errors.Is(err, rivertype.ErrNotFound) { // nobody has worked it yet
		return nil
	}
	return err
}

// worker tells of one job.
type worker struct {
	river.WorkerDefaults[args]
	jobs  *Jobs
	begin func(ctx context.Context, id string) error
}

// Work tells the runner of the task of a job, if it waits with this job.
func (w *worker) Work(ctx context.Context, job *river.Job[args]) error {
	id, left, err := w.jobs.waiting(ctx, job.Args.Task, job.ID)
	switch {
	case pgnode.Absent(err):
		return nil
	case err != nil:
		return river.JobSnooze(putOff)
	case left > 0: // River's leader has another clock
		return river.JobSnooze(left)
	}
	if err := w.begin(ctx, id); err != nil {
		return river.JobSnooze(putOff)
	}
	return nil
}

// waiting returns the ID of a task that waits with a job, and how long until it is due.
func (j *Jobs) waiting(ctx context.Context, task, job int64) (id string, left time.Duration, err error) {
	const look = "SELECT id, due - " + now + " FROM tasks " +
		"WHERE num = $1 AND node = $2 AND job = $3 AND due IS NOT NULL"
	type found struct {
		id   []byte
		left int64
	}
	is, err := pgnode.QueryOne(ctx, j.db, func(row pgx.CollectableRow) (f found, err error) {
		err = row.Scan(&f.id, &f.left)
		return f, err
	}, look, task, j.db.NodeID(), job)
	return string(is.id), time.Duration(is.left), err
}

// Leader returns the ID of the node whose process is River's leader, which moves jobs to the time of their task and
// removes old ones; "": there is none now.
func (j *Jobs) Leader(ctx context.Context) (node string, err error) {
	const look = "SELECT leader_id FROM river_leader WHERE expires_at > now()"
	id, err := pgnode.QueryOne(ctx, j.db, pgx.RowTo[string], look)
	if pgnode.Absent(err) {
		return "", nil
	}
	node, _, _ = strings.Cut(id, "/")
	return node, pgnode.ConvertError("riverjobs.Leader", err)
}

// asDebug writes everything at the level debug.
type asDebug struct{ to slog.Handler }

func (h asDebug) Enabled(ctx context.Context, _ slog.Level) bool {
	return h.to.Enabled(ctx, slog.LevelDebug)
}

func (h asDebug) Handle(ctx context.Context, r slog.Record) error {
	r.Level = slog.LevelDebug
	return h.to.Handle(ctx, r)
}

func (h asDebug) WithAttrs(attrs []slog.Attr) slog.Handler { return asDebug{h.to.WithAttrs(attrs)} }
func (h asDebug) WithGroup(name string) slog.Handler       { return asDebug{h.to.WithGroup(name)} }
