package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/internal/storage/sqlite"
	"callgate/internal/task"
)

// TestMigrateVersion3 opens a database that commit 8a0121a wrote: a journal
// with a call in doubt, two approvals and two conversations.
func TestMigrateVersion3(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "v3.sql"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "state.db")
	old := raw(t, path)
	run(t, old, string(text))
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing to migrate
		db, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		checkVersion3(t, db)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	stores := db.Stores()
	info, err := stores.Conversations.Get(t.Context(), "second")
	if err != nil {
		t.Fatal(err)
	}
	if err := stores.Conversations.Append(t.Context(), info, 3, []history.Event{{Type: history.TurnEnded, End: &history.End{Reason: history.Done}}}); err != nil {
		t.Errorf("a conversation of before goes on: %v", err)
	}
	if err := stores.Deleter.Delete(t.Context(), "first"); err != nil {
		t.Error(err)
	}
	if _, _, err := stores.Tasks.Create(t.Context(), task.Task{ID: "a", Kind: "call"}); err != nil {
		t.Error(err)
	}
}

// TestMigrateDoubts: the calls that were in doubt before there was a table of them
// still are, and nothing decides about them again.
func TestMigrateDoubts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "v3.sql"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "state.db")
	old := raw(t, path)
	run(t, old, string(text))
	run(t, old, `INSERT INTO records (seq, epoch, kind, call, body, hash) VALUES
		(101, 9, 'doubted', 'open', x'7b7d', x''), (102, 9, 'doubted', 'closed', x'7b7d', x''),
		(103, 9, 'resolved', 'closed', x'7b7d', x'')`)
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	open, err := db.Journal().Doubts(t.Context(), doubt.Query{})
	if err != nil || len(open) != 1 || open[0].Call != "open" || open[0].Seq != 101 || open[0].State != doubt.Judged {
		t.Errorf("in doubt: %+v, %v", open, err)
	}
}

func checkVersion3(t *testing.T, db *sqlite.DB) {
	t.Helper()
	stores := db.Stores()
	report, err := journal.Verify(t.Context(), stores.Journal, journal.Options{}, nil)
	if err != nil || !report.OK() || report.Records != 9 {
		t.Errorf("the journal: %+v, %v", report, err)
	}
	open, err := stores.Journal.Unended(t.Context(), 0)
	if err != nil || len(open) != 1 || open[0].Call != "call-2" {
		t.Errorf("in doubt: %v, %v", open, err)
	}
	var states []string
	requests, err := stores.Approvals.List(t.Context(), "", 0)
	for _, r := range requests {
		states = append(states, fmt.Sprintf("%s is %s", r.ID, r.State))
	}
	if got := strings.Join(states, ", "); err != nil || got != "waits is pending, approved is approved" {
		t.Errorf("approvals: %q, %v", got, err)
	}
	if len(requests) == 2 && (requests[1].Answer == nil || requests[1].Answer.By != "ada" || requests[0].State != approval.Pending) {
		t.Errorf("the answer is %+v", requests[1].Answer)
	}
	infos, err := stores.Conversations.List(t.Context(), 0)
	if err != nil || len(infos) != 2 || infos[0].ID != "second" || infos[1].Title != "hello first" {
		t.Errorf("conversations: %+v, %v", infos, err)
	}
	events, err := stores.Conversations.Read(t.Context(), "first", 0)
	if err != nil || len(events) != 3 || events[0].Message.Text() != "hello first" || events[2].End.Reason != history.Done {
		t.Errorf("events: %+v, %v", events, err)
	}
}

// Several that open a new place at once all find it ready.
func TestFirstOpeningsAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			db, err := sqlite.Open(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// TestOpenWaitsForAnotherFirstOpening opens a new file while another connection writes to it, as
// another process does that opens the file first. SQLite refuses the change of the journal's mode
// at once then, whatever its busy timeout.
func TestOpenWaitsForAnotherFirstOpening(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	other := raw(t, path)
	run(t, other, "BEGIN IMMEDIATE")
	opened := make(chan error, 1)
	go func() {
		db, err := sqlite.Open(t.Context(), path)
		if err == nil {
			err = db.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatalf("Open did not wait: %v", err)
	case <-time.After(time.Second): // less than its patience
	}
	run(t, other, "ROLLBACK")
	if err := <-opened; err != nil {
		t.Error(err)
	}
}
