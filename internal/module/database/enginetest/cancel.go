package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/rowset"
	"callgate/tool"
)

// soon is long enough for a statement to start, and short enough for a test.
const soon = 100 * time.Millisecond

// expires checks that call, which takes a minute, ends with its context and
// leaves nothing running.
func (f *fixture) expires(what string, call func(context.Context) error) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), soon)
	defer cancel()
	start := time.Now()
	if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
		f.Errorf("%s, past its deadline: %v", what, err)
	}
	if took := time.Since(start); took > 30*time.Second { // a busy machine is slow, but not that slow
		f.Errorf("%s ended after %v", what, took)
	}
	f.awaitRunning(0)
}

func cancelsReads(f *fixture) {
	f.expires("a read", func(ctx context.Context) error { return f.tryRead(ctx, f.db.Slow) })
	f.works()

	ctx, cancel := context.WithCancel(f.Context())
	go func() {
		f.awaitRunning(1)
		cancel()
	}()
	if err := f.tryRead(ctx, f.db.Slow); !errors.Is(err, context.Canceled) {
		f.Errorf("a cancelled read: %v", err)
	}
	f.awaitRunning(0)
	if err := f.tryRead(ctx, "SELECT 1"); !errors.Is(err, context.Canceled) {
		f.Errorf("a read that was cancelled before: %v", err)
	}
	f.rows("SELECT 1")
}

func cancelsAfterFirstRow(f *fixture) {
	f.expires("a read after its first row", func(ctx context.Context) error { return f.tryRead(ctx, f.db.SlowAfterRow) })
	f.works()
}

func cancelsWrites(f *fixture) {
	f.write("CREATE TABLE t (a INTEGER)")
	f.expires("a write", func(ctx context.Context) error { return f.tryWrite(ctx, f.db.SlowInsert) })
	if got := f.count("t"); got != "0" {
		f.Errorf("a cancelled write left %s rows", got)
	}
	f.works()
}

func cancelsTransactions(f *fixture) {
	f.write("CREATE TABLE t (a INTEGER)")
	f.expires("a transaction", func(ctx context.Context) error {
		return f.engine.Transact(ctx, "", func(exec engine.ExecFunc) error {
			if err := f.insert(nil, "1")(exec); err != nil {
				return err
			}
			_, err := exec(engine.Statement{SQL: f.db.SlowInsert}, rowset.New(rowset.Limits{}))
			return err
		})
	})
	if got := f.count("t"); got != "0" {
		f.Errorf("a cancelled transaction left %s rows", got)
	}
	f.works()
}

// cancelsWaiting ends the context of a caller that waits for the connection.
func cancelsWaiting(f *fixture) {
	f.write("CREATE TABLE t (a INTEGER)")
	holding, release := make(chan struct{}), make(chan struct{})
	done := make(chan error)
	go func() {
		done <- f.engine.Transact(f.Context(), "", func(exec engine.ExecFunc) error {
			close(holding)
			<-release
			return f.insert(nil, "1")(exec)
		})
	}()
	<-holding
	ctx, cancel := context.WithTimeout(f.Context(), soon)
	defer cancel()
	if err := f.tryWrite(ctx, "INSERT INTO t VALUES (2)"); !errors.Is(err, context.DeadlineExceeded) {
		f.Errorf("%v", err)
	}
	close(release)
	if err := <-done; err != nil {
		f.Error(err)
	}
	if got := f.rows("SELECT a FROM t"); len(got) != 1 || got[0][0] != json.Number("1") {
		f.Errorf("%v", got)
	}
}

func servesManyCallers(f *fixture) {
	f.write("CREATE TABLE t (a INTEGER)")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				if err := f.tryWrite(f.Context(), "INSERT INTO t VALUES (1)"); err != nil {
					f.Error(err)
				}
				if err := f.engine.Transact(f.Context(), "", f.insert(nil, "2")); err != nil {
					f.Error(err)
				}
				if err := f.tryRead(f.Context(), "SELECT count(*) FROM t"); err != nil {
					f.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := f.count("t"); got != "80" {
		f.Errorf("%s rows", got)
	}
}

func closes(f *fixture) {
	f.works()
	for range 2 { // a second time has no effect
		if err := f.engine.Close(); err != nil {
			f.Error(err)
		}
	}
	for name, err := range map[string]error{
		"read":     f.tryRead(f.Context(), "SELECT 1"),
		"write":    f.tryWrite(f.Context(), "INSERT INTO works VALUES (2)"),
		"transact": f.engine.Transact(f.Context(), "", f.insert(nil, "3")),
	} {
		if tool.KindOf(err) != tool.Cancelled {
			f.Errorf("%s after Close: %v", name, err)
		}
	}
}

// closesWhileRunning ends the contexts of running statements and closes, as the
// module does at the end of a session.
func closesWhileRunning(f *fixture) {
	f.write("CREATE TABLE t (a INTEGER)")
	ctx, cancel := context.WithCancel(f.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := f.tryRead(ctx, f.db.Slow); err == nil {
			f.Error("a read survived the end of its context")
		}
	})
	f.awaitRunning(1)
	cancel()
	if err := f.engine.Close(); err != nil {
		f.Error(err)
	}
	wg.Wait()
	f.awaitRunning(0)
}

// reconnects loses both connections between two calls.
func reconnects(f *fixture) {
	if f.db.Disconnect == nil {
		return
	}
	f.write("CREATE TABLE t (a INTEGER)")
	f.rows("SELECT 1")
	f.db.Disconnect(f, f.engine)
	f.write("INSERT INTO t VALUES (1)")
	if got := f.count("t"); got != "1" {
		f.Errorf("%s rows", got)
	}
	f.db.Disconnect(f, f.engine)
	if err := f.engine.Transact(f.Context(), "", f.insert(nil, "2")); err != nil {
		f.Error(err)
	}
}

// doubtsLostWrites loses the connection while a statement writes. The error says
// that the write may have happened, unless the server itself said that it did not.
func doubtsLostWrites(f *fixture) {
	if f.db.Disconnect == nil {
		return
	}
	f.write("CREATE TABLE t (a INTEGER)")
	done := make(chan error)
	go func() { done <- f.tryWrite(f.Context(), f.db.SlowInsert) }()
	f.awaitRunning(1)
	f.db.Disconnect(f, f.engine)
	err := <-done
	if kind := tool.KindOf(err); kind != tool.InDoubt && kind != tool.Unavailable {
		f.Errorf("%s: %v", kind, err)
	}
	f.works()
}
