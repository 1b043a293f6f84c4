package postgres_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/artifact"
	"callgate/internal/conversation/history"
	"callgate/internal/document"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/internal/storage"
	"callgate/internal/storage/postgres"
	"callgate/internal/task"
	"callgate/internal/token"
	"callgate/tool"
)

// look is what somebody finds in one store.
type look func(t *testing.T, s storage.Stores) (found string, err error)

// looks are those into every store that belongs to a node.
func looks() map[string]look {
	return map[string]look{
		"journal": func(t *testing.T, s storage.Stores) (string, error) {
			rows, err := s.Journal.Rows(t.Context(), journal.Query{})
			return list(rows, func(r journal.Row) string { return r.Call }), err
		},
		"unended": func(t *testing.T, s storage.Stores) (string, error) {
			rows, err := s.Journal.Unended(t.Context(), 0)
			return list(rows, func(r journal.Row) string { return r.Call }), err
		},
		"drops": func(t *testing.T, s storage.Stores) (string, error) {
			all, err := s.Journal.Drops(t.Context())
			return list(all, func(journal.PruneSummary) string { return "drop" }), err
		},
		"doubts": func(t *testing.T, s storage.Stores) (string, error) {
			rows, err := s.Journal.Doubts(t.Context(), doubt.Query{})
			return list(rows, func(r journal.DoubtRow) string { return r.Call }), err
		},
		"counted doubts": func(t *testing.T, s storage.Stores) (string, error) {
			counts, err := s.Journal.CountDoubts(t.Context())
			return strings.Repeat("x", counts[doubt.New]), err
		},
		"approvals": func(t *testing.T, s storage.Stores) (string, error) {
			all, err := s.Approvals.List(t.Context(), "", 0)
			return list(all, func(r approval.Request) string { return r.ID }), err
		},
		"pending approvals": func(t *testing.T, s storage.Stores) (string, error) {
			all, err := s.Approvals.List(t.Context(), approval.Pending, 0)
			return list(all, func(r approval.Request) string { return r.ID }), err
		},
		"an approval": func(t *testing.T, s storage.Stores) (string, error) {
			r, err := s.Approvals.Get(t.Context(), "key")
			return r.ID, err
		},
		"conversations": func(t *testing.T, s storage.Stores) (string, error) {
			all, err := s.Conversations.List(t.Context(), 0)
			return list(all, func(i history.Info) string { return i.ID }), err
		},
		"events": func(t *testing.T, s storage.Stores) (string, error) {
			all, err := s.Conversations.Read(t.Context(), "key", 0)
			return list(all, func(history.Event) string { return "event" }), err
		},
		"documents": func(t *testing.T, s storage.Stores) (string, error) {
			all, err := s.Documents.List(t.Context(), "c", "", "", 0)
			return list(all, func(d document.Document) string { return string(d.Data) }), err
		},
		"a document": func(t *testing.T, s storage.Stores) (string, error) {
			d, err := s.Documents.Get(t.Context(), "c", "key")
			return string(d.Data), err
		},
		"tasks": func(t *testing.T, s storage.Stores) (string, error) {
			all, err := s.Tasks.List(t.Context(), task.Query{})
			return list(all, func(t task.Task) string { return t.ID }), err
		},
		"a task": func(t *testing.T, s storage.Stores) (string, error) {
			got, err := s.Tasks.Get(t.Context(), "key")
			return got.ID, err
		},
		"due": func(t *testing.T, s storage.Stores) (string, error) {
			at, err := s.Queue.Next(t.Context(), "h")
			return map[bool]string{true: "", false: "due"}[at.IsZero()], err
		},
		"leased": func(t *testing.T, s storage.Stores) (string, error) {
			all, _, err := s.Queue.Lease(t.Context(), task.Request{Holder: "h", N: 9})
			return list(all, func(t task.Task) string { return t.ID }), err
		},
		"log": func(t *testing.T, s storage.Stores) (string, error) {
			all, err := s.TaskLogs.Entries(t.Context(), "key", 0)
			return list(all, func(e task.Entry) string { return e.Text }), err
		},
		"blobs": func(t *testing.T, s storage.Stores) (string, error) {
			all, err := s.Blobs.List(t.Context(), "", 9)
			if len(all) == 0 {
				return "", err
			}
			return "blob", err
		},
	}
}

