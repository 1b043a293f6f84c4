package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"callgate/internal/conversation/history"
	"callgate/internal/document"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/storage"
	"callgate/internal/storage/postgres"
	"callgate/internal/task"
	"callgate/tool"
)

// write is one write of each kind, and a look that it happened once.
type write struct {
	before func(t *testing.T, s storage.Stores) error // what must be there first
	make   func(t *testing.T, s storage.Stores) error
	once   func(t *testing.T, s storage.Stores) error
}

var errNotOnce = errors.New("it did not happen once")

func once(is bool, err error) error {
	if err == nil && !is {
		err = errNotOnce
	}
	return err
}

// emptyBlob is the ref of no bytes.
var emptyBlob = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func writes() map[string]write {
	var version int64
	row := journal.Row{Seq: 1, Epoch: 1, Kind: journal.Doubted, Call: "a", Body: []byte("{}")}
	create := func(t *testing.T, s storage.Stores) error {
		_, _, err := s.Tasks.Create(t.Context(), task.Task{ID: "a", Kind: "call"})
		return err
	}
	return map[string]write{
		"journal": {
			make: func(t *testing.T, s storage.Stores) error { return s.Journal.Append(t.Context(), []journal.Row{row}) },
			once: func(t *testing.T, s storage.Stores) error {
				rows, err := s.Journal.Rows(t.Context(), journal.Query{})
				return once(len(rows) == 1, err)
			},
		},
		"approval": {
			make: func(t *testing.T, s storage.Stores) error {
				return s.Approvals.Create(t.Context(), approval.Request{ID: "a"})
			},
			once: func(t *testing.T, s storage.Stores) error {
				list, err := s.Approvals.List(t.Context(), "", 0)
				return once(len(list) == 1, err)
			},
		},
		"answer": {
			before: func(t *testing.T, s storage.Stores) error {
				return s.Approvals.Create(t.Context(), approval.Request{ID: "a"})
			},
			make: func(t *testing.T, s storage.Stores) error {
				moved, err := s.Approvals.Settle(t.Context(), "a", approval.Pending, approval.Denied, nil)
				return once(moved, err)
			},
			once: func(t *testing.T, s storage.Stores) error {
				r, err := s.Approvals.Get(t.Context(), "a")
				return once(r.State == approval.Denied, err)
			},
		},
		"events": {
			before: func(t *testing.T, s storage.Stores) error {
				return s.Conversations.Create(t.Context(), history.Info{ID: "a"})
			},
			make: func(t *testing.T, s storage.Stores) error {
				return s.Conversations.Append(t.Context(), history.Info{ID: "a"}, 0, make([]history.Event, 2))
			},
			once: func(t *testing.T, s storage.Stores) error {
				events, err := s.Conversations.Read(t.Context(), "a", 0)
				return once(len(events) == 2, err)
			},
		},
		"document": {
			make: func(t *testing.T, s storage.Stores) error {
				v, err := s.Documents.Write(t.Context(), document.Change{Collection: "c", Key: "k", Data: []byte("x")})
				version = v
				return once(v > 0, err)
			},
			once: func(t *testing.T, s storage.Stores) error {
				d, err := s.Documents.Get(t.Context(), "c", "k")
				return once(d.Version == version, err)
			},
		},
		"blob": {
			make: func(t *testing.T, s storage.Stores) error {
				return s.Blobs.Put(t.Context(), emptyBlob, 0, strings.NewReader(""))
			},
			once: func(t *testing.T, s storage.Stores) error {
				list, err := s.Blobs.List(t.Context(), "", 9)
				return once(len(list) == 1, err)
			},
		},
		"task": {
			make: func(t *testing.T, s storage.Stores) error {
				_, fresh, err := s.Tasks.Create(t.Context(), task.Task{ID: "a", Kind: "call"})
				return once(fresh, err)
			},
			once: func(t *testing.T, s storage.Stores) error {
				list, err := s.Tasks.List(t.Context(), task.Query{})
				return once(len(list) == 1, err)
			},
		},
		"lease": {
			before: create,
			make: func(t *testing.T, s storage.Stores) error {
				list, _, err := s.Queue.Lease(t.Context(), task.Request{Holder: "h", For: time.Hour})
				return once(len(list) == 1 && list[0].Attempt == 1, err)
			},
			once: func(t *testing.T, s storage.Stores) error {
				got, err := s.Tasks.Get(t.Context(), "a")
				return once(got.State == task.Running && got.Attempt == 1, err)
			},
		},
		"log": {
			before: create,
			make: func(t *testing.T, s storage.Stores) error {
				return s.TaskLogs.Append(t.Context(), "a", task.Entry{Text: "x"}, 9)
			},
			once: func(t *testing.T, s storage.Stores) error {
				list, err := s.TaskLogs.Entries(t.Context(), "a", 0)
				return once(len(list) == 1, err)
			},
		},
	}
}

