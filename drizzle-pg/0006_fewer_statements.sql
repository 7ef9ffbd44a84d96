ALTER TABLE "jobs" DROP CONSTRAINT "jobs_mode";--> statement-breakpoint
ALTER TABLE "jobs" DROP CONSTRAINT "jobs_state";--> statement-breakpoint
ALTER TABLE "jobs" DROP CONSTRAINT "jobs_lane";--> statement-breakpoint
ALTER TABLE "jobs" DROP CONSTRAINT "jobs_queued_in_lane";--> statement-breakpoint
ALTER TABLE "jobs" DROP CONSTRAINT "jobs_followers_wait";--> statement-breakpoint
ALTER TABLE "jobs" DROP CONSTRAINT "jobs_attempts";--> statement-breakpoint
ALTER TABLE "jobs" DROP CONSTRAINT "jobs_progress";--> statement-breakpoint
ALTER TABLE "jobs" DROP CONSTRAINT "jobs_delayed_is_due";--> statement-breakpoint
ALTER TABLE "jobs" DROP CONSTRAINT "jobs_active_is_leased";--> statement-breakpoint
ALTER TABLE "jobs" DROP CONSTRAINT "jobs_ended_at";--> statement-breakpoint
ALTER TABLE "jobs" DROP CONSTRAINT "jobs_ended_by";--> statement-breakpoint
ALTER TABLE "jobs" DROP CONSTRAINT "jobs_completed";--> statement-breakpoint
ALTER TABLE "jobs" DROP CONSTRAINT "jobs_failed";--> statement-breakpoint
ALTER TABLE "jobs" DROP CONSTRAINT "jobs_active_has_node";--> statement-breakpoint
-- Each submission and each capture changes the tag of a turn. Without this index, and with room in the page, that changes no index.
DROP INDEX "turns_tag";
--> statement-breakpoint
ALTER TABLE turns SET (fillfactor = 50);
--> statement-breakpoint
-- Whether nothing known may answer a submission (no picture since `since`, no render in flight) and nothing refuses it. In doubt, it does
-- not admit one, and the submission is decided in a transaction (src/store/postgres/accept.ts). A function, since the locks must be held
-- before the snapshots that the looks are made with.
CREATE FUNCTION stillframe_admits(account text, digest text, since bigint, max_queue bigint, month text, price bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF digest IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(2, hashtext(account || ' ' || digest));
    IF EXISTS (SELECT 1 FROM jobs WHERE account_id = account AND cache_digest = digest AND rendered_at >= since)
      OR EXISTS (SELECT 1 FROM jobs WHERE account_id = account AND cache_digest = digest AND ended_at IS NULL AND leader_id IS NULL)
    THEN RETURN false; END IF;
  END IF;
  IF (SELECT count(*) FROM (SELECT 1 FROM queue_entries WHERE lane < 2 LIMIT max_queue) queued)
    + (SELECT count(*) FROM (SELECT 1 FROM jobs WHERE leader_id IS NOT NULL LIMIT max_queue) followers) >= max_queue
  THEN RETURN false; END IF;
  IF (SELECT quota FROM accounts WHERE id = account) IS NULL THEN RETURN true; END IF;
  PERFORM 1 FROM accounts WHERE id = account FOR NO KEY UPDATE;
  RETURN (SELECT coalesce(sum(settled + reserved), 0) FROM sums WHERE account_id = account AND period = month) + price
    <= (SELECT quota FROM accounts WHERE id = account);
END $$;
--> statement-breakpoint
-- Receivers with waiting deliveries and a free slot: one look-up per receiver, however long its backlog. A receiver that does not respond
-- is paused (a circuit breaker) after `patience` attempts, with one attempt in between.
CREATE FUNCTION stillframe_receivers(per_receiver int, patience int)
RETURNS TABLE (account_id text, origin text, ready_at bigint, held bigint, total bigint) LANGUAGE sql STABLE AS $$
  WITH RECURSIVE receiver(account_id, origin) AS (
    (SELECT account_id, origin FROM deliveries WHERE due_at IS NOT NULL AND claimed_until IS NULL ORDER BY account_id, origin LIMIT 1)
    UNION ALL SELECT next.account_id, next.origin FROM receiver CROSS JOIN LATERAL (
      SELECT account_id, origin FROM deliveries
        WHERE due_at IS NOT NULL AND claimed_until IS NULL AND (account_id, origin) > (receiver.account_id, receiver.origin)
        ORDER BY account_id, origin LIMIT 1) next),
  busy AS (SELECT account_id, origin, count(*) AS attempts FROM deliveries WHERE claimed_until IS NOT NULL GROUP BY 1, 2)
  SELECT receiver.account_id, receiver.origin, greatest(first.due_at, known.paused_until) AS ready_at,
      coalesce((SELECT sum(attempts) FROM busy WHERE busy.account_id = receiver.account_id), 0)::bigint AS held,
      coalesce((SELECT sum(attempts) FROM busy), 0)::bigint AS total
    FROM receiver
    CROSS JOIN LATERAL (SELECT min(due_at) AS due_at FROM deliveries
      WHERE account_id = receiver.account_id AND origin = receiver.origin AND due_at IS NOT NULL AND claimed_until IS NULL) first
    LEFT JOIN receivers known ON known.account_id = receiver.account_id AND known.origin = receiver.origin
    LEFT JOIN busy ON busy.account_id = receiver.account_id AND busy.origin = receiver.origin
    WHERE coalesce(busy.attempts, 0) < CASE WHEN coalesce(known.silences, 0) >= patience THEN 1 ELSE per_receiver END
$$;
--> statement-breakpoint
-- Claims the most overdue delivery of the account with the fewest running attempts, which must leave as many slots free as it uses, and of
-- its receiver that is ready longest. One claim at a time, so that no slot is given away twice.
CREATE FUNCTION stillframe_claim_delivery(now bigint, until bigint, per_receiver int, patience int, at_once bigint, node text)
RETURNS SETOF deliveries ROWS 1 LANGUAGE plpgsql AS $$
DECLARE
  chosen record;
BEGIN
  -- The check of an idle worker must not cost a lock.
  IF NOT EXISTS (SELECT 1 FROM deliveries WHERE due_at <= now AND claimed_until IS NULL) THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(6, 0);
  SELECT * INTO chosen FROM stillframe_receivers(per_receiver, patience) ready
    WHERE ready_at <= now AND held < at_once - total ORDER BY held, ready_at LIMIT 1;
  IF NOT FOUND THEN RETURN; END IF;
  RETURN QUERY UPDATE deliveries SET claimed_until = until, node_id = node
    WHERE job_id = (SELECT job_id FROM deliveries WHERE account_id = chosen.account_id AND origin = chosen.origin
      AND due_at <= now AND claimed_until IS NULL ORDER BY due_at LIMIT 1 FOR UPDATE) RETURNING *;
END $$;
--> statement-breakpoint
-- Whether others share a job's render. A function, since a statement that ends a job does not see those that have joined it since it began.
CREATE FUNCTION stillframe_is_followed(job_id text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN EXISTS (SELECT 1 FROM jobs WHERE leader_id = job_id);
END $$;
--> statement-breakpoint
-- Claims jobs (`stillframe_claim_jobs`) after the corrections of turns that precede the claim (`stillframe_settle`).
CREATE FUNCTION stillframe_claim_corrected(now bigint, lease_ms bigint, workers text[], node text, kept_slots boolean[], batch_slots boolean[],
  accounts text[], took bigint[], booked bigint[])
RETURNS TABLE (job_id text, account text, request text, job_mode text, attempt int, budget int, enqueued bigint, first_claimed bigint,
  due bigint, trace text, order_sealed bytea, batch text) ROWS 1 LANGUAGE plpgsql AS $$
BEGIN
  IF cardinality(accounts) > 0 THEN PERFORM stillframe_settle(accounts, took, booked); END IF;
  RETURN QUERY SELECT * FROM stillframe_claim_jobs(now, lease_ms, workers, node, kept_slots, batch_slots);
END $$;
--> statement-breakpoint
-- As before, but all jobs of a call change in one statement: `after_lane` and `after_seq` are the last entry that each account has given.
CREATE OR REPLACE FUNCTION stillframe_claim_jobs(now bigint, lease_ms bigint, workers text[], node text, kept_slots boolean[], batch_slots boolean[])
RETURNS TABLE (job_id text, account text, request text, job_mode text, attempt int, budget int, enqueued bigint, first_claimed bigint,
  due bigint, trace text, order_sealed bytea, batch text) ROWS 1 LANGUAGE plpgsql AS $$
DECLARE
  is_paused boolean;
  latest bigint;
  accounts text[];
  tags bigint[];
  typical bigint[];
  charged bigint[];
  next int := 1;
  again int[] := '{}';
  after_lane int[];
  after_seq bigint[];
  chosen int;
  other int;
  booked bigint;
  entry record;
  taken bigint[] := '{}';
  bookings bigint[] := '{}';
  dues bigint[] := '{}';
BEGIN
  IF NOT EXISTS (SELECT 1 FROM queue_entries) THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(5, 0);
  SELECT paused, turn INTO is_paused, latest FROM queue FOR NO KEY UPDATE;
  IF is_paused THEN RETURN; END IF;
  -- One look-up per account, however many jobs it has.
  WITH RECURSIVE holder(id) AS (
    SELECT min(account_id) FROM queue_entries
    UNION ALL SELECT (SELECT min(account_id) FROM queue_entries WHERE account_id > holder.id) FROM holder WHERE holder.id IS NOT NULL)
  SELECT array_agg(turns.account_id ORDER BY tag, turns.seq), array_agg(tag ORDER BY tag, turns.seq),
      array_agg(typical_ms ORDER BY tag, turns.seq), array_agg(0 ORDER BY tag, turns.seq),
      array_agg(-1 ORDER BY tag, turns.seq), array_agg(0 ORDER BY tag, turns.seq)
    INTO accounts, tags, typical, charged, after_lane, after_seq FROM holder JOIN turns ON turns.account_id = holder.id;
  FOR slot IN 1 .. array_length(workers, 1) LOOP
    LOOP
      chosen := CASE WHEN next <= cardinality(accounts) THEN next END;
      FOREACH other IN ARRAY again LOOP
        IF chosen IS NULL OR (tags[other], other) < (tags[chosen], chosen) THEN chosen := other; END IF;
      END LOOP;
      EXIT WHEN chosen IS NULL;
      IF chosen = next THEN next := next + 1; ELSE again := array_remove(again, chosen); END IF;
      IF kept_slots[slot] THEN
        CONTINUE WHEN (charged[chosen] > 0
            OR EXISTS (SELECT 1 FROM jobs WHERE jobs.account_id = accounts[chosen] AND jobs.state = 'active' AND jobs.ended_at IS NULL))
          AND EXISTS (SELECT 1 FROM turns WHERE turns.seen_at > now - 3600000 AND turns.account_id <> accounts[chosen]);
      END IF;
      -- A job that somebody else holds is left for the next claim: waiting for it would hold up the claims of all.
      SELECT waiting.seq, waiting.lane, waiting.due_at, jobs.delay_ms INTO entry FROM queue_entries waiting JOIN jobs ON jobs.seq = waiting.seq
        WHERE waiting.account_id = accounts[chosen] AND (waiting.lane, waiting.seq) > (after_lane[chosen], after_seq[chosen])
          AND (waiting.due_at IS NULL OR waiting.due_at <= now) AND (batch_slots[slot] OR waiting.lane < 2)
        ORDER BY waiting.lane, waiting.seq LIMIT 1 FOR UPDATE OF waiting SKIP LOCKED FOR NO KEY UPDATE OF jobs SKIP LOCKED;
      EXIT WHEN FOUND;
    END LOOP;
    EXIT WHEN chosen IS NULL;
    after_lane[chosen] := entry.lane;
    after_seq[chosen] := entry.seq;
    booked := greatest(typical[chosen], entry.delay_ms);
    latest := greatest(latest, tags[chosen]);
    tags[chosen] := tags[chosen] + booked;
    charged[chosen] := charged[chosen] + booked;
    again := again || chosen;
    taken := array_append(taken, entry.seq);
    bookings := array_append(bookings, booked);
    dues := array_append(dues, entry.due_at);
  END LOOP;
  IF taken = '{}' THEN RETURN; END IF;
  DELETE FROM queue_entries WHERE seq = ANY(taken);
  RETURN QUERY WITH claimed AS (
      UPDATE jobs SET state = 'active', attempts_made = attempts_made + 1, claimed_at = now, due_at = NULL, progress = 0, worker_id = given.worker,
          node_id = node, booked_ms = given.booked, lease_expires_at = now + lease_ms, first_claimed_at = coalesce(first_claimed_at, now)
        FROM unnest(taken, workers, bookings, dues) WITH ORDINALITY AS given(seq, worker, booked, due_at, nth)
        WHERE jobs.seq = given.seq AND jobs.seq = ANY(taken) AND leader_id IS NULL AND state IN ('waiting', 'prioritized', 'delayed')
        RETURNING jobs.*, given.due_at AS was_due_at, given.nth)
    SELECT claimed.id, claimed.account_id, claimed.request_id, claimed.mode, claimed.attempts_made, claimed.attempt_budget, claimed.enqueued_at,
        claimed.first_claimed_at, claimed.was_due_at, claimed.traceparent, orders.sealed, claimed.batch_id
      FROM claimed LEFT JOIN orders ON orders.job_id = claimed.id ORDER BY claimed.nth;
  GET DIAGNOSTICS chosen = ROW_COUNT;
  IF chosen <> cardinality(taken) THEN RAISE EXCEPTION 'a queue entry without a job to claim'; END IF;
  UPDATE turns SET tag = tag + sums.sum FROM unnest(accounts[1:next - 1], charged[1:next - 1]) AS sums(id, sum)
    WHERE turns.account_id = sums.id AND sums.sum > 0;
  UPDATE queue SET turn = latest WHERE queue.turn < latest;
END $$;
--> statement-breakpoint
-- The rules of `src/store/constraints.ts` for jobs. As CHECK, PostgreSQL would plan them anew in each statement.
CREATE FUNCTION stillframe_check_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT (
    (new.mode IN ('sync', 'async')) AND
    (new.state IN ('waiting', 'prioritized', 'active', 'delayed', 'completed', 'failed')) AND
    (new.lane IN ('prioritized', 'waiting')) AND
    (new.state NOT IN ('waiting', 'prioritized') OR new.state = new.lane) AND
    (new.leader_id IS NULL OR new.state IN ('waiting', 'prioritized')) AND
    (new.attempt_budget >= 1 AND new.attempts_made BETWEEN 0 AND new.attempt_budget) AND
    (new.progress BETWEEN 0 AND 100) AND
    ((new.state = 'delayed') = (new.due_at IS NOT NULL)) AND
    ((new.state = 'active') = (new.lease_expires_at IS NOT NULL)) AND
    ((new.state IN ('completed', 'failed')) = (new.ended_at IS NOT NULL)) AND
    (new.ended_at IS NULL OR new.worker_id IS NOT NULL) AND
    ((new.state = 'completed') = (new.data IS NOT NULL) AND (new.data IS NULL) = (new.artifact_name IS NULL)) AND
    ((new.state = 'failed') = (new.error IS NOT NULL)) AND
    ((new.state = 'active') = (new.node_id IS NOT NULL))
  ) THEN RAISE check_violation USING MESSAGE = 'the row of job ' || new.id || ' breaks a rule', TABLE = 'jobs'; END IF;
  RETURN new;
END $$;
--> statement-breakpoint
CREATE TRIGGER jobs_rules BEFORE INSERT OR UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION stillframe_check_job();
