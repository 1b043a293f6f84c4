package tabletest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"callgate/internal/conversation/history"
	"callgate/internal/document"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/storage"
	"callgate/internal/task"
	"callgate/llm"
	"callgate/tool"
)

// Fill gives a driver something in each of its tables: what a kernel that was used for a while leaves there. The anchor
// and the key of the journal are in dir.
func Fill(t *testing.T, d storage.Driver, dir string) {
	t.Helper()
	fillJournal(t, d.Stores().Journal, dir)
	fillApprovals(t, d.Stores().Approvals)
	fillConversations(t, d.Stores())
	fillDocuments(t, d.Stores().Documents)
	fillTasks(t, d.Stores())
	for _, content := range [][]byte{nil, []byte("small"), bytes.Repeat([]byte{0, 1, 0xff}, 1<<20)} {
		ref := fmt.Sprintf("sha256:%x", sha256.Sum256(content))
		ok(t, d.Stores().Blobs.Put(t.Context(), ref, int64(len(content)), bytes.NewReader(content)))
	}
}

// Journal are the options of the journal that Fill has left.
func Journal(dir string) journal.Options {
	return journal.Options{
		Anchor: filepath.Join(dir, "journal.anchor"), KeyFile: filepath.Join(dir, "journal.key"), MaxEpochRecords: 20,
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fillJournal leaves dropped epochs, and doubts in every state.
func fillJournal(t *testing.T, store journal.Store, dir string) {
	t.Helper()
	commit := func(j *journal.Journal, r journal.Record) {
		t.Helper()
		_, err := j.Commit(t.Context(), r)
		ok(t, err)
	}
	for start := range 2 {
		j, err := journal.Open(t.Context(), store, Journal(dir))
		ok(t, err)
		doubts, err := j.Recover(t.Context())
		ok(t, err)
		for i, d := range doubts {
			for _, kind := range []journal.Kind{journal.Judged, journal.Told, journal.Resolved}[:i] {
				commit(j, d.About(kind))
			}
		}
		if start == 0 {
			for i := range 25 {
				for _, kind := range []journal.Kind{journal.Asked, journal.Begun, journal.Ended} {
					commit(j, journal.Record{Kind: kind, Call: fmt.Sprintf("call %d", i)})
				}
			}
			_, err = j.Prune(t.Context(), time.Now().Add(time.Hour))
			ok(t, err)
			for i := range 4 {
				commit(j, journal.Record{Kind: journal.Begun, Call: fmt.Sprintf("doubtful %d", i)})
			}
		}
		ok(t, j.Close())
	}
}

func fillApprovals(t *testing.T, s approval.Store) {
	t.Helper()
	for _, id := range []string{"z", "a", "m"} { // their order is not that of their names
		ok(t, s.Create(t.Context(), approval.Request{
			ID: id, Call: tool.Call{ID: "call " + id, Args: json.RawMessage(`{"b":1,"a":2}`)}, AskedAt: time.Now(),
		}))
	}
	_, err := s.Settle(t.Context(), "a", approval.Pending, approval.Approved, &approval.Answer{Approve: true, By: "ada"})
	ok(t, err)
}

func fillConversations(t *testing.T, s storage.Stores) {
	t.Helper()
	for _, id := range []string{"two", "one", "gone", "empty"} {
		ok(t, s.Conversations.Create(t.Context(), history.Info{ID: id, Updated: time.Now()}))
	}
	said := llm.Message{Role: llm.User, Parts: []llm.Part{{Text: "é \x00 <&> \xff"}}}
	for _, id := range []string{"two", "one", "gone"} {
		for seq := range int64(5) {
			event := history.Event{Type: history.User, At: time.Now(), Message: &said}
			info := history.Info{ID: id, Updated: time.Now()}
			ok(t, s.Conversations.Append(t.Context(), info, seq, []history.Event{event}))
		}
	}
	ok(t, s.Deleter.Delete(t.Context(), "gone"))
}

func fillDocuments(t *testing.T, s document.Store) {
	t.Helper()
	for i, c := range []document.Change{
		{Collection: "c/é", Key: "b '\" \\", Data: []byte("{}")},
		{Collection: "c/é", Key: "a", Data: []byte{}},
		{Collection: "tokens", Key: "a", Data: []byte{0, 0xff, '\n'}},
		{Collection: "z", Key: "last", Data: []byte("goes")},
	} {
		version, err := s.Write(t.Context(), c)
		ok(t, err)
		if i == 3 { // a number that no document has any more
			c.If, c.Data = version, nil
			_, err = s.Write(t.Context(), c)
			ok(t, err)
		}
	}
}

// fillTasks leaves tasks in every state, the newest fence on one that has been pruned.
func fillTasks(t *testing.T, s storage.Stores) {
	t.Helper()
	lease := func(id string) uint64 {
		t.Helper()
		leased, _, err := s.Queue.Lease(t.Context(), task.Request{Holder: "h", ID: id, For: time.Hour})
		if err != nil || len(leased) != 1 {
			t.Fatalf("leasing %s: %v, %v", id, leased, err)
		}
		return leased[0].Lease.Fence
	}
	for _, id := range []string{"waits", "runs", "ended", "told", "cancelled", "pruned"} {
		one := task.Task{ID: id, Kind: "k", Parent: "one", Label: "l", MaxAttempts: 3}
		one.Input = json.RawMessage(`{"b":1,"a":2}`)
		if id == "pruned" {
			one.Parent = ""
		}
		_, _, err := s.Tasks.Create(t.Context(), one)
		ok(t, err)
	}
	for _, id := range []string{"runs", "ended", "told", "pruned"} {
		fence := lease(id)
		for n := range 3 {
			line := task.Entry{Text: fmt.Sprint("line ", n), Data: json.RawMessage(`[1]`)}
			ok(t, s.TaskLogs.Append(t.Context(), id, line, 2))
		}
		if id == "runs" {
			ok(t, s.Leases.Save(t.Context(), id, fence, json.RawMessage(`{"step":2}`)))
			continue
		}
		ok(t, s.Leases.End(t.Context(), id, fence, task.Outcome{State: task.Done, Summary: "all"}))
	}
	_, err := s.Queue.Prune(t.Context(), time.Now().Add(time.Hour))
	ok(t, err)
	ok(t, s.Tasks.Told(t.Context(), "told"))
	ok(t, s.Tasks.Cancel(t.Context(), "cancelled", "ada"))
}
