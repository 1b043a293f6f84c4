package postgres_test

import (
	"strings"
	"testing"

	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/internal/storage/postgres"
	"callgate/internal/task"
)

// fill makes tables of which most is past: calls that have ended, tasks that are settled.
const fill = `
INSERT INTO records (node, seq, epoch, kind, call, body, hash)
	SELECT node, n, 1, (ARRAY['asked', 'begun', 'ended'])[1 + n % 3], convert_to('c' || n / 3, 'UTF8'), '{}', ''
	FROM generate_series(1, 20000) AS n, unnest(ARRAY['m', 'n']) AS node;
INSERT INTO records (node, seq, epoch, kind, call, body, hash)
	SELECT node, n, 1, 'opened', '', '{}', '' FROM generate_series(20001, 20020) AS n, unnest(ARRAY['m', 'n']) AS node;
INSERT INTO tasks (node, id, kind, label, parent, session, asker, state, run_at, due, max_attempts, created, ended, told)
	SELECT node, convert_to('t' || n, 'UTF8'), 'call', '', convert_to('p' || n % 500, 'UTF8'),
	convert_to('s' || n % 500, 'UTF8'), '{}', CASE WHEN n > 4950 THEN 'queued' ELSE 'done' END, n,
	CASE WHEN n > 4950 THEN n END, 1, 1, CASE WHEN n > 4950 THEN 0 ELSE n END, CASE WHEN n > 4900 THEN 0 ELSE n END
	FROM generate_series(1, 5000) AS n, unnest(ARRAY['m', 'n']) AS node;
INSERT INTO conversations (node, id, updated, last, info)
	SELECT node, convert_to('c' || n, 'UTF8'), n, 0, '{}' FROM generate_series(1, 2000) AS n, unnest(ARRAY['m', 'n']) AS node;
INSERT INTO documents (node, collection, key, version, data, updated) SELECT node, 'c', convert_to('k' || n, 'UTF8'), 1, '', 1
	FROM generate_series(1, 2000) AS n, unnest(ARRAY['m', 'n']) AS node;
INSERT INTO blobs SELECT 'sha256:' || n, 0, n FROM generate_series(1, 2000) AS n;
INSERT INTO blob_owners SELECT node, 'sha256:' || n, now() FROM generate_series(1, 2000) AS n, unnest(ARRAY['m', 'n']) AS node;
ANALYZE records; ANALYZE tasks; ANALYZE conversations; ANALYZE documents; ANALYZE blobs; ANALYZE blob_owners`

// What is asked often has an index, whose words the query must repeat: no statement reads a whole table.
func TestPlans(t *testing.T) {
	t.Parallel()
	db := openDB(t, t.TempDir())
	defer db.Close()
	if err := db.Run(t.Context(), fill); err != nil {
		t.Fatal(err)
	}
	plans := map[string]struct {
		statement postgres.Statement
		index     string
	}{
		"page":            {postgres.RowsStatement("n", journal.Query{After: 5, Before: 9}), "records_pkey"},
		"newest":          {postgres.RowsStatement("n", journal.Query{Newest: true, Limit: 1}), "records_pkey"},
		"call":            {postgres.RowsStatement("n", journal.Query{Call: "c5"}), "records_call"},
		"within":          {postgres.RowsStatement("n", journal.Query{Within: "c5"}), "records_call"},
		"begun":           {postgres.RowsStatement("n", journal.Query{Kind: journal.Begun}), "records_begun"},
		"opened":          {postgres.RowsStatement("n", journal.Query{Kind: journal.Opened, Newest: true}), "records_rare"},
		"unended":         {postgres.UnendedStatement("n", 19_900), "records_begun"},
		"doubts":          {postgres.DoubtsStatement("n", doubt.Query{State: doubt.New}), "doubts_"},
		"doubt":           {postgres.DoubtsStatement("n", doubt.Query{Call: "a"}), "doubts_"},
		"active tasks":    {postgres.TasksStatement("n", task.Query{Active: true}), "tasks_active"},
		"tasks of one":    {postgres.TasksStatement("n", task.Query{Parent: "p5"}), "tasks_parent"},
		"of a session":    {postgres.TasksStatement("n", task.Query{Session: "s5"}), "tasks_session"},
		"owed":            {postgres.TasksStatement("n", task.Query{Parent: "p5", Owed: true}), "tasks_owed"},
		"due":             {postgres.DueStatement("n", task.Request{Holder: "h"}), "tasks_due"},
		"due of an ID":    {postgres.DueStatement("n", task.Request{Holder: "h", ID: "a"}), "tasks_"},
		"to be pruned":    {postgres.PrunableStatement("n"), "tasks_settled"},
		"a document":      {postgres.DocumentStatement("n", "c", "k5"), "documents_pkey"},
		"conversations":   {postgres.ConversationsStatement("n"), "conversations_updated"},
		"events":          {postgres.EventsStatement("n", "c5"), "conversations_id"},
		"blobs":           {postgres.BlobsStatement("n"), "blob_owners_pkey"},
		"where a call is": {postgres.LocateStatement(postgres.LocatedCall(), "n", "c5"), "records_call"},
		"where a task is": {postgres.LocateStatement(postgres.LocatedTask(), "n", "t5"), "tasks_id"},
	}
	for name, p := range plans {
		plan, err := db.Plan(t.Context(), p.statement)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		whole := strings.Contains(plan, "Seq Scan on records") || strings.Contains(plan, "Seq Scan on tasks")
		if whole || !strings.Contains(plan, p.index) {
			t.Errorf("%s: want %s in\n%s", name, p.index, plan)
		}
	}
}
