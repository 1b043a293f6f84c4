package postgres_test

import (
	"testing"

	"callgate/internal/storage/postgres"
)

// What a node has is found from every node, and what is nowhere is nowhere.
func TestLocate(t *testing.T) {
	t.Parallel()
	db := openDB(t, t.TempDir())
	defer db.Close()
	own := db.NodeID()
	const rows = `
INSERT INTO nodes (id, epoch, name, address, version, state, started, heartbeat, lease_until)
	SELECT 'other', 1, 'other', '', '', 'up', now(), now(), now() + interval '1 hour';
INSERT INTO records (node, seq, epoch, kind, call, body, hash) VALUES ('other', 1, 1, 'asked', 'c1', '{}', '');
INSERT INTO conversations (node, id, updated, last, info) VALUES ('other', 't1', 1, 0, '{}');
INSERT INTO tasks (node, id, kind, label, parent, session, asker, state, run_at, due, max_attempts, created, ended, told)
	VALUES ('other', 'k1', 'call', '', '', '', '{}', 'done', 1, NULL, 1, 1, 1, 1);
INSERT INTO documents (node, collection, key, version, data, updated) VALUES ('other', 'proposals', 'p1', 1, '', 1)`
	if err := db.Run(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	if err := db.Run(t.Context(), "INSERT INTO conversations (node, id, updated, last, info) SELECT node, 'both', 1, 0, '{}' "+
		"FROM unnest(ARRAY['other', '"+own+"']) AS node"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		what postgres.Located
		id   string
		want string
	}{
		"a call":                     {postgres.LocatedCall(), "c1", "other"},
		"a conversation":             {postgres.LocatedConversation(), "t1", "other"},
		"a task":                     {postgres.LocatedTask(), "k1", "other"},
		"a document":                 {postgres.LocatedDocument("proposals"), "p1", "other"},
		"of another collection":      {postgres.LocatedDocument("questions"), "p1", ""},
		"no approval":                {postgres.LocatedApproval(), "a1", ""},
		"no call":                    {postgres.LocatedCall(), "", ""},
		"what two have is this ones": {postgres.LocatedConversation(), "both", own},
	} {
		if got, err := db.Locate(t.Context(), c.what, c.id); err != nil || got != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
