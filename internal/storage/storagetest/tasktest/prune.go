package tasktest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"callgate/internal/storage"
	"callgate/internal/task"
)

// However old it is, what has not ended, or is owed, stays.
func pruneLeavesUnended(t *testing.T, d storage.Driver) {
	old := time.Now().Add(-1000 * time.Hour)
	mustCreateTask(t, d, task.Task{ID: "queued", Kind: "call", RunAt: old}, task.Task{ID: "runs", Kind: "call", RunAt: old},
		task.Task{ID: "abandoned", Kind: "call", RunAt: old})
	mustLease(t, d, "h", "runs", time.Hour)
	mustLease(t, d, "h", "abandoned", -time.Hour)
	for _, state := range []task.State{task.Done, task.Failed, task.Cancelled, task.InDoubt} {
		endAs(t, d, task.Task{ID: "owed " + string(state), Kind: "call", Parent: "p"}, state)
		endAs(t, d, task.Task{ID: string(state), Kind: "call"}, state)
	}
	if n, err := d.Stores().Queue.Prune(t.Context(), time.Now().Add(time.Hour)); err != nil || n != 4 {
		t.Errorf("%d were pruned, %v", n, err)
	}
	for _, id := range []string{"queued", "runs", "abandoned"} {
		mustTask(t, d, id)
	}
	for _, state := range []task.State{task.Done, task.Failed, task.Cancelled, task.InDoubt} {
		mustTask(t, d, "owed "+string(state))
	}
}

// More than one step removes are all removed, and others write meanwhile.
func pruneIsWhole(t *testing.T, d storage.Driver) {
	const n = 1000
	for i := range n {
		made := task.Task{ID: fmt.Sprint(i), Kind: "call", Outcome: &task.Outcome{State: task.Done}}
		mustCreateTask(t, d, made)
	}
	mustCreateTask(t, d, task.Task{ID: "stays", Kind: "call"})
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := range 20 {
			made := task.Task{ID: fmt.Sprint("new", i), Kind: "x"}
			if _, _, err := d.Stores().Tasks.Create(context.Background(), made); err != nil {
				t.Error(err)
			}
		}
	})
	if got, err := d.Stores().Queue.Prune(t.Context(), time.Now().Add(time.Hour)); err != nil || got != n {
		t.Errorf("%d of %d were pruned, %v", got, n, err)
	}
	writing.Wait()
	if list, err := d.Stores().Tasks.List(t.Context(), task.Query{}); err != nil || len(list) != 21 {
		t.Errorf("%d are left, %v", len(list), err)
	}
}
