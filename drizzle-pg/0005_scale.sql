-- As before, but the accounts that wait are looked up once for all slots of a call, not once for each slot: `next` is the first of them, in the
-- order of their turns, that was not looked at yet, and `again` lists those that this call has claimed from, with their new turns. An account
-- without a job for one slot is left out for the others, since a later slot never takes more than an earlier one.
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
  chosen int;
  other int;
  chosen_seq bigint;
  booked bigint;
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
      array_agg(typical_ms ORDER BY tag, turns.seq), array_agg(0 ORDER BY tag, turns.seq)
    INTO accounts, tags, typical, charged FROM holder JOIN turns ON turns.account_id = holder.id;
  FOR slot IN 1 .. array_length(workers, 1) LOOP
    chosen_seq := NULL;
    LOOP
      chosen := CASE WHEN next <= cardinality(accounts) THEN next END;
      FOREACH other IN ARRAY again LOOP
        IF chosen IS NULL OR (tags[other], other) < (tags[chosen], chosen) THEN chosen := other; END IF;
      END LOOP;
      EXIT WHEN chosen IS NULL;
      IF chosen = next THEN next := next + 1; ELSE again := array_remove(again, chosen); END IF;
      IF kept_slots[slot] THEN
        CONTINUE WHEN EXISTS (SELECT 1 FROM jobs WHERE jobs.account_id = accounts[chosen] AND jobs.state = 'active' AND jobs.ended_at IS NULL)
          AND EXISTS (SELECT 1 FROM turns WHERE turns.seen_at > now - 3600000 AND turns.account_id <> accounts[chosen]);
      END IF;
      -- A job that somebody else holds is left for the next claim: waiting for it would hold up the claims of all.
      DELETE FROM queue_entries WHERE queue_entries.seq = (
          SELECT entry.seq FROM queue_entries entry JOIN jobs ON jobs.seq = entry.seq
            WHERE entry.account_id = accounts[chosen] AND (entry.due_at IS NULL OR entry.due_at <= now)
              AND (batch_slots[slot] OR entry.lane < 2)
            ORDER BY entry.lane, entry.seq LIMIT 1 FOR UPDATE OF entry SKIP LOCKED FOR NO KEY UPDATE OF jobs SKIP LOCKED)
        RETURNING queue_entries.seq, queue_entries.due_at INTO chosen_seq, due;
      EXIT WHEN chosen_seq IS NOT NULL;
    END LOOP;
    EXIT WHEN chosen_seq IS NULL;
    UPDATE jobs SET state = 'active', attempts_made = attempts_made + 1, claimed_at = now, due_at = NULL, progress = 0,
        worker_id = workers[slot], node_id = node, booked_ms = greatest(typical[chosen], delay_ms), lease_expires_at = now + lease_ms,
        first_claimed_at = coalesce(first_claimed_at, now)
      WHERE jobs.seq = chosen_seq AND leader_id IS NULL AND state IN ('waiting', 'prioritized', 'delayed')
      RETURNING id, account_id, request_id, mode, attempts_made, attempt_budget, enqueued_at, first_claimed_at, booked_ms, traceparent, batch_id
      INTO job_id, account, request, job_mode, attempt, budget, enqueued, first_claimed, booked, trace, batch;
    IF NOT FOUND THEN RAISE EXCEPTION 'a queue entry without a job to claim'; END IF;
    latest := greatest(latest, tags[chosen]);
    tags[chosen] := tags[chosen] + booked;
    charged[chosen] := charged[chosen] + booked;
    again := again || chosen;
    SELECT orders.sealed INTO order_sealed FROM orders WHERE orders.job_id = stillframe_claim_jobs.job_id;
    RETURN NEXT;
  END LOOP;
  UPDATE turns SET tag = tag + sums.sum FROM unnest(accounts[1:next - 1], charged[1:next - 1]) AS sums(id, sum)
    WHERE turns.account_id = sums.id AND sums.sum > 0;
  UPDATE queue SET turn = latest WHERE queue.turn < latest;
END $$;
