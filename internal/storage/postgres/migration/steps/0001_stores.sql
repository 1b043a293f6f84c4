-- Names and texts are bytea: a text of PostgreSQL holds no NUL and nothing that is not UTF-8, and its order is that of
-- a language. Times are nanoseconds since 1970, and 0 where a time has not come.

-- The last transaction of each connection, by which a lost answer to a COMMIT is found out.
CREATE TABLE commits (
	connection text PRIMARY KEY,
	token      bytea NOT NULL,
	at         timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

CREATE TABLE records (
	seq   bigint PRIMARY KEY,
	epoch bigint NOT NULL,
	kind  text COLLATE "C" NOT NULL,
	call  bytea NOT NULL,
	body  bytea NOT NULL,
	hash  bytea NOT NULL
);
-- By its first bytes: an index takes no long values, and a call of any ID is put on record.
CREATE INDEX records_call ON records (substring(call FROM 1 FOR 256), seq) WHERE call <> '';
CREATE INDEX records_begun ON records (seq) WHERE kind = 'begun';
CREATE INDEX records_rare ON records (kind, seq) WHERE kind NOT IN ('asked', 'begun', 'ended');
CREATE TABLE drops (
	last_seq bigint PRIMARY KEY,
	summary  bytea NOT NULL
);
CREATE TABLE doubts (
	call  bytea NOT NULL,
	seq   bigint NOT NULL,
	state text COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX doubts_call ON doubts (sha256(call));
CREATE INDEX doubts_state ON doubts (state, seq);
CREATE INDEX doubts_seq ON doubts (seq);

CREATE TABLE approvals (
	num     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id      bytea NOT NULL UNIQUE,
	state   text COLLATE "C" NOT NULL,
	request bytea NOT NULL,
	answer  bytea
);
CREATE INDEX approvals_state ON approvals (state, num);

CREATE TABLE conversations (
	id      bytea PRIMARY KEY,
	updated bigint NOT NULL,
	last    bigint NOT NULL,
	info    bytea NOT NULL
);
CREATE INDEX conversations_updated ON conversations (updated DESC, id);
CREATE TABLE events (
	conversation bytea NOT NULL,
	seq          bigint NOT NULL,
	body         bytea NOT NULL,
	PRIMARY KEY (conversation, seq)
);

CREATE TABLE documents (
	collection bytea NOT NULL,
	key        bytea NOT NULL,
	version    bigint NOT NULL,
	data       bytea NOT NULL,
	updated    bigint NOT NULL,
	PRIMARY KEY (collection, key)
);
CREATE TABLE document_writes (last bigint NOT NULL);
INSERT INTO document_writes VALUES (0);

-- The bytes of a blob are parts under a number of their own, so that two who put the same blob do not wait for each
-- other's bytes.
CREATE TABLE blobs (
	ref     text COLLATE "C" PRIMARY KEY,
	size    bigint NOT NULL,
	stored  timestamptz NOT NULL,
	content bigint NOT NULL
);
CREATE SEQUENCE blob_contents;
CREATE TABLE blob_parts (
	content bigint NOT NULL,
	num     integer NOT NULL,
	data    bytea NOT NULL,
	PRIMARY KEY (content, num)
);
ALTER TABLE blob_parts ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE SEQUENCE task_fences;
CREATE TABLE tasks (
	num          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id           bytea NOT NULL UNIQUE,
	kind         bytea NOT NULL,
	label        bytea NOT NULL,
	parent       bytea NOT NULL,
	session      bytea NOT NULL, -- of the asker
	asker        bytea NOT NULL,
	input        bytea,
	data         bytea,
	state        text COLLATE "C" NOT NULL,
	run_at       bigint NOT NULL,
	due          bigint, -- when it may be leased: run_at, or the end of its lease
	attempt      integer NOT NULL DEFAULT 0,
	max_attempts integer NOT NULL,
	holder       bytea NOT NULL DEFAULT '',
	fence        bigint NOT NULL DEFAULT 0,
	lease_until  bigint NOT NULL DEFAULT 0,
	cancelled_by bytea NOT NULL DEFAULT '',
	progress     bytea NOT NULL DEFAULT '',
	outcome      bytea,
	created      bigint NOT NULL,
	started      bigint NOT NULL DEFAULT 0,
	ended        bigint NOT NULL DEFAULT 0,
	told         bigint NOT NULL DEFAULT 0
);
CREATE INDEX tasks_due ON tasks (due) WHERE due IS NOT NULL;
CREATE INDEX tasks_active ON tasks (num) WHERE ended = 0;
CREATE INDEX tasks_parent ON tasks (parent, num) WHERE parent <> '';
CREATE INDEX tasks_session ON tasks (session, num) WHERE session <> '';
CREATE INDEX tasks_owed ON tasks (parent, num) WHERE parent <> '' AND ended > 0 AND told = 0;
CREATE INDEX tasks_settled ON tasks (ended) WHERE ended > 0 AND (parent = '' OR told > 0);
CREATE TABLE task_logs (
	task bigint NOT NULL REFERENCES tasks (num) ON DELETE CASCADE,
	seq  bigint GENERATED ALWAYS AS IDENTITY,
	at   bigint NOT NULL,
	text bytea NOT NULL,
	data bytea,
	PRIMARY KEY (task, seq)
);
