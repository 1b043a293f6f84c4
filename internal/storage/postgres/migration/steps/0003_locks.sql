-- Locks across nodes; package locks states their law. A request has one row for each of its claims. It holds them from
-- the moment that it has a fence, all at once, and waits until then.
CREATE TABLE lock_claims (
	token    uuid NOT NULL, -- of the request
	n        integer NOT NULL,
	path     bytea NOT NULL,
	mode     smallint NOT NULL,
	resource bytea NOT NULL, -- as it was claimed
	ticket   bigint NOT NULL,
	fence    bigint,
	node     text COLLATE "C" NOT NULL,
	epoch    bigint NOT NULL,
	holder   bytea NOT NULL,
	latches  bigint[] NOT NULL,
	behind   uuid, -- the last of those who are in the way: when it has ended, this one looks again
	asked    timestamptz NOT NULL,
	since    timestamptz,
	PRIMARY KEY (token, n)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE INDEX lock_claims_path ON lock_claims (path);
CREATE INDEX lock_claims_node ON lock_claims (node, epoch);
CREATE INDEX lock_claims_behind ON lock_claims (behind) WHERE fence IS NULL;

-- Requests that were given up while nobody knew whether the database had heard of them: it will not hear of them again.
CREATE TABLE lock_cancels (
	token uuid PRIMARY KEY,
	at    timestamptz NOT NULL DEFAULT now()
);

-- Tickets and fences.
CREATE SEQUENCE lock_numbers;

-- lock_latch takes the latches of requests until the transaction ends. They come in one order for everybody.
CREATE FUNCTION lock_latch(keys bigint[], whole boolean[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. cardinality(keys) LOOP
		IF whole[i] THEN
			PERFORM pg_advisory_xact_lock(keys[i]);
		ELSE
			PERFORM pg_advisory_xact_lock_shared(keys[i]);
		END IF;
	END LOOP;
END $$;

-- lock_acquire takes all claims of a request, or says who is in the way and, if the request waits, gives it a place in
-- the queue. The same request may be made again: it goes on where it was. Its statements are planned once: planned for
-- each list of claims they take twice as long.
CREATE FUNCTION lock_acquire(
	of_node text, of_epoch bigint, request uuid, of_holder bytea, waits boolean, keys bigint[], whole boolean[],
	paths bytea[], modes smallint[], resources bytea[],
	points bytea[], point_modes smallint[], lows bytea[], highs bytea[], range_modes smallint[],
	OUT state text, OUT fence bigint, OUT resource bytea, OUT mode smallint, OUT holder bytea, OUT queued boolean,
	OUT since timestamptz, OUT name text, OUT behind_node text, OUT lease_left double precision
) LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
	my_ticket bigint;
	my_fence bigint;
	last_behind uuid;
	now_behind uuid;
	known boolean;
BEGIN
	PERFORM FROM nodes WHERE id = of_node AND epoch = of_epoch FOR KEY SHARE;
	IF NOT FOUND THEN
		state := 'fenced';
		RETURN;
	END IF;
	PERFORM lock_latch(keys, whole);
	PERFORM FROM lock_cancels WHERE token = request;
	IF FOUND THEN
		state := 'cancelled';
		RETURN;
	END IF;
	SELECT ticket, fence, behind INTO my_ticket, my_fence, last_behind FROM lock_claims WHERE token = request LIMIT 1;
	known := FOUND;
	IF my_fence IS NOT NULL THEN
		state := 'held';
		fence := my_fence;
		RETURN;
	END IF;
	IF NOT known THEN
		my_ticket := nextval('lock_numbers');
	END IF;
	-- Who blocks it: a holder, or else the earliest in the queue. Those of a node whose epoch is past do not count. It
	-- looks again when the last of them has ended: the others were before that one, and mostly are gone by then.
	SELECT l.resource, l.mode, l.holder, l.fence IS NULL, coalesce(l.since, l.asked),
			CASE WHEN l.node <> of_node THEN nodes.name ELSE '' END,
			first_value(l.token) OVER last, first_value(l.node) OVER last,
			extract(epoch FROM first_value(nodes.lease_until) OVER last - clock_timestamp())
		INTO resource, mode, holder, queued, since, name, now_behind, behind_node, lease_left
		FROM (
			SELECT c.* FROM unnest(points, point_modes) AS p (path, modes)
			JOIN lock_claims AS c ON c.path = p.path AND (p.modes >> c.mode) & 1 = 1
			UNION ALL
			SELECT c.* FROM unnest(lows, highs, range_modes) AS r (low, high, modes)
			JOIN lock_claims AS c ON c.path > r.low AND c.path < r.high AND (r.modes >> c.mode) & 1 = 1
		) AS l
		JOIN nodes ON nodes.id = l.node AND nodes.epoch = l.epoch
		WHERE l.token <> request AND (l.fence IS NOT NULL OR l.ticket < my_ticket)
		WINDOW last AS (ORDER BY l.ticket DESC)
		ORDER BY l.fence IS NULL, l.ticket, l.n LIMIT 1;
	IF NOT FOUND THEN
		state := 'held';
		fence := nextval('lock_numbers');
		my_fence := fence;
	ELSE
		state := 'blocked';
		-- A lost place in the queue is taken again, and nobody else relies on it.
		PERFORM set_config('synchronous_commit', 'off', true);
	END IF;
	IF NOT known AND (waits OR state = 'held') THEN
		INSERT INTO lock_claims (token, n, path, mode, resource, ticket, fence, node, epoch, holder, latches, behind,
				asked, since)
			SELECT request, c.n, c.path, c.mode, c.resource, my_ticket, my_fence, of_node, of_epoch, of_holder, keys,
				now_behind, clock_timestamp(), CASE WHEN my_fence IS NOT NULL THEN clock_timestamp() END
			FROM unnest(paths, modes, resources) WITH ORDINALITY AS c (path, mode, resource, n);
	ELSIF known AND (state = 'held' OR now_behind <> last_behind) THEN
		UPDATE lock_claims SET fence = my_fence, behind = now_behind,
			since = CASE WHEN my_fence IS NOT NULL THEN clock_timestamp() END WHERE token = request;
	END IF;
END $$;

-- lock_release ends requests, and wakes those who are behind them. Of the ones given up the database may hear later, or
-- never.
CREATE FUNCTION lock_release(channel text, keys bigint[], whole boolean[], ended uuid[], given_up uuid[])
RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
	woken uuid[];
BEGIN
	PERFORM lock_latch(keys, whole);
	DELETE FROM lock_claims WHERE token = ANY (ended);
	INSERT INTO lock_cancels (token) SELECT unnest(given_up) ON CONFLICT DO NOTHING;
	SELECT array_agg(DISTINCT token) INTO woken FROM lock_claims WHERE fence IS NULL AND behind = ANY (ended);
	IF woken IS NOT NULL THEN
		PERFORM pg_notify(channel, CASE WHEN cardinality(woken) <= 100 THEN array_to_string(woken, ' ') ELSE '' END);
	END IF;
	-- A node finds what it released and the database lost with a crash: see Table.reconcile.
	PERFORM set_config('synchronous_commit', 'off', true);
END $$;
