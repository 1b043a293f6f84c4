package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"callgate/internal/storage/sqlite"
	"callgate/internal/task"
	"callgate/tool"
)

// openTasks opens a database, and a second handle to write what no driver writes.
func openTasks(t testing.TB, path string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// A task whose row is damaged ends, and does not keep the others from being leased.
func TestDamagedTaskDoesNotStopTheQueue(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db := openTasks(t, path)
	s := db.Stores()
	for _, id := range []string{"waits", "ran", "good"} {
		one := task.Task{ID: id, Kind: "call", Parent: "p", MaxAttempts: 1}
		if _, _, err := s.Tasks.Create(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	dead := task.Request{Holder: "dead", ID: "ran", For: -time.Second}
	if _, _, err := s.Queue.Lease(t.Context(), dead); err != nil {
		t.Fatal(err)
	}
	other := raw(t, path)
	run(t, other, "UPDATE tasks SET asker = CAST('{' AS BLOB) WHERE id IN ('waits', 'ran')")
	_ = other.Close()
	leased, ended, err := s.Queue.Lease(t.Context(), task.Request{Holder: "h", For: time.Hour, N: 9})
	if err != nil || len(leased) != 1 || leased[0].ID != "good" || len(ended) != 2 {
		t.Fatalf("leased %v, ended %v, %v", leased, ended, err)
	}
	owed, err := s.Tasks.List(t.Context(), task.Query{Parent: "p", Owed: true})
	if err != nil || len(owed) != 2 || owed[0].State != task.Failed || owed[0].Outcome.Error == nil {
		t.Errorf("owed: %+v, %v", owed, err)
	}
}

// TestMigrateTasks opens a database of version 5 that has tasks: they go on, their askers'
// sessions are found, and no old fence is given out again.
func TestMigrateTasks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	old := raw(t, path)
	text, err := os.ReadFile(filepath.Join("testdata", "v5.sql"))
	if err != nil {
		t.Fatal(err)
	}
	run(t, old, string(text))
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	db := openTasks(t, path)
	s := db.Stores()
	for _, tt := range []struct {
		query task.Query
		want  []string
	}{
		{task.Query{Session: "s1"}, []string{"ended", "ran"}},
		{task.Query{Session: "s2", Active: true}, []string{"waits"}},
		{task.Query{Owed: true, Parent: "p"}, []string{"owed"}},
		{task.Query{Active: true, Parent: "p"}, []string{"ran", "waits"}},
		{task.Query{State: task.Done}, []string{"ended"}},
	} {
		list, err := s.Tasks.List(t.Context(), tt.query)
		var got []string
		for _, one := range list {
			got = append(got, one.ID)
		}
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %v, %v, want %v", tt.query, got, err, tt.want)
		}
	}
	if _, err := s.Tasks.Get(t.Context(), "broken"); tool.KindOf(err) != tool.Internal {
		t.Errorf("a task that was damaged before: %v", err)
	}
	leased, _, err := s.Queue.Lease(t.Context(), task.Request{Holder: "host:state", Own: true, For: time.Hour, N: 9})
	if err != nil || len(leased) != 2 {
		t.Fatalf("leased %v, %v", leased, err)
	}
	for _, one := range leased {
		if one.Lease.Fence <= 41 {
			t.Errorf("%s has the fence %d, and an earlier lease had 41", one.ID, one.Lease.Fence)
		}
	}
	if leased[0].ID != "ran" || leased[0].Attempt != 3 || leased[0].Asker.Principal.User != "ada" {
		t.Errorf("%+v", leased[0])
	}
	if err := s.TaskLogs.Append(t.Context(), "ran", task.Entry{Text: "on"}, 5); err != nil {
		t.Errorf("its log: %v", err)
	}
}
