package tasks_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/kernel/tasks"
	"callgate/internal/storage/postgres"
	"callgate/internal/storage/postgres/riverjobs"
	"callgate/internal/task"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// carried has River tell a runner of its tasks.
func carried(db *postgres.DB, o tasks.Options) tasks.Options {
	o.Carrier = riverjobs.NewCarrier(db.Jobs(), nil)
	return o
}

// bell is a carrier that tells what a test has it tell.
type bell struct {
	paused atomic.Bool
	begin  chan func(context.Context, string) error
}

func (c *bell) Carry(ctx context.Context, begin func(context.Context, string) error) {
	c.begin <- begin
	<-ctx.Done()
}

func (c *bell) Pause(_ context.Context, is bool) error {
	c.paused.Store(is)
	return nil
}

// A task that is told of is leased, unless it is not due or does not run by itself. While nothing is to run, it is
// refused, and the carrier is paused until it goes on.
func TestTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		carrier := &bell{begin: make(chan func(context.Context, string) error, 1)}
		var held atomic.Bool
		r, _ := openWith(t, stores, tasks.Options{Holder: "k", Carrier: carrier, Hold: func() error {
			return unless(!held.Load(), func() error { return errors.New("it is drained") })
		}})
		r.Handle("k", wait)
		r.HandleStarted("started", wait)
		held.Store(true)
		r.Run()
		begin := <-carrier.begin
		for id, kind := range map[string]string{"due": "k", "other": "started", "later": "k"} {
			one := task.Task{ID: id, Kind: kind}
			if id == "later" {
				one.RunAt = time.Now().Add(time.Hour)
			}
			_, _, err := stores.Tasks.Create(t.Context(), one)
			ok(t, err)
		}
		synctest.Wait()
		if err := begin(t.Context(), "due"); err == nil || r.Running() != 0 || !carrier.paused.Load() {
			t.Errorf("while it is held: %v, %d run, paused: %v", err, r.Running(), carrier.paused.Load())
		}
		held.Store(false)
		for _, id := range []string{"due", "due", "other", "later", "none"} {
			ok(t, begin(t.Context(), id))
		}
		if r.Running() != 1 || state(t, stores, "due").State != task.Running {
			t.Errorf("%d run", r.Running())
		}
		<-time.After(2 * time.Second)
		if carrier.paused.Load() {
			t.Error("it is still paused")
		}
	})
}
