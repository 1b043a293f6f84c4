package postgres_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/journal"
	"callgate/internal/storage/postgres"
	"callgate/tool"
)

// openLease opens a node that lives only so long without a heartbeat.
func openLease(t *testing.T, address, id string, lease time.Duration) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), address, postgres.Node{ID: id, Name: "the " + id, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// statusOf is what a node knows of another.
func statusOf(t *testing.T, db *postgres.DB, id string) postgres.NodeStatus {
	t.Helper()
	list, err := db.Nodes().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("no node %s in %+v", id, list)
	return postgres.NodeStatus{}
}

func TestNodeIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", " ", "a b", "a/b", "é", "a\x00", strings.Repeat("a", 65)} {
		if _, err := postgres.Open(t.Context(), "postgres://127.0.0.1:1/x", node(id)); tool.KindOf(err) != tool.Invalid {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// A node begins its lease anew with each heartbeat, hears that it is to drain, and says that it leaves.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	at := server.Schema(t, schemaAt(t.TempDir()))
	a, b := openLease(t, at, "a", time.Nanosecond), openNode(t, at, "b")
	if s := statusOf(t, b, "a"); !s.Lost() || s.State != postgres.Up || s.Epoch != 1 || s.Name != "the a" {
		t.Errorf("a is %+v", s)
	}
	before := statusOf(t, a, "b")
	info := json.RawMessage(`{"calls": 2}`)
	if state, err := b.Nodes().Heartbeat(t.Context(), info); err != nil || state != postgres.Up {
		t.Errorf("%s, %v", state, err)
	}
	after := statusOf(t, a, "b")
	if !after.Heartbeat.After(before.Heartbeat) || after.Lost() || after.Left > time.Hour ||
		!bytes.Equal(after.Info, info) {
		t.Errorf("before %+v, after %+v", before, after)
	}
	for _, is := range []bool{true, true, false} {
		want := map[bool]postgres.NodeState{true: postgres.Draining, false: postgres.Up}[is]
		if err := a.Nodes().SetDraining(t.Context(), "b", is); err != nil {
			t.Error(err)
		}
		if state, err := b.Nodes().Heartbeat(t.Context(), nil); err != nil || state != want {
			t.Errorf("%s, %v, want %s", state, err, want)
		}
	}
	if s := statusOf(t, a, "b"); !bytes.Equal(s.Info, info) {
		t.Errorf("a heartbeat that told nothing left %s", s.Info)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if s := statusOf(t, b, "a"); s.State != postgres.Down || s.Epoch != 2 || s.Lost() {
		t.Errorf("a left, and is %+v", s)
	}
	if err := b.Nodes().SetDraining(t.Context(), "a", true); tool.KindOf(err) != tool.Conflict {
		t.Errorf("draining what is down: %v", err)
	}
	if err := b.Nodes().SetDraining(t.Context(), "c", true); tool.KindOf(err) != tool.NotFound {
		t.Errorf("draining what is not there: %v", err)
	}
}

// A heartbeat has a connection of its own: a node all of whose connections are busy lives.
func TestHeartbeatWaitsForNobody(t *testing.T) {
	t.Parallel()
	db := openNode(t, server.Schema(t, schemaAt(t.TempDir()))+"&pool_max_conns=2", "n")
	for range 2 {
		conn, err := db.Pool().Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Release)
	}
	if _, err := db.Nodes().Heartbeat(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// A process of a node writes nothing after another process has opened the node, and can still read.
func TestFencedByItsOwnNode(t *testing.T) {
	t.Parallel()
	at := server.Schema(t, schemaAt(t.TempDir()))
	for name, w := range writes() {
		old := openLease(t, at, name, time.Hour)
		if w.before != nil {
			if err := w.before(t, old.Stores()); err != nil {
				t.Fatal(err)
			}
		}
		now := openLease(t, at, name, time.Hour)
		for range 2 {
			if err := w.make(t, old.Stores()); !postgres.Fenced(err) || tool.KindOf(err) != tool.Unavailable {
				t.Errorf("%s of the former process: %v", name, err)
			}
		}
		if _, err := old.Nodes().Heartbeat(t.Context(), nil); !postgres.Fenced(err) {
			t.Errorf("its heartbeat: %v", err)
		}
		if err := w.make(t, now.Stores()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := w.once(t, old.Stores()); err != nil {
			t.Errorf("%s, as the former process sees it: %v", name, err)
		}
		if err := old.Close(); err != nil {
			t.Error(err)
		}
		if s := statusOf(t, now, name); s.State != postgres.Up || s.Epoch != 2 {
			t.Errorf("after the former process has closed: %+v", s)
		}
	}
}

// A node is taken over when its lease is over, and not before, and not by itself.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	at := server.Schema(t, schemaAt(t.TempDir()))
	a, b := openLease(t, at, "a", time.Nanosecond), openNode(t, at, "b")
	for id, want := range map[string]tool.Kind{"a": tool.Invalid, "b": tool.Conflict, "c": tool.NotFound} {
		if _, err := a.Nodes().TakeOver(t.Context(), id); tool.KindOf(err) != want {
			t.Errorf("a takes %s over: %v, want %s", id, err, want)
		}
	}
	for range 2 { // a second time changes nothing
		if s, err := b.Nodes().TakeOver(t.Context(), "a"); err != nil || s.State != postgres.Down || s.Epoch != 2 {
			t.Errorf("%+v, %v", s, err)
		}
	}
	if _, err := a.Nodes().Heartbeat(t.Context(), nil); !postgres.Fenced(err) {
		t.Errorf("a heartbeat after it: %v", err)
	}
	if _, err := a.Nodes().TakeOver(t.Context(), "b"); !postgres.Fenced(err) {
		t.Errorf("a takes b over after it: %v", err)
	}
	again := openLease(t, at, "a", time.Hour)
	if s := statusOf(t, b, "a"); s.State != postgres.Up || s.Epoch != 3 || s.Lost() {
		t.Errorf("opened again, a is %+v", s)
	}
	if err := again.Stores().Journal.Append(t.Context(), []journal.Row{{Seq: 1, Body: []byte("{}")}}); err != nil {
		t.Error(err)
	}
}

// Under writers that write as fast as they can: when TakeOver has returned, nothing of the old epoch commits.
func TestTakeOverUnderWriters(t *testing.T) {
	t.Parallel()
	at := server.Schema(t, schemaAt(t.TempDir()))
	b := openNode(t, at, "b")
	next := uint64(0)
	for round := range 12 {
		a := openLease(t, at, "a", time.Nanosecond)
		var wg sync.WaitGroup
		begun := make(chan struct{}, 1000)
		for n := range 3 {
			first := next + uint64(n)*100_000
			wg.Go(func() {
				for seq := first; ; seq++ {
					err := a.Stores().Journal.Append(context.Background(), []journal.Row{{Seq: seq + 1, Body: []byte("{}")}})
					if postgres.Fenced(err) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					select {
					case begun <- struct{}{}:
					default:
					}
				}
			})
		}
		for range 5 + round {
			<-begun
		}
		s, err := b.Nodes().TakeOver(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		count := "SELECT count(*)::text FROM records WHERE node = 'a'"
		then, err := b.Ask(t.Context(), count)
		if err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if now, err := b.Ask(t.Context(), count); err != nil || now != then {
			t.Fatalf("epoch %d: %s rows when it was taken over, %s later, %v", s.Epoch, then, now, err)
		}
		next += 300_000
	}
}

// stalled is a source that says when it is read, and gives nothing until it may.
type stalled struct{ reached, goOn chan struct{} }

func (s *stalled) Read([]byte) (int, error) {
	s.reached <- struct{}{}
	<-s.goOn
	return 0, io.EOF
}

// A transaction whose process hangs keeps nobody from taking the node over, and does not commit when it goes on.
func TestTakeOverOfAHangingTransaction(t *testing.T) {
	t.Parallel()
	at := server.Schema(t, schemaAt(t.TempDir()))
	a, b := openLease(t, at, "a", time.Nanosecond), openNode(t, at, "b")
	source := &stalled{make(chan struct{}, 1), make(chan struct{})}
	put := make(chan error)
	go func() { put <- a.Stores().Blobs.Put(context.Background(), emptyBlob, 0, source) }()
	<-source.reached
	if _, err := b.Nodes().TakeOver(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	close(source.goOn)
	if err := <-put; tool.KindOf(err) != tool.Unavailable {
		t.Errorf("the hanging transaction: %v", err)
	}
	if list, err := b.Ask(t.Context(), "SELECT count(*)::text FROM blobs"); err != nil || list != "0" {
		t.Errorf("%s blobs, %v", list, err)
	}
}

// A COMMIT that is late or lost, or whose answer is, and a takeover meanwhile: the append is told as what it was.
func TestTakeOverOfALostCommit(t *testing.T) {
	t.Parallel()
	p := newProxy(t)
	for _, f := range []fault{loseAnswer, loseCommit, holdBack} {
		at := server.Schema(t, schemaAt(t.TempDir()))
		a := p.openAt(t, at, postgres.Node{ID: "n", Lease: time.Nanosecond})
		b := openNode(t, at, "b")
		p.onLoss(func() {
			if _, err := b.Nodes().TakeOver(context.Background(), "n"); err != nil {
				t.Error(err)
			}
		})
		p.set(f)
		err := a.Stores().Journal.Append(t.Context(), []journal.Row{{Seq: 1, Body: []byte("{}")}})
		rows, listed := b.JournalOf("n").Rows(t.Context(), journal.Query{})
		if listed != nil || (err == nil) != (len(rows) == 1) || err != nil && !postgres.Fenced(err) {
			t.Errorf("%s: the append says %v, and there are %v, %v", f, err, rows, listed)
		}
		if f != loseAnswer && err == nil {
			t.Errorf("%s: the append was made for a node that is taken over", f)
		}
		p.onLoss(nil)
	}
}

// Two nodes that find each other lost at once: one of them is taken over at least, and nothing hangs.
func TestTakeEachOtherOver(t *testing.T) {
	t.Parallel()
	at := server.Schema(t, schemaAt(t.TempDir()))
	for round := range 5 {
		dbs := []*postgres.DB{openLease(t, at, "a", time.Nanosecond), openLease(t, at, "b", time.Nanosecond)}
		var wg sync.WaitGroup
		errs := make([]error, 2)
		for n, db := range dbs {
			wg.Go(func() { _, errs[n] = db.Nodes().TakeOver(context.Background(), []string{"b", "a"}[n]) })
		}
		wg.Wait()
		down := fmt.Sprint(statusOf(t, dbs[0], "a").State, " ", statusOf(t, dbs[0], "b").State)
		for n, err := range errs {
			if err != nil && !postgres.Fenced(err) {
				t.Errorf("round %d: %d: %v", round, n, err)
			}
		}
		if !strings.Contains(down, "down") || errs[0] != nil && errs[1] != nil {
			t.Errorf("round %d: %s, %v", round, down, errs)
		}
	}
}
