-- Codes that only a holder of the cluster's key can make: package authority states the law. What was written before, or
-- by a node without a key, has none.
ALTER TABLE documents ADD COLUMN mac bytea;
ALTER TABLE approvals ADD COLUMN mac bytea;
ALTER TABLE tasks ADD COLUMN mac bytea, ADD COLUMN data_mac bytea; -- data changes while a task runs
