package postgres_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"callgate/internal/document"
	"callgate/internal/gate/approval"
	"callgate/internal/secret"
	"callgate/internal/secret/authority"
	"callgate/internal/storage"
	"callgate/internal/storage/postgres"
	"callgate/internal/storage/postgres/plainrows"
	"callgate/internal/storage/storagetest"
	"callgate/internal/task"
	"callgate/tool"
)

// keyOf is the key of a cluster at whose nodes these were placed.
func keyOf(t testing.TB, texts ...string) *authority.Key {
	t.Helper()
	path := filepath.Join(t.TempDir(), "user-secrets.key")
	if err := os.WriteFile(path, []byte(strings.Join(texts, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	placed, err := secret.ReadPlaced(path)
	if err != nil {
		t.Fatal(err)
	}
	return authority.New(placed)
}

var firstKey, secondKey = strings.Repeat("a1", 32), strings.Repeat("b2", 32)

// distrusted are the errors of rows that a node did not believe.
type distrusted struct {
	mu   sync.Mutex
	said []string
}

func (d *distrusted) take(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.said = append(d.said, err.Error())
}

func openSigned(t *testing.T, at, id string, key *authority.Key) (*postgres.DB, *distrusted) {
	t.Helper()
	d := &distrusted{}
	n := node(id)
	n.Key, n.Distrust = key, d.take
	db, err := postgres.Open(t.Context(), at, n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db, d
}

// writerAt is somebody who can write in a database, and has nothing else.
func writerAt(t *testing.T, at string) func(string, ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return func(statement string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
}

func isDenied(err error) bool { return tool.KindOf(err) == tool.Denied }

// The suite again, of nodes that sign.
func TestConformanceSigned(t *testing.T) {
	t.Parallel()
	shared, key := t.TempDir(), keyOf(t, firstKey, secondKey)
	storagetest.Driver(t, func(t *testing.T, place string) storage.Driver {
		at := server.Schema(t, schemaAt(shared))
		if strings.Contains(t.Name(), "/Blobs/") || strings.Contains(t.Name(), "/Tables/") {
			at = server.Schema(t, schemaAt(place))
		}
		n := node(schemaAt(place))
		n.Key = key
		db, err := postgres.Open(t.Context(), at, n)
		if err != nil {
			t.Fatal(err)
		}
		return db
	})
}

// A document that no node wrote does not count, wherever it is put; those beside it do.
func TestForgedDocuments(t *testing.T) {
	t.Parallel()
	at := server.Schema(t, schemaAt(t.TempDir()))
	db, said := openSigned(t, at, "a", keyOf(t, firstKey))
	write, docs := writerAt(t, at), db.Stores().Documents
	put := func(collection, key, data string) {
		t.Helper()
		if _, err := docs.Write(t.Context(), document.Change{Collection: collection, Key: key, Data: []byte(data)}); err != nil {
			t.Fatal(err)
		}
	}
	put("tokens", "one", "1")
	put("tokens", "two", "2")
	put("lasting_grants", "mine", "yes")
	insert := `INSERT INTO documents (node, collection, key, version, data, updated, mac) VALUES ($1, $2, $3, 99, $4, 0, $5)`
	for name, attack := range map[string]func() (collection, key string){
		"an invented token": func() (string, string) {
			write(insert, "", []byte("tokens"), []byte("forged"), []byte("1"), nil)
			return "tokens", "forged"
		},
		"with a code of another": func() (string, string) {
			write(`INSERT INTO documents (node, collection, key, version, data, updated, mac) SELECT node, collection, 'copied', 99, data, 0, mac
				FROM documents WHERE key = 'one'`)
			return "tokens", "copied"
		},
		"another's grant": func() (string, string) {
			write(`INSERT INTO documents (node, collection, key, version, data, updated, mac) SELECT 'a', 'lasting_grants', 'theirs', 99, data, 0, mac
				FROM documents WHERE key = 'mine'`)
			return "lasting_grants", "theirs"
		},
		"a changed one": func() (string, string) {
			put("tokens", "changed", "viewer")
			write("UPDATE documents SET data = 'admin' WHERE key = 'changed'")
			return "tokens", "changed"
		},
	} {
		collection, key := attack()
		if d, err := docs.Get(t.Context(), collection, key); !isDenied(err) || len(d.Data) > 0 {
			t.Errorf("%s: %q, %v", name, d.Data, err)
		}
	}
	all, err := document.ListAll(t.Context(), docs, "tokens", "")
	if err != nil || len(all) != 2 || all[0].Key != "one" || all[1].Key != "two" {
		t.Errorf("what is listed: %v, %v", all, err)
	}
	if one, err := docs.List(t.Context(), "tokens", "", "", 1); err != nil || len(one) != 1 || one[0].Key != "one" {
		t.Errorf("the first of what is listed: %v, %v", one, err)
	}
	if len(said.said) != 4 || !strings.Contains(strings.Join(said.said, "\n"), "document tokens/forged") {
		t.Errorf("said: %q", said.said)
	}
	other, _ := openSigned(t, at, "b", keyOf(t, firstKey))
	if d, err := other.Stores().Documents.Get(t.Context(), "tokens", "one"); err != nil || string(d.Data) != "1" {
		t.Errorf("at another node: %q, %v", d.Data, err)
	}
}

// An answer that no node wrote does not count.
func TestForgedApprovals(t *testing.T) {
	t.Parallel()
	at := server.Schema(t, schemaAt(t.TempDir()))
	db, _ := openSigned(t, at, "a", keyOf(t, firstKey))
	write, store := writerAt(t, at), db.Stores().Approvals
	for _, id := range []string{"a1", "a2", "a3"} {
		r := approval.Request{ID: id, Reason: "it is risky", AskedAt: time.Now(), Deadline: time.Now().Add(time.Hour)}
		if err := store.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	write(`UPDATE approvals SET state = 'approved', answer = '{"approve":true,"by":"eve"}' WHERE id = 'a1'`)
	write(`UPDATE approvals SET request = convert_to(replace(convert_from(request, 'UTF8'), 'risky', 'fine'), 'UTF8') WHERE id = 'a2'`)
	for _, id := range []string{"a1", "a2"} {
		if r, err := store.Get(t.Context(), id); !isDenied(err) {
			t.Errorf("%s: %+v, %v", id, r, err)
		}
	}
	if all, err := store.List(t.Context(), "", 0); err != nil || len(all) != 1 || all[0].ID != "a3" {
		t.Errorf("what is listed: %+v, %v", all, err)
	}
	if moved, err := store.Settle(t.Context(), "a2", approval.Pending, approval.Approved, &approval.Answer{Approve: true}); moved || !isDenied(err) {
		t.Errorf("a yes to what was changed: %v, %v", moved, err)
	}
	if moved, err := store.Settle(t.Context(), "a3", approval.Pending, approval.Approved, &approval.Answer{Approve: true, By: "ada"}); !moved || err != nil {
		t.Fatalf("a yes: %v, %v", moved, err)
	}
	if moved, err := store.Settle(t.Context(), "a3", approval.Approved, approval.Used, nil); !moved || err != nil {
		t.Errorf("its use: %v, %v", moved, err)
	}
	if r, err := store.Get(t.Context(), "a3"); err != nil || r.State != approval.Used || r.Answer == nil || r.Answer.By != "ada" {
		t.Errorf("after it: %+v, %v", r, err)
	}
}

// A task that no node made, or whose asker or input was changed, does not run: it ends, and says why.
func TestForgedTasks(t *testing.T) {
	t.Parallel()
	at := server.Schema(t, schemaAt(t.TempDir()))
	db, _ := openSigned(t, at, "a", keyOf(t, firstKey))
	write, stores := writerAt(t, at), db.Stores()
	for _, id := range []string{"whole", "asker", "input", "data"} {
		made := task.Task{ID: id, Kind: "call", Label: id, Input: []byte(`{"name":"demo.look"}`), Data: []byte(`{"n":1}`), MaxAttempts: 3}
		if _, _, err := stores.Tasks.Create(t.Context(), made); err != nil {
			t.Fatal(err)
		}
	}
	write(`UPDATE tasks SET asker = '{"user":"root"}' WHERE id = 'asker'`)
	write(`UPDATE tasks SET input = '{"name":"shell.bash"}' WHERE id = 'input'`)
	write(`UPDATE tasks SET data = '{"n":2}' WHERE id = 'data'`)
	write(`INSERT INTO tasks (node, id, kind, label, parent, session, asker, input, state, run_at, due, max_attempts, created)
		VALUES ('a', 'forged', 'call', 'forged', '', '', '{}', '{"name":"shell.bash"}', 'queued', 1, 1, 3, 1)`)
	leased, ended, err := stores.Queue.Lease(t.Context(), task.Request{Holder: "h", N: 10, For: time.Hour})
	if err != nil || len(leased) != 1 || leased[0].ID != "whole" {
		t.Fatalf("what runs: %+v, %v", leased, err)
	}
	if len(ended) != 4 {
		t.Errorf("what has ended: %+v", ended)
	}
	for _, one := range ended {
		if one.State != task.Failed || one.Outcome == nil || !strings.Contains(one.Outcome.Summary, "no node of the cluster wrote it") || one.Input != nil {
			t.Errorf("%s is %s: %+v", one.ID, one.State, one.Outcome)
		}
	}
	whole := leased[0]
	if err := stores.Leases.Save(t.Context(), "whole", whole.Lease.Fence, []byte(`{"n":7}`)); err != nil {
		t.Fatal(err)
	}
	if got, err := stores.Tasks.Get(t.Context(), "whole"); err != nil || string(got.Data) != `{"n":7}` {
		t.Errorf("what it keeps: %s, %v", got.Data, err)
	}
	if err := stores.Leases.Again(t.Context(), "whole", whole.Lease.Fence, time.Now(), nil); err != nil {
		t.Fatal(err)
	}
	if got, err := stores.Tasks.Get(t.Context(), "whole"); err != nil || string(got.Data) != `{"n":7}` || got.State != task.Queued {
		t.Errorf("queued again: %+v, %v", got, err)
	}
}

// Rows of before the key count when a human has them signed, and keys are changed one node after the other.
func TestSigningOfRows(t *testing.T) {
	t.Parallel()
	at := server.Schema(t, schemaAt(t.TempDir()))
	write := func(key *authority.Key) (*postgres.DB, error) {
		db, _ := openSigned(t, at, "a", key)
		d, err := db.Stores().Documents.Get(t.Context(), "tokens", "one")
		if err == nil && string(d.Data) != "1" {
			err = errors.New(string(d.Data))
		}
		return db, err
	}
	plain, _ := openSigned(t, at, "a", nil)
	if _, err := plain.Stores().Documents.Write(t.Context(), document.Change{Collection: "tokens", Key: "one", Data: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	db, err := write(keyOf(t, firstKey))
	if !isDenied(err) {
		t.Errorf("before it is signed: %v", err)
	}
	if n, err := plainrows.Sign(t.Context(), db.DB, false); n != 0 || err != nil {
		t.Errorf("nobody trusts it: %d, %v", n, err)
	}
	if n, err := plainrows.Sign(t.Context(), db.DB, true); n != 1 || err != nil {
		t.Errorf("signed: %d, %v", n, err)
	}
	for _, keys := range [][]string{{firstKey}, {firstKey, secondKey}, {secondKey, firstKey}} {
		if db, err = write(keyOf(t, keys...)); err != nil {
			t.Fatalf("with %d keys: %v", len(keys), err)
		}
	}
	if n, err := plainrows.Sign(t.Context(), db.DB, false); n != 1 || err != nil {
		t.Errorf("signed with the new key: %d, %v", n, err)
	}
	if _, err := write(keyOf(t, secondKey)); err != nil {
		t.Errorf("with the new key alone: %v", err)
	}
	if _, err := write(keyOf(t, firstKey)); !isDenied(err) {
		t.Errorf("with the old key alone: %v", err)
	}
}
