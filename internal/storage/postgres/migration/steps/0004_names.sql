-- The calls that clients name, so that one that is sent again to another node is not made twice. The key is a hash of who
-- named it and how; the node has the call, and makes it under the ID.
CREATE TABLE named_calls (
	key  bytea PRIMARY KEY,
	node text COLLATE "C" NOT NULL,
	call text COLLATE "C" NOT NULL,
	at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX named_calls_at ON named_calls (at);
