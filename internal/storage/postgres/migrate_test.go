package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"callgate/internal/document"
	"callgate/internal/storage"
	"callgate/internal/storage/postgres/migration"
	"callgate/tool"
)

// rowsOfStepOne are what a database had before there were nodes.
const rowsOfStepOne = `
INSERT INTO records (seq, epoch, kind, call, body, hash) VALUES
	(2, 1, 'begun', 'key', '{}', ''), (3, 1, 'doubted', 'doubted', '{}', '');
INSERT INTO drops VALUES (1, '{}');
INSERT INTO doubts VALUES ('doubted', 3, 'new');
INSERT INTO approvals (id, state, request) VALUES ('key', 'pending', '{"id": "key"}');
INSERT INTO conversations VALUES ('key', 5, 1, '{"id": "key"}'), ('other', 4, 1, '{"id": "other"}');
INSERT INTO events VALUES ('key', 1, '{}'), ('other', 1, '{}');
INSERT INTO documents VALUES ('c', 'key', 7, 'x', 1), ('tokens', 'k', 8, 'token', 1);
UPDATE document_writes SET last = 8;
INSERT INTO blobs VALUES ('sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 0, now(), 1);
INSERT INTO tasks (id, kind, label, parent, session, asker, state, run_at, due, max_attempts, created)
	VALUES ('key', 'call', '', '', '', '{}', 'queued', 1, 1, 0, 1);
INSERT INTO task_logs (task, at, text) SELECT num, 1, 'entry' FROM tasks`

// migrateToStepOne makes the schema of an address as it was before there were nodes.
func migrateToStepOne(t *testing.T, schema string) {
	t.Helper()
	config, err := pgx.ParseConfig(server.Schema(t, schema))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := migration.Apply(t.Context(), conn, schema, "nobody", migration.Steps()[:1]); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), rowsOfStepOne, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
}

// What a database had before there were nodes belongs to the one that opens it first; tokens belong to all.
func TestMigrationFromStepOne(t *testing.T) {
	t.Parallel()
	schema := schemaAt(t.TempDir())
	migrateToStepOne(t, schema)
	first := openNode(t, server.Schema(t, schema), "first")
	second := openNode(t, server.Schema(t, schema), "second")
	for name, look := range looks() {
		if name == "due" {
			continue // leasing, which is another look, takes it
		}
		if found, err := look(t, first.Stores()); err != nil || found == "" {
			t.Errorf("%s: the first node finds %q, %v", name, found, err)
		}
		if found, err := look(t, second.Stores()); found != "" || err != nil && tool.KindOf(err) != tool.NotFound {
			t.Errorf("%s: the second node finds %q, %v", name, found, err)
		}
	}
	for _, s := range []storage.Stores{first.Stores(), second.Stores()} {
		if d, err := s.Documents.Get(t.Context(), "tokens", "k"); err != nil || d.Version != 8 || string(d.Data) != "token" {
			t.Errorf("the token is %+v, %v", d, err)
		}
	}
	change := document.Change{Collection: "c", Key: "key", If: 7, Data: []byte("y")}
	if v, err := first.Stores().Documents.Write(t.Context(), change); err != nil || v <= 8 {
		t.Errorf("the next version is %d, %v", v, err)
	}
	for _, id := range []string{"key", "other"} {
		if events, err := first.Stores().Conversations.Read(t.Context(), id, 0); err != nil || len(events) != 1 {
			t.Errorf("%s has %v, %v", id, events, err)
		}
	}
}
