package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"callgate/internal/conversation/history"
	"callgate/internal/document"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/storage/sqlite"
	"callgate/internal/task"
)

// A driver that is held writes nothing into any store, and says why.
func TestHeldWritesNothing(t *testing.T) {
	t.Parallel()
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "callgate.db")
	db, err := sqlite.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	reason := errors.New("held")
	db.Hold(func() error { return reason })
	s := db.Stores()
	for name, write := range map[string]func() error{
		"documents": func() error {
			_, err := s.Documents.Write(ctx, document.Change{Collection: "c", Key: "k", Data: []byte("{}")})
			return err
		},
		"approvals": func() error { return s.Approvals.Create(ctx, approval.Request{ID: "a"}) },
		"answers": func() error {
			_, err := s.Approvals.Settle(ctx, "a", approval.Pending, approval.Denied, nil)
			return err
		},
		"conversations": func() error { return s.Conversations.Create(ctx, history.Info{ID: "c", Updated: time.Now()}) },
		"events":        func() error { return s.Conversations.Append(ctx, history.Info{ID: "c"}, 0, make([]history.Event, 1)) },
		"deleting":      func() error { return s.Deleter.Delete(ctx, "c") },
		"tasks": func() error {
			_, _, err := s.Tasks.Create(ctx, task.Task{ID: "t", Kind: "k", MaxAttempts: 1})
			return err
		},
		"pruning": func() error {
			_, err := s.Queue.Prune(ctx, time.Now())
			return err
		},
		"records": func() error { return s.Journal.Append(ctx, []journal.Row{{Seq: 1, Epoch: 1, Kind: journal.Noted}}) },
		"drops":   func() error { return s.Journal.Drop(ctx, journal.PruneSummary{LastSeq: 1}) },
	} {
		if err := write(); err == nil || !errors.Is(err, reason) && err.Error() != reason.Error() {
			t.Errorf("%s: %v", name, err)
		}
	}
	reason = nil
	if err := s.Conversations.Create(ctx, history.Info{ID: "c", Updated: time.Now()}); err != nil {
		t.Errorf("when it is no longer held: %v", err)
	}
}

// A file that only is read is read with its log, and neither is touched.
func TestOpenReading(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	from, to := t.TempDir(), t.TempDir()
	db, err := sqlite.Open(ctx, filepath.Join(from, "callgate.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Stores().Conversations.Create(ctx, history.Info{ID: "in-the-log", Updated: time.Now()}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"callgate.db", "callgate.db-wal"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, 0o400)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	read, err := sqlite.OpenReading(ctx, filepath.Join(to, "callgate.db"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := read.Stores().Conversations.List(ctx, 0)
	if err != nil || len(list) != 1 || list[0].ID != "in-the-log" {
		t.Errorf("it reads %v, %v", list, err)
	}
	if err := read.Stores().Conversations.Create(ctx, history.Info{ID: "x"}); err == nil {
		t.Error("it was written")
	}
	if err := read.Close(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(to); err != nil || len(entries) != 2 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}
