-- A database of version 5 with tasks, as commit c0c04f76 wrote them.
CREATE TABLE records (seq INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, kind TEXT NOT NULL, call TEXT NOT NULL, body BLOB NOT NULL, hash BLOB NOT NULL) STRICT;
CREATE TABLE drops (last_seq INTEGER PRIMARY KEY, summary BLOB NOT NULL) STRICT;
CREATE INDEX records_call ON records (call, seq) WHERE call <> '';
CREATE INDEX records_begun ON records (seq) WHERE kind = 'begun';
CREATE INDEX records_rare ON records (kind, seq) WHERE kind NOT IN ('asked', 'begun', 'ended');
CREATE TABLE approvals (num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, state TEXT NOT NULL, request BLOB NOT NULL, answer BLOB) STRICT;
CREATE INDEX approvals_state ON approvals (state, num);
CREATE TABLE conversations (id TEXT PRIMARY KEY, updated INTEGER NOT NULL, last INTEGER NOT NULL, info BLOB NOT NULL) STRICT;
CREATE INDEX conversations_updated ON conversations (updated DESC, id);
CREATE TABLE events (conversation TEXT NOT NULL, seq INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (conversation, seq)) STRICT, WITHOUT ROWID;
CREATE TABLE documents (collection TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, data BLOB NOT NULL, updated INTEGER NOT NULL, PRIMARY KEY (collection, key)) STRICT, WITHOUT ROWID;
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
	due          INTEGER,
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
CREATE INDEX tasks_owed ON tasks (num) WHERE parent <> '' AND ended > 0 AND told = 0;
CREATE TABLE doubts (call TEXT PRIMARY KEY, seq INTEGER NOT NULL, state TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX doubts_state ON doubts (state, seq);
CREATE INDEX doubts_seq ON doubts (seq);
INSERT INTO tasks (id, kind, parent, asker, state, run_at, max_attempts, fence, outcome, created, started, ended, told)
	VALUES ('ended', 'memory.embed', 'p', CAST('{"principal":{"user":"ada","session":"s1"}}' AS BLOB), 'done',
	1760000000000000000, 5, 41, CAST('{"state":"done"}' AS BLOB), 1760000000000000000, 1760000000000000000, 1760000001000000000, 1760000002000000000);
INSERT INTO tasks (id, kind, parent, asker, state, run_at, max_attempts, fence, outcome, created, started, ended)
	VALUES ('owed', 'conversation.core', 'p', CAST('{}' AS BLOB), 'failed',
	1760000000000000000, 0, 1, CAST('{"state":"failed","summary":"no"}' AS BLOB), 1760000000000000000, 1760000000000000000, 1760000001000000000);
INSERT INTO tasks (id, kind, parent, asker, state, run_at, due, attempt, max_attempts, holder, fence, lease_until, created, started)
	VALUES ('ran', 'conversation.core', 'p', CAST('{"principal":{"user":"ada","session":"s1"},"workspace":"/w"}' AS BLOB), 'running',
	1760000000000000000, 4000000000000000000, 2, 0, 'host:state', 2, 4000000000000000000, 1760000000000000000, 1760000000000000000);
INSERT INTO tasks (id, kind, parent, asker, input, state, run_at, due, max_attempts, created)
	VALUES ('waits', 'conversation.core', 'p', CAST('{"principal":{"session":"s2"}}' AS BLOB), CAST('{"goal":"x"}' AS BLOB), 'queued',
	1760000000000000001, 1760000000000000001, 5, 1760000000000000001);
INSERT INTO tasks (id, kind, parent, asker, state, run_at, max_attempts, created, ended)
	VALUES ('broken', 'x', '', CAST('{' AS BLOB), 'cancelled', 1760000000000000000, 5, 1760000000000000000, 1760000001000000000);
PRAGMA user_version = 5;
