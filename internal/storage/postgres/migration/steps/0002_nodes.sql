-- A node is a kernel with a state directory of its own. What one kernel must be alone with carries the ID of its node;
-- the rows of before belong to the node that makes this step. '' is no node: what all share.

CREATE TABLE nodes (
	id          text COLLATE "C" PRIMARY KEY,
	epoch       bigint NOT NULL,
	name        text NOT NULL,
	address     text NOT NULL,
	version     text NOT NULL,
	state       text COLLATE "C" NOT NULL, -- up, draining, down
	started     timestamptz NOT NULL,
	heartbeat   timestamptz NOT NULL,
	lease_until timestamptz NOT NULL,
	info        jsonb NOT NULL DEFAULT '{}',
	-- It makes the epoch a part of a key: who changes it waits for those who have the row FOR KEY SHARE, and a
	-- heartbeat does not.
	UNIQUE (id, epoch)
) WITH (fillfactor = 50);

ALTER TABLE records ADD COLUMN node text COLLATE "C" NOT NULL DEFAULT current_setting('callgate.node');
ALTER TABLE records ALTER COLUMN node DROP DEFAULT, DROP CONSTRAINT records_pkey, ADD PRIMARY KEY (node, seq);
DROP INDEX records_call, records_begun, records_rare;
CREATE INDEX records_call ON records (node, substring(call FROM 1 FOR 256), seq) WHERE call <> '';
CREATE INDEX records_begun ON records (node, seq) WHERE kind = 'begun';
CREATE INDEX records_rare ON records (node, kind, seq) WHERE kind NOT IN ('asked', 'begun', 'ended');

ALTER TABLE drops ADD COLUMN node text COLLATE "C" NOT NULL DEFAULT current_setting('callgate.node');
ALTER TABLE drops ALTER COLUMN node DROP DEFAULT, DROP CONSTRAINT drops_pkey, ADD PRIMARY KEY (node, last_seq);

ALTER TABLE doubts ADD COLUMN node text COLLATE "C" NOT NULL DEFAULT current_setting('callgate.node');
ALTER TABLE doubts ALTER COLUMN node DROP DEFAULT;
DROP INDEX doubts_call, doubts_state, doubts_seq;
CREATE UNIQUE INDEX doubts_call ON doubts (node, sha256(call));
CREATE INDEX doubts_state ON doubts (node, state, seq);
CREATE INDEX doubts_seq ON doubts (node, seq);

ALTER TABLE approvals ADD COLUMN node text COLLATE "C" NOT NULL DEFAULT current_setting('callgate.node');
ALTER TABLE approvals ALTER COLUMN node DROP DEFAULT, DROP CONSTRAINT approvals_id_key;
DROP INDEX approvals_state;
CREATE UNIQUE INDEX approvals_id ON approvals (node, id);
CREATE INDEX approvals_state ON approvals (node, state, num);
CREATE INDEX approvals_node ON approvals (node, num);

-- Events name their conversation by a number, so that one that another node takes over is one changed row.
ALTER TABLE conversations ADD COLUMN node text COLLATE "C" NOT NULL DEFAULT current_setting('callgate.node');
ALTER TABLE conversations ADD COLUMN num bigint GENERATED ALWAYS AS IDENTITY;
ALTER TABLE events ADD COLUMN of_conversation bigint;
UPDATE events SET of_conversation = c.num FROM conversations AS c WHERE c.id = events.conversation;
DELETE FROM events WHERE of_conversation IS NULL;
ALTER TABLE events DROP CONSTRAINT events_pkey;
ALTER TABLE events DROP COLUMN conversation;
ALTER TABLE events RENAME COLUMN of_conversation TO conversation;
ALTER TABLE events ADD PRIMARY KEY (conversation, seq);
DROP INDEX conversations_updated;
ALTER TABLE conversations ALTER COLUMN node DROP DEFAULT, DROP CONSTRAINT conversations_pkey, ADD PRIMARY KEY (num);
CREATE UNIQUE INDEX conversations_id ON conversations (node, id);
CREATE INDEX conversations_updated ON conversations (node, updated DESC, id);

-- The version of a document is drawn from one sequence, by a write that holds the row of each kind of documents that it
-- changes: those of its node, and those that all share ('').
ALTER TABLE documents ADD COLUMN node text COLLATE "C" NOT NULL DEFAULT current_setting('callgate.node');
ALTER TABLE documents ALTER COLUMN node DROP DEFAULT, DROP CONSTRAINT documents_pkey,
	ADD PRIMARY KEY (node, collection, key);
UPDATE documents SET node = '' WHERE collection = 'tokens';
CREATE SEQUENCE document_versions;
SELECT setval('document_versions', last + 1, false) FROM document_writes;
DROP TABLE document_writes;
CREATE TABLE document_writes (node text COLLATE "C" PRIMARY KEY);
INSERT INTO document_writes VALUES ('');

-- Which nodes have a blob, and since when. It is deleted when none has it.
CREATE TABLE blob_owners (
	node   text COLLATE "C" NOT NULL,
	ref    text COLLATE "C" NOT NULL REFERENCES blobs (ref),
	stored timestamptz NOT NULL,
	PRIMARY KEY (node, ref)
);
CREATE INDEX blob_owners_ref ON blob_owners (ref);
INSERT INTO blob_owners SELECT current_setting('callgate.node'), ref, stored FROM blobs;
ALTER TABLE blobs DROP COLUMN stored;

ALTER TABLE tasks ADD COLUMN node text COLLATE "C" NOT NULL DEFAULT current_setting('callgate.node');
ALTER TABLE tasks ALTER COLUMN node DROP DEFAULT, DROP CONSTRAINT tasks_id_key;
DROP INDEX tasks_due, tasks_active, tasks_parent, tasks_session, tasks_owed, tasks_settled;
CREATE UNIQUE INDEX tasks_id ON tasks (node, id);
CREATE INDEX tasks_node ON tasks (node, num);
CREATE INDEX tasks_due ON tasks (node, due) WHERE due IS NOT NULL;
CREATE INDEX tasks_active ON tasks (node, num) WHERE ended = 0;
CREATE INDEX tasks_parent ON tasks (node, parent, num) WHERE parent <> '';
CREATE INDEX tasks_session ON tasks (node, session, num) WHERE session <> '';
CREATE INDEX tasks_owed ON tasks (node, parent, num) WHERE parent <> '' AND ended > 0 AND told = 0;
CREATE INDEX tasks_settled ON tasks (node, ended) WHERE ended > 0 AND (parent = '' OR told > 0);