func list[T any](all []T, name func(T) string) string {
	var names []string
	for _, one := range all {
		names = append(names, name(one))
	}
	return strings.Join(names, " ")
}

// fillStores writes something into every store that belongs to a node.
func fillStores(t *testing.T, s storage.Stores) {
	t.Helper()
	_, _, created := s.Tasks.Create(t.Context(), task.Task{ID: "key", Kind: "call"})
	_, written := s.Documents.Write(t.Context(), document.Change{Collection: "c", Key: "key", Data: []byte("x")})
	if err := errors.Join(
		s.Journal.Append(t.Context(), []journal.Row{
			{Seq: 1, Kind: journal.Asked, Call: "gone", Body: []byte("{}")},
			{Seq: 2, Kind: journal.Begun, Call: "key", Body: []byte("{}")},
			{Seq: 3, Kind: journal.Doubted, Call: "doubted", Body: []byte("{}")}}),
		s.Journal.Drop(t.Context(), journal.PruneSummary{LastSeq: 1}),
		s.Approvals.Create(t.Context(), approval.Request{ID: "key"}),
		s.Conversations.Create(t.Context(), history.Info{ID: "key"}),
		s.Conversations.Append(t.Context(), history.Info{ID: "key"}, 0, make([]history.Event, 1)),
		created, written,
		s.TaskLogs.Append(t.Context(), "key", task.Entry{Text: "entry"}, 9),
		s.Blobs.Put(t.Context(), emptyBlob, 0, strings.NewReader("")),
	); err != nil {
		t.Fatal(err)
	}
}

// What one node keeps the other does not see, changes or takes, and can have under the same keys.
func TestNodesAreApart(t *testing.T) {
	t.Parallel()
	at := server.Schema(t, schemaAt(t.TempDir()))
	a, b := openNode(t, at, "a"), openNode(t, at, "b")
	fillStores(t, a.Stores())
	for name, look := range looks() {
		if found, err := look(t, b.Stores()); found != "" || err != nil && tool.KindOf(err) != tool.NotFound {
			t.Errorf("%s: the other node finds %q, %v", name, found, err)
		}
	}
	notChanged(t, b.Stores())
	fillStores(t, b.Stores()) // the same keys are free
	for _, db := range []*postgres.DB{a, b} {
		for name, look := range looks() {
			if name == "due" {
				continue // leasing, which is another look, takes it
			}
			found, err := look(t, db.Stores())
			if found == "" || err != nil || strings.Contains(found, " ") && name != "journal" {
				t.Errorf("%s: a node finds %q of its own, %v", name, found, err)
			}
		}
	}
}

// notChanged: what a node does to what only another has is refused, or does nothing.
func notChanged(t *testing.T, s storage.Stores) {
	t.Helper()
	moved, err := s.Approvals.Settle(t.Context(), "key", approval.Pending, approval.Denied, nil)
	if moved || err != nil {
		t.Errorf("it settles an approval: %v", err)
	}
	if n, err := s.Queue.Prune(t.Context(), time.Now().Add(time.Hour)); n != 0 || err != nil {
		t.Errorf("it prunes %d tasks, %v", n, err)
	}
	gone, err := s.Blobs.Delete(t.Context(), emptyBlob, time.Now().Add(time.Hour))
	if gone || err != nil {
		t.Errorf("it deletes a blob: %v", err)
	}
	for what, err := range map[string]error{
		"deletes a conversation": s.Deleter.Delete(t.Context(), "key"),
		"appends to one":         s.Conversations.Append(t.Context(), history.Info{ID: "key"}, 1, make([]history.Event, 1)),
		"cancels a task":         s.Tasks.Cancel(t.Context(), "key", "ada"),
		"tells of one":           s.Tasks.Told(t.Context(), "key"),
		"ends one":               s.Leases.End(t.Context(), "key", 1, task.Outcome{State: task.Done}),
		"logs to one":            s.TaskLogs.Append(t.Context(), "key", task.Entry{}, 9),
	} {
		if tool.KindOf(err) != tool.NotFound {
			t.Errorf("it %s: %v", what, err)
		}
	}
}

