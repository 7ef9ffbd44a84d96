-- A claim changes no column of an index of "jobs", so that it writes none: of all writes, those of the indexes cost the most. "lease_expires_at"
-- and "state" are looked for among the unfinished jobs.
DROP INDEX jobs_leased;
--> statement-breakpoint
DROP INDEX jobs_unfinished;
--> statement-breakpoint
CREATE INDEX jobs_unfinished ON jobs (account_id) WHERE ended_at IS NULL;
--> statement-breakpoint
DROP INDEX jobs_of_key;
--> statement-breakpoint
CREATE INDEX jobs_unfinished_of_key ON jobs (key_id, seq) WHERE ended_at IS NULL;
--> statement-breakpoint
CREATE INDEX jobs_completed_of_key ON jobs (key_id, seq) WHERE data IS NOT NULL;
--> statement-breakpoint
CREATE INDEX jobs_failed_of_key ON jobs (key_id, seq) WHERE error IS NOT NULL;
--> statement-breakpoint
-- Room for the claimed version of each job beside the queued one.
ALTER TABLE jobs SET (fillfactor = 60);
--> statement-breakpoint
-- Claims the next jobs for several free slots of a node, one after the other by the rules of stillframe_claim_1, which stays for nodes of
-- the version before. Ends with the first slot for which nothing is due. The queue's row is locked before those of accounts, as in a
-- submission.
CREATE FUNCTION stillframe_claim_2(now bigint, lease_ms bigint, workers text[], node text, kept_slots boolean[])
RETURNS TABLE (job_id text, account text, request text, job_mode text, attempt int, budget int, enqueued bigint, first_claimed bigint,
  due bigint, trace text, order_sealed bytea) ROWS 1 LANGUAGE plpgsql AS $$
DECLARE
  is_paused boolean;
  latest bigint;
  chosen record;
  chosen_seq bigint;
  booked bigint;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM queue_entries) THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(5, 0);
  SELECT paused, turn INTO is_paused, latest FROM queue FOR NO KEY UPDATE;
  IF is_paused THEN RETURN; END IF;
  FOR slot IN 1 .. array_length(workers, 1) LOOP
    chosen_seq := NULL;
    FOR chosen IN
      -- One look-up per account, however many jobs it has.
      WITH RECURSIVE holder(id) AS (
        SELECT min(account_id) FROM queue_entries
        UNION ALL SELECT (SELECT min(account_id) FROM queue_entries WHERE account_id > holder.id) FROM holder WHERE holder.id IS NOT NULL)
      SELECT turns.account_id, turns.tag, turns.typical_ms FROM holder JOIN turns ON turns.account_id = holder.id
        ORDER BY turns.tag, turns.seq
    LOOP
      IF kept_slots[slot] THEN
        CONTINUE WHEN EXISTS (SELECT 1 FROM jobs WHERE jobs.account_id = chosen.account_id AND jobs.state = 'active' AND jobs.ended_at IS NULL)
          AND EXISTS (SELECT 1 FROM turns WHERE turns.seen_at > now - 3600000 AND turns.account_id <> chosen.account_id);
      END IF;
      -- A job that somebody else holds is left for the next claim: waiting for it would hold up the claims of all.
      DELETE FROM queue_entries WHERE queue_entries.seq = (
          SELECT entry.seq FROM queue_entries entry JOIN jobs ON jobs.seq = entry.seq
            WHERE entry.account_id = chosen.account_id AND (entry.due_at IS NULL OR entry.due_at <= now)
            ORDER BY entry.lane, entry.seq LIMIT 1 FOR UPDATE OF entry SKIP LOCKED FOR NO KEY UPDATE OF jobs SKIP LOCKED)
        RETURNING queue_entries.seq, queue_entries.due_at INTO chosen_seq, due;
      EXIT WHEN chosen_seq IS NOT NULL;
    END LOOP;
    EXIT WHEN chosen_seq IS NULL;
    UPDATE jobs SET state = 'active', attempts_made = attempts_made + 1, claimed_at = now, due_at = NULL, progress = 0,
        worker_id = workers[slot], node_id = node, booked_ms = greatest(chosen.typical_ms, delay_ms), lease_expires_at = now + lease_ms,
        first_claimed_at = coalesce(first_claimed_at, now)
      WHERE jobs.seq = chosen_seq AND leader_id IS NULL AND state IN ('waiting', 'prioritized', 'delayed')
      RETURNING id, account_id, request_id, mode, attempts_made, attempt_budget, enqueued_at, first_claimed_at, booked_ms, traceparent
      INTO job_id, account, request, job_mode, attempt, budget, enqueued, first_claimed, booked, trace;
    IF NOT FOUND THEN RAISE EXCEPTION 'a queue entry without a job to claim'; END IF;
    UPDATE turns SET tag = tag + booked WHERE turns.account_id = chosen.account_id;
    latest := greatest(latest, chosen.tag);
    SELECT orders.sealed INTO order_sealed FROM orders WHERE orders.job_id = stillframe_claim_2.job_id;
    RETURN NEXT;
  END LOOP;
  UPDATE queue SET turn = latest WHERE queue.turn < latest;
END $$;
--> statement-breakpoint
-- Corrects the charges of accounts to the times that their jobs took, in this order; null for a time that was not measured. Under the lock
-- of claims, which change the turns of several accounts as well.
CREATE FUNCTION stillframe_settle_1(accounts text[], took bigint[], booked bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  account text;
  typical bigint;
  change bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(5, 0);
  FOR account IN SELECT DISTINCT unnest(accounts) LOOP
    SELECT typical_ms INTO typical FROM turns WHERE account_id = account FOR NO KEY UPDATE;
    change := 0;
    FOR i IN 1 .. array_length(accounts, 1) LOOP
      CONTINUE WHEN accounts[i] <> account OR took[i] IS NULL;
      change := change + took[i] - booked[i];
      typical := (3 * typical + took[i]) / 4;
    END LOOP;
    UPDATE turns SET tag = tag + change, typical_ms = typical WHERE account_id = account;
  END LOOP;
END $$;
