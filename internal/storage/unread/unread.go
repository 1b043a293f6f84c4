// Package unread stands in for a database that cannot be opened: a kernel that only
// reads starts with it, and whatever was in the database is answered with why it cannot
// be read, never with "there is none".
package unread

import (
	"context"
	"sync/atomic"

	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/internal/storage"
	"callgate/internal/task"
)

// Driver is an empty driver in the place of one that cannot be opened.
type Driver struct {
	storage.Driver
	cause  error
	opened atomic.Bool
}

// New makes a driver of an empty one. While a kernel opens it is empty; from Opened on
// the journal, the approvals, the conversations and the tasks answer with the cause.
func New(empty storage.Driver, cause error) *Driver { return &Driver{Driver: empty, cause: cause} }

// Opened says that the kernel is open.
func (d *Driver) Opened() { d.opened.Store(true) }

// Hold has every write refused while reason returns an error.
func (d *Driver) Hold(reason func() error) {
	if h, ok := d.Driver.(interface{ Hold(func() error) }); ok {
		h.Hold(reason)
	}
}

// Problem says why the database cannot be read.
func (d *Driver) Problem() error { return d.cause }

// Stores returns the stores.
func (d *Driver) Stores() storage.Stores {
	s := d.Driver.Stores()
	s.Journal = records{s.Journal, d}
	s.Approvals = approvals{s.Approvals, d}
	s.Conversations = conversations{s.Conversations, d}
	s.Tasks, s.TaskLogs = tasks{s.Tasks, d}, taskLogs{s.TaskLogs, d}
	return s
}

// answer is an empty store's answer, or why there is none.
func answer[T any](d *Driver, got T, err error) (T, error) {
	if d.opened.Load() {
		var none T
		return none, d.cause
	}
	return got, err
}

type records struct {
	journal.Store
	d *Driver
}

func (r records) Rows(ctx context.Context, q journal.Query) ([]journal.Row, error) {
	rows, err := r.Store.Rows(ctx, q)
	return answer(r.d, rows, err)
}

func (r records) Doubts(ctx context.Context, q doubt.Query) ([]journal.DoubtRow, error) {
	rows, err := r.Store.Doubts(ctx, q)
	return answer(r.d, rows, err)
}

func (r records) CountDoubts(ctx context.Context) (map[doubt.State]int, error) {
	counts, err := r.Store.CountDoubts(ctx)
	return answer(r.d, counts, err)
}

func (r records) Drops(ctx context.Context) ([]journal.PruneSummary, error) {
	drops, err := r.Store.Drops(ctx)
	return answer(r.d, drops, err)
}

type approvals struct {
	approval.Store
	d *Driver
}

func (a approvals) Get(ctx context.Context, id string) (approval.Request, error) {
	r, err := a.Store.Get(ctx, id)
	return answer(a.d, r, err)
}

func (a approvals) List(ctx context.Context, state approval.State, limit int) ([]approval.Request, error) {
	list, err := a.Store.List(ctx, state, limit)
	return answer(a.d, list, err)
}

type conversations struct {
	history.Store
	d *Driver
}

func (c conversations) Read(ctx context.Context, id string, after int64) ([]history.Event, error) {
	events, err := c.Store.Read(ctx, id, after)
	return answer(c.d, events, err)
}

func (c conversations) Get(ctx context.Context, id string) (history.Info, error) {
	info, err := c.Store.Get(ctx, id)
	return answer(c.d, info, err)
}

func (c conversations) List(ctx context.Context, limit int) ([]history.Info, error) {
	list, err := c.Store.List(ctx, limit)
	return answer(c.d, list, err)
}

type tasks struct {
	task.Store
	d *Driver
}

func (t tasks) Get(ctx context.Context, id string) (task.Task, error) {
	one, err := t.Store.Get(ctx, id)
	return answer(t.d, one, err)
}

func (t tasks) List(ctx context.Context, q task.Query) ([]task.Task, error) {
	list, err := t.Store.List(ctx, q)
	return answer(t.d, list, err)
}

type taskLogs struct {
	task.Logs
	d *Driver
}

func (l taskLogs) Entries(ctx context.Context, id string, n int) ([]task.Entry, error) {
	list, err := l.Logs.Entries(ctx, id, n)
	return answer(l.d, list, err)
}
