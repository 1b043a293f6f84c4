-- This step only adds.
-- The job of River that tells a node's runner of a task that waits; 0: there is none. River's own tables are made first,
-- by River: see river.go.
ALTER TABLE tasks ADD COLUMN job bigint NOT NULL DEFAULT 0;
