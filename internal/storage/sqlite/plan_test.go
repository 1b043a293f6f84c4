package sqlite

import (
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/internal/task"
)

// TestQueriesUseIndexes reads SQLite's own plans: whatever a start or a
// person at the log asks for must not walk the whole journal.
func TestQueriesUseIndexes(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, tt := range []struct {
		name  string
		query journal.Query
		want  string
	}{
		{"the head", journal.Query{Newest: true, Limit: 1}, "SEARCH records USING INTEGER PRIMARY KEY (rowid>?)"},
		{"a follower", journal.Query{After: 5, Before: 9, Limit: 10}, "SEARCH records USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
		{"a call", journal.Query{Call: "a"}, "SEARCH records USING INDEX records_call (call=? AND seq>?)"},
		{"a call's newest", journal.Query{Call: "a", Newest: true, Limit: 1}, "SEARCH records USING INDEX records_call (call=? AND seq>?)"},
		{"the last opening", journal.Query{Kind: journal.Opened, Newest: true, Limit: 1}, "SEARCH records USING INDEX records_rare (kind=? AND seq>?)"},
		{"the answers", journal.Query{Kind: journal.Answered}, "SEARCH records USING INDEX records_rare (kind=? AND seq>?)"},
		{"the begun", journal.Query{Kind: journal.Begun, After: 7}, "SEARCH records USING INDEX records_begun (seq>?)"},
	} {
		where, args := condition(tt.query)
		order := " ORDER BY seq"
		if tt.query.Newest {
			order += " DESC"
		}
		plan := explain(t, db, selectRecords+where+order+" LIMIT 10", args)
		if !strings.Contains(plan, tt.want) || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s: %s", tt.name, plan)
		}
	}
	plan := explain(t, db, selectRecords+unendedCondition, []any{1})
	if !strings.Contains(plan, "SEARCH b USING INDEX records_begun") ||
		!strings.Contains(plan, "SEARCH e USING INDEX records_call (call=? AND seq>?)") {
		t.Errorf("unended: %s", plan)
	}
}

// TestDoubtQueriesUseIndexes: a start must not read the doubts of all times, nor all
// that are open.
func TestDoubtQueriesUseIndexes(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, tt := range map[string]struct {
		query doubt.Query
		want  string
	}{
		"all":       {doubt.Query{}, "SEARCH d USING INDEX doubts_seq (seq>?)"},
		"undecided": {doubt.Query{State: doubt.New}, "SEARCH d USING COVERING INDEX doubts_state (state=? AND seq>?)"},
		"of a call": {doubt.Query{Call: "a"}, "SEARCH d USING PRIMARY KEY (call=?)"},
	} {
		where, args := doubtCondition(tt.query)
		plan := explain(t, db, selectDoubts+where, args)
		if !strings.Contains(plan, tt.want) || !strings.Contains(plan, "SEARCH r USING INTEGER PRIMARY KEY (rowid=?)") {
			t.Errorf("%s: %s", name, plan)
		}
	}
	if plan := explain(t, db, countDoubts, nil); !strings.Contains(plan, "COVERING INDEX doubts_state") {
		t.Errorf("count: %s", plan)
	}
}

// TestTaskQueriesUseIndexes: what a runner asks for every second, and what a
// conversation asks for with every turn, must not walk every task there was.
func TestTaskQueriesUseIndexes(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, tt := range map[string]struct {
		query task.Query
		want  string
	}{
		"what is owed to a parent": {task.Query{Owed: true, Parent: "p"}, "USING INDEX tasks_owed (parent=?)"},
		"a parent's":               {task.Query{Parent: "p"}, "USING INDEX tasks_parent (parent=?)"},
		"a session's":              {task.Query{Session: "s", Newest: true}, "USING INDEX tasks_session (session=?)"},
		"what is active":           {task.Query{Active: true, Kinds: []string{"a", "b"}}, "USING INDEX tasks_active"},
		"a parent's active":        {task.Query{Active: true, Parent: "p"}, "USING INDEX tasks_active"},
		"a session's active":       {task.Query{Active: true, Session: "s"}, "USING INDEX tasks_active"},
		"what runs":                {task.Query{State: task.Running}, "USING INDEX tasks_active"},
	} {
		where, args := taskCondition(tt.query)
		query := "SELECT * FROM tasks" + taskIndex(tt.query) + " WHERE " + strings.Join(where, " AND ")
		for _, order := range []string{" ORDER BY num LIMIT 10", " ORDER BY num DESC LIMIT 10"} {
			plan := explain(t, db, query+order, args)
			if !strings.Contains(plan, tt.want) || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("%s: %s", name, plan)
			}
		}
	}
	// All that is owed is sorted; it is little.
	if plan := explain(t, db, "SELECT * FROM tasks"+taskIndex(task.Query{Owed: true})+" WHERE "+owed+" ORDER BY num", nil); !strings.Contains(
		plan, "USING INDEX tasks_owed") {
		t.Errorf("what is owed: %s", plan)
	}
	for name, tt := range map[string]struct {
		query string
		args  []any
		want  string
	}{
		"what is due":      {"SELECT num FROM tasks WHERE due <= ?", []any{1}, "INDEX tasks_due (due<?)"},
		"due of some kind": {"SELECT num FROM tasks WHERE due <= ? AND holder <> ? AND kind IN (SELECT value FROM json_each(?))", []any{1, "h", `["a"]`}, "INDEX tasks_due (due<?)"},
		"what to prune":    {prunable, []any{1, 1}, "USING INDEX tasks_settled (ended"},
		"a log's end":      {"SELECT * FROM task_logs WHERE task = ? ORDER BY seq DESC LIMIT 1", []any{1}, "PRIMARY KEY (task=?)"},
	} {
		if plan := explain(t, db, tt.query, tt.args); !strings.Contains(plan, tt.want) || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s: %s", name, plan)
		}
	}
	if plan := explain(t, db, "SELECT num FROM tasks WHERE due <= ? AND holder <> ? AND id = ?", []any{1, "h", "a"}); !strings.Contains(
		plan, "USING INDEX sqlite_autoindex_tasks_1 (id=?)") {
		t.Errorf("a task that is due: %s", plan)
	}
	for _, kinds := range [][]string{nil, {"a"}, {"a", "b"}} {
		query, args := nextQuery("h", kinds)
		plan := explain(t, db, query, args)
		if !strings.Contains(plan, "COVERING INDEX tasks_due") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("the next of %v: %s", kinds, plan)
		}
	}
	own := "UPDATE tasks SET due = 1 WHERE holder = 'h' AND state = 'running' AND ended = 0"
	if plan := explain(t, db, own, nil); !strings.Contains(plan, "INDEX tasks_active") {
		t.Errorf("a dead process's: %s", plan)
	}
	if plan := explain(t, db, selectDocuments+"WHERE collection = ? AND key > ? AND key >= ? AND key < ? ORDER BY key LIMIT 5", []any{"c", "", "a", "b"}); !strings.Contains(
		plan,
		"PRIMARY KEY (collection=? AND key>? AND key<?)",
	) ||
		strings.Contains(plan, "TEMP B-TREE") {
		t.Errorf("documents: %s", plan)
	}
}

// explain returns the plan of a query.
func explain(t *testing.T, db *DB, query string, args []any) string {
	t.Helper()
	rows, err := db.read.Query("EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, detail)
	}
	return strings.Join(plan, "; ")
}
