-- This step only adds.
-- What users and teams have used of their limits; package quotas states the law. A row is what was counted in the period
-- that begins then.
CREATE TABLE quota_used (
	account text COLLATE "C" NOT NULL,
	kind    text COLLATE "C" NOT NULL,
	begins  timestamptz NOT NULL,
	used    bigint NOT NULL,
	PRIMARY KEY (account, kind)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- What nodes hold at once. A row counts as long as the node is in that epoch, and its lease is not over.
CREATE TABLE quota_held (
	account text COLLATE "C" NOT NULL,
	kind    text COLLATE "C" NOT NULL,
	node    text COLLATE "C" NOT NULL,
	epoch   bigint NOT NULL,
	held    bigint NOT NULL,
	PRIMARY KEY (account, kind, node)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
