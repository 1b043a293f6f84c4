-- This step only adds.

-- A node that was taken over, and did not say that it ends: what it had is another's at once.
ALTER TABLE nodes ADD COLUMN taken_over boolean NOT NULL DEFAULT false;

-- Which node works in a folder that several machines have; package workspaces states their law.
CREATE TABLE workspaces (
	share text COLLATE "C" NOT NULL, -- the ID of the shared folder
	path  bytea NOT NULL,            -- in it; '' is the shared folder itself
	node  text COLLATE "C" NOT NULL,
	epoch bigint NOT NULL,
	fence bigint NOT NULL,
	since timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (share, path)
);
CREATE SEQUENCE workspace_fences;

-- Whose records a node reads to know what became of calls that it goes on with; package adoption states its law.
CREATE TABLE adoptions (
	node   text COLLATE "C" NOT NULL,
	former text COLLATE "C" NOT NULL,
	at     timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (node, former)
);