// A token that a human makes at one node works at every node, until it is revoked at any.
func TestTokensAreShared(t *testing.T) {
	t.Parallel()
	at := server.Schema(t, schemaAt(t.TempDir()))
	a, b := openNode(t, at, "a"), openNode(t, at, "b")
	made := token.Token{Name: "laptop", Role: token.Viewer}
	if _, _, err := token.NewStore(a.Stores().Documents).Create(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	all, err := b.Stores().Documents.List(t.Context(), "tokens", "", "", 0)
	if err != nil || len(all) != 1 {
		t.Fatalf("the other node has %v, %v", all, err)
	}
	// One write of shared documents and others, and a number greater than any before.
	version, err := b.Stores().Documents.Write(t.Context(),
		document.Change{Collection: "tokens", Key: all[0].Key, If: all[0].Version},
		document.Change{Collection: "c", Key: "k", Data: []byte("x")})
	if err != nil || version <= all[0].Version {
		t.Fatal(version, err)
	}
	later, err := a.Stores().Documents.Write(t.Context(), document.Change{Collection: "c", Key: "k", Data: []byte("x")})
	if err != nil || later <= version {
		t.Errorf("%d after %d, %v", later, version, err)
	}
	if all, err := a.Stores().Documents.List(t.Context(), "tokens", "", "", 0); err != nil || len(all) != 0 {
		t.Errorf("after it was removed: %v, %v", all, err)
	}
}

// A blob that two nodes put is there until both have deleted it, and any node reads it.
func TestBlobOwners(t *testing.T) {
	t.Parallel()
	at := server.Schema(t, schemaAt(t.TempDir()))
	open := func(id string) artifact.Blobs { return openNode(t, at, id).Stores().Blobs }
	a, b, c := open("a"), open("b"), open("c")
	ref := "sha256:982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1"
	read := func() string {
		t.Helper()
		r, err := c.Open(t.Context(), ref)
		if tool.KindOf(err) == tool.NotFound {
			return "none"
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for range 2 {
		for _, blobs := range []artifact.Blobs{a, b} {
			if err := blobs.Put(t.Context(), ref, 4, strings.NewReader("text")); err != nil {
				t.Fatal(err)
			}
		}
		later := time.Now().Add(time.Hour)
		for _, step := range []struct {
			who  artifact.Blobs
			gone bool
			left string
		}{
			{c, false, "text"}, // it never had it
			{a, true, "text"},
			{a, false, "text"},
			{b, true, "none"},
		} {
			gone, err := step.who.Delete(t.Context(), ref, later)
			if diff := cmp.Diff(step.left, read()); err != nil || gone != step.gone || diff != "" {
				t.Errorf("gone %v, %v: %s", gone, err, diff)
			}
		}
	}
}

// The journal of another node can be read, and not written.
func TestJournalOf(t *testing.T) {
	t.Parallel()
	at := server.Schema(t, schemaAt(t.TempDir()))
	a, b := openNode(t, at, "a"), openNode(t, at, "b")
	fillStores(t, a.Stores())
	of := b.JournalOf("a")
	for _, name := range []string{"journal", "doubts", "drops"} {
		look := looks()[name]
		want, _ := look(t, a.Stores())
		if got, err := look(t, storage.Stores{Journal: of}); err != nil || got != want || got == "" {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	for name, err := range map[string]error{
		"append": of.Append(t.Context(), []journal.Row{{Seq: 9, Body: []byte("{}")}}),
		"drop":   of.Drop(t.Context(), journal.PruneSummary{LastSeq: 2}),
	} {
		if tool.KindOf(err) != tool.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := b.JournalOf("b").Append(t.Context(), []journal.Row{{Seq: 1, Body: []byte("{}")}}); err != nil {
		t.Errorf("its own: %v", err)
	}
}
