package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"callgate/tool"
)

// migrations take a file from one schema version to the next: the first makes
// version 1 of an empty file. A released one is never changed again.
var migrations = [...]string{
	// 1: the journal.
	`CREATE TABLE records (
		seq   INTEGER PRIMARY KEY,
		epoch INTEGER NOT NULL,
		kind  TEXT NOT NULL,
		call  TEXT NOT NULL,
		body  BLOB NOT NULL,
		hash  BLOB NOT NULL
	) STRICT;
	CREATE TABLE drops (
		last_seq INTEGER PRIMARY KEY,
		summary  BLOB NOT NULL
	) STRICT;`,

	// 2: a call's story, the calls in doubt and the rare kinds by index; approvals.
	`CREATE INDEX records_call ON records (call, seq) WHERE call <> '';
	CREATE INDEX records_begun ON records (seq) WHERE kind = 'begun';
	CREATE INDEX records_rare ON records (kind, seq) WHERE ` + rareKind + `;
	CREATE TABLE approvals (
		num      INTEGER PRIMARY KEY,
		id       TEXT NOT NULL UNIQUE,
		state    TEXT NOT NULL,
		request  BLOB NOT NULL,
		answer   BLOB
	) STRICT;
	CREATE INDEX approvals_state ON approvals (state, num);`,

	// 3: conversations.
	`CREATE TABLE sessions (
		id      TEXT PRIMARY KEY,
		updated INTEGER NOT NULL,
		last    INTEGER NOT NULL,
		info    BLOB NOT NULL
	) STRICT;
	CREATE INDEX sessions_updated ON sessions (updated DESC, id);
	CREATE TABLE events (
		session TEXT NOT NULL,
		seq     INTEGER NOT NULL,
		body    BLOB NOT NULL,
		PRIMARY KEY (session, seq)
	) STRICT, WITHOUT ROWID;`,

	// 4: conversations under their own name; documents and tasks.
	`ALTER TABLE sessions RENAME TO conversations;
	DROP INDEX sessions_updated;
	CREATE INDEX conversations_updated ON conversations (updated DESC, id);
	ALTER TABLE events RENAME COLUMN session TO conversation;
	CREATE TABLE documents (
		collection TEXT NOT NULL,
		key        TEXT NOT NULL,
		version    INTEGER NOT NULL,
		data       BLOB NOT NULL,
		updated    INTEGER NOT NULL,
		PRIMARY KEY (collection, key)
	) STRICT, WITHOUT ROWID;
	CREATE TABLE document_writes (last INTEGER NOT NULL) STRICT;
	INSERT INTO document_writes VALUES (0);
	CREATE TABLE tasks (
		num          INTEGER PRIMARY KEY,
		id           TEXT NOT NULL UNIQUE,
		kind         TEXT NOT NULL,
		parent       TEXT NOT NULL,
		asker        BLOB NOT NULL,
		input        BLOB,
		state        TEXT NOT NULL,
		run_at       INTEGER NOT NULL,
		due          INTEGER, -- when it may be leased: run_at, or the end of its lease
		attempt      INTEGER NOT NULL DEFAULT 0,
		max_attempts INTEGER NOT NULL,
		holder       TEXT NOT NULL DEFAULT '',
		fence        INTEGER NOT NULL DEFAULT 0,
		lease_until  INTEGER NOT NULL DEFAULT 0,
		cancelled_by TEXT NOT NULL DEFAULT '',
		progress     TEXT NOT NULL DEFAULT '',
		outcome      BLOB,
		created      INTEGER NOT NULL,
		started      INTEGER NOT NULL DEFAULT 0,
		ended        INTEGER NOT NULL DEFAULT 0,
		told         INTEGER NOT NULL DEFAULT 0
	) STRICT;
	CREATE INDEX tasks_due ON tasks (due) WHERE due IS NOT NULL;
	CREATE INDEX tasks_parent ON tasks (parent, num) WHERE parent <> '';
	CREATE INDEX tasks_state ON tasks (state, num);
	CREATE INDEX tasks_owed ON tasks (num) WHERE ` + owed + `;`,

	// 5: the calls in doubt, in a table of their own. Those of before are not made
	// again, and their askers are told once more.
	`CREATE TABLE doubts (
		call  TEXT PRIMARY KEY,
		seq   INTEGER NOT NULL,
		state TEXT NOT NULL
	) STRICT, WITHOUT ROWID;
	CREATE INDEX doubts_state ON doubts (state, seq);
	CREATE INDEX doubts_seq ON doubts (seq);
	INSERT INTO doubts SELECT d.call, max(d.seq), 'judged' FROM records AS d
		WHERE d.kind = 'doubted' AND ` + rareKind + ` AND d.call <> '' AND NOT EXISTS (
			SELECT 1 FROM records AS r WHERE r.call = d.call AND r.call <> '' AND r.kind = 'resolved' AND r.seq > d.seq
		) GROUP BY d.call;`,

	// 6: tasks with a label, data and a log; fences that no two leases share; and lists
	// that cost what is active, or owed, and not what has ended.
	`ALTER TABLE tasks ADD COLUMN label TEXT NOT NULL DEFAULT '';
	ALTER TABLE tasks ADD COLUMN data BLOB;
	ALTER TABLE tasks ADD COLUMN session TEXT NOT NULL DEFAULT ''; -- of the asker
	UPDATE tasks SET session = coalesce(json_extract(CAST(asker AS TEXT), '$.principal.session'), '')
		WHERE json_valid(CAST(asker AS TEXT));
	CREATE TABLE task_fences (last INTEGER NOT NULL) STRICT;
	INSERT INTO task_fences SELECT coalesce(max(fence), 0) FROM tasks;
	CREATE TABLE task_logs (
		task INTEGER NOT NULL REFERENCES tasks (num) ON DELETE CASCADE,
		seq  INTEGER NOT NULL,
		at   INTEGER NOT NULL,
		text TEXT NOT NULL,
		data BLOB,
		PRIMARY KEY (task, seq)
	) STRICT, WITHOUT ROWID;
	DROP INDEX tasks_due;
	DROP INDEX tasks_state;
	DROP INDEX tasks_owed;
	CREATE INDEX tasks_due ON tasks (due, kind, holder) WHERE due IS NOT NULL;
	CREATE INDEX tasks_active ON tasks (num, parent, session) WHERE ended = 0;
	CREATE INDEX tasks_session ON tasks (session, num) WHERE session <> '';
	CREATE INDEX tasks_owed ON tasks (parent, num) WHERE ` + owed + `;
	CREATE INDEX tasks_settled ON tasks (ended) WHERE ` + settled + `;`,
}

// rareKind selects the kinds that are few among many records. A query must say
// it in these very words to be given the index.
const rareKind = `kind NOT IN ('asked', 'begun', 'ended')`

// migrate brings the schema to the present version, in one transaction. Another
// process may do the same at this moment: the version is read again under the
// lock.
func migrate(ctx context.Context, db *sql.DB) error {
	const op = "sqlite.Open"
	if version, err := schemaVersion(ctx, db); err != nil || version == len(migrations) {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return convertError(op, err)
	}
	defer tx.Rollback()
	version, err := schemaVersion(ctx, tx)
	if err != nil || version == len(migrations) {
		return err
	}
	if version > len(migrations) {
		return tool.Errorf(op, tool.Unavailable, "the database was migrated by a newer Callgate a moment ago")
	}
	for _, step := range migrations[version:] {
		if _, err := tx.ExecContext(ctx, step); err != nil {
			return convertError(op, err)
		}
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", len(migrations))); err != nil {
		return convertError(op, err)
	}
	return convertError(op, tx.Commit())
}

// schemaVersion reads the version of the schema; 0 in an empty file.
func schemaVersion(ctx context.Context, from interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (version int, err error) {
	err = from.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	return version, convertError("sqlite.Open", err)
}
