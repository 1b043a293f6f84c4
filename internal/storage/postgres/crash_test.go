package postgres_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"callgate/internal/journal"
	"callgate/internal/storage/postgres"
	"callgate/tool"
)

// TestServerIsKilled kills the server, as hard as can be, under a process that writes its journal, and starts it again.
// The process goes on by itself; every record whose number it was told is there once; and the chain is whole.
func TestServerIsKilled(t *testing.T) {
	t.Parallel()
	db, err := postgres.Open(t.Context(), crashed.Schema(t, schemaAt(t.TempDir())), node("n"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	dir := t.TempDir()
	opts := journal.Options{Anchor: filepath.Join(dir, "anchor"), KeyFile: filepath.Join(dir, "key")}
	j, err := journal.Open(t.Context(), db.Stores().Journal, opts)
	if err != nil {
		t.Fatal(err)
	}
	w := &committer{j: j, told: map[uint64]string{}}
	for life := range 2 {
		var wg sync.WaitGroup
		stop := make(chan struct{})
		reached := w.after(60)
		for n := range 4 {
			wg.Go(func() { w.commit(t, fmt.Sprintf("%d-%d", life, n), stop) })
		}
		<-reached
		crashed.Crash(t)
		if _, err := db.Stores().Journal.Rows(t.Context(), journal.Query{}); tool.KindOf(err) != tool.Unavailable {
			t.Errorf("without a server: %v", err)
		}
		crashed.Start(t)
		<-w.after(60) // it goes on by itself
		close(stop)
		wg.Wait()
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for after, more := uint64(0), true; more; {
		rows, err := db.Stores().Journal.Rows(t.Context(), journal.Query{After: after})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			after = r.Seq
			found[r.Call+" "+string(r.Kind)]++
			if call, ok := w.told[r.Seq]; ok && call != r.Call {
				t.Errorf("record %d was told to be of %s, and is of %s", r.Seq, call, r.Call)
			}
		}
		more = len(rows) > 0
	}
	for _, call := range slices.Sorted(maps.Values(w.told)) {
		if n := found[call+" begun"]; n != 1 {
			t.Errorf("%s was acknowledged, and is there %d times", call, n)
		}
	}
	report, err := journal.Verify(t.Context(), db.Stores().Journal, opts, nil)
	if err != nil || !report.OK() || len(w.told) < 240 {
		t.Errorf("%d were told; %+v, %v", len(w.told), report, err)
	}
}

// committer notes which records it was told are kept.
type committer struct {
	j *journal.Journal

	mu    sync.Mutex
	told  map[uint64]string
	want  int
	await chan struct{}
}

// after returns a channel that is closed when n more records were told.
func (w *committer) after(n int) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.want, w.await = len(w.told)+n, make(chan struct{})
	return w.await
}

// commit commits records until it is stopped. An error is no promise, and the next record is another one.
func (w *committer) commit(t *testing.T, name string, stop <-chan struct{}) {
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		call := fmt.Sprintf("%s-%d", name, n)
		seq, err := w.j.Commit(context.Background(), journal.Record{Kind: journal.Begun, Call: call})
		if err != nil {
			if tool.KindOf(err) != tool.Unavailable {
				t.Errorf("while the server is away: %v", err)
			}
			<-again.C
			continue
		}
		w.mu.Lock()
		w.told[seq] = call
		if w.await != nil && len(w.told) >= w.want {
			close(w.await)
			w.await = nil
		}
		w.mu.Unlock()
	}
}