// A COMMIT that is lost, or whose answer is, is found out: the write is reported as done, and was done once.
func TestLostCommits(t *testing.T) {
	t.Parallel()
	p := newProxy(t)
	for _, f := range []fault{loseAnswer, loseCommit} {
		at := server.Schema(t, schemaAt(t.TempDir()))
		for name, w := range writes() {
			db := p.openAt(t, at, node(name))
			if w.before != nil {
				if err := w.before(t, db.Stores()); err != nil {
					t.Fatal(err)
				}
			}
			before := p.set(f)
			if err := w.make(t, db.Stores()); err != nil {
				t.Errorf("%s, %s: %v", name, f, err)
			}
			if p.set(none) != before+1 {
				t.Errorf("%s: no COMMIT was lost", name)
			}
			if err := w.once(t, db.Stores()); err != nil {
				t.Errorf("%s, %s: %v", name, f, err)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// While nobody can say whether an append was written, the journal reads nothing: what it would believe might change.
func TestJournalWaitsForLostCommits(t *testing.T) {
	t.Parallel()
	p := newProxy(t)
	db := p.open(t)
	db.SettlePatience = 50 * time.Millisecond
	s := db.Stores().Journal
	p.set(goAway)
	rows := []journal.Row{{Seq: 1, Epoch: 1, Kind: journal.Opened, Body: []byte("{}")}}
	err := s.Append(t.Context(), rows)
	if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "not known") {
		t.Fatalf("the append says %v", err)
	}
	if got, err := s.Rows(t.Context(), journal.Query{}); tool.KindOf(err) != tool.Unavailable {
		t.Fatalf("read %v, %v", got, err)
	}
	p.set(none)
	got, err := s.Rows(t.Context(), journal.Query{})
	if err != nil || len(got) != 1 {
		t.Fatalf("afterwards: %v, %v", got, err)
	}
	rows[0].Seq = 2
	if err := s.Append(t.Context(), rows); err != nil {
		t.Error(err)
	}
}

// A lease of which its holder never heard is given again, and the attempt does not count.
func TestLostLeases(t *testing.T) {
	t.Parallel()
	p := newProxy(t)
	db := p.open(t)
	db.SettlePatience = 50 * time.Millisecond
	s := db.Stores()
	if _, _, err := s.Tasks.Create(t.Context(), task.Task{ID: "a", Kind: "call", MaxAttempts: 1}); err != nil {
		t.Fatal(err)
	}
	p.set(goAway)
	r := task.Request{Holder: "h", For: time.Hour}
	if _, _, err := s.Queue.Lease(t.Context(), r); tool.KindOf(err) != tool.Unavailable {
		t.Fatalf("the lease says %v", err)
	}
	p.set(none)
	list, ended, err := s.Queue.Lease(t.Context(), r)
	if err != nil || len(list) != 1 || list[0].Attempt != 1 || len(ended) != 0 {
		t.Errorf("leased %+v, ended %+v, %v", list, ended, err)
	}
}

// Connections that ended while nobody used them are made anew, and nobody hears of it.
func TestReconnects(t *testing.T) {
	t.Parallel()
	p := newProxy(t)
	db := p.open(t)
	for n := range 3 {
		change := document.Change{Collection: "c", Key: fmt.Sprint(n), Data: []byte("x")}
		if _, err := db.Stores().Documents.Write(t.Context(), change); err != nil {
			t.Fatal(err)
		}
		p.cut()
		if _, err := db.Stores().Documents.Get(t.Context(), "c", fmt.Sprint(n)); err != nil {
			t.Fatal(err)
		}
		p.cut()
	}
}

// A blob whose source can be read once only is not kept by half when the connection is lost under it.
func TestBlobOfAStream(t *testing.T) {
	t.Parallel()
	p := newProxy(t)
	db := p.open(t)
	source := &cutting{p: p, r: strings.NewReader("text")}
	ref := "sha256:982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1"
	if err := db.Stores().Blobs.Put(t.Context(), ref, 4, source); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("the first time: %v", err)
	}
	if list, err := db.Stores().Blobs.List(t.Context(), "", 9); err != nil || len(list) != 0 {
		t.Errorf("kept are %v, %v", list, err)
	}
	if err := db.Stores().Blobs.Put(t.Context(), ref, 4, strings.NewReader("text")); err != nil {
		t.Error(err)
	}
}

// cutting is a source that ends every connection when it is read.
type cutting struct {
	p *proxy
	r *strings.Reader
}

func (c *cutting) Read(b []byte) (int, error) {
	c.p.cut()
	return c.r.Read(b)
}

var _ storage.Driver = (*postgres.DB)(nil)
