CREATE TABLE "batches" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"key_id" text NOT NULL,
	"request_id" text NOT NULL,
	"idempotency_key" text,
	"identity_digest" text NOT NULL,
	"total" integer NOT NULL,
	"webhook_url" text,
	"created_at" bigint NOT NULL,
	"completed_at" bigint,
	"removed_at" bigint,
	"cleared_at" bigint
);
--> statement-breakpoint
ALTER TABLE "deliveries" DROP CONSTRAINT "deliveries_event";--> statement-breakpoint
ALTER TABLE "deliveries" DROP CONSTRAINT "deliveries_job_id_jobs_id_fk";
--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "batch_id" text;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "batch_index" integer;--> statement-breakpoint
ALTER TABLE "batches" ADD CONSTRAINT "batches_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "batches" ADD CONSTRAINT "batches_key_id_api_keys_id_fk" FOREIGN KEY ("key_id") REFERENCES "api_keys"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "batches_idempotency_key" ON "batches" USING btree ("account_id","idempotency_key") WHERE idempotency_key IS NOT NULL;--> statement-breakpoint
CREATE INDEX "batches_of_key" ON "batches" USING btree ("key_id","id");--> statement-breakpoint
CREATE INDEX "batches_active" ON "batches" USING btree ("created_at") WHERE completed_at IS NULL;--> statement-breakpoint
CREATE INDEX "batches_completed" ON "batches" USING btree ("completed_at") WHERE completed_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX "batches_clearing" ON "batches" USING btree ("id") WHERE removed_at IS NOT NULL AND cleared_at IS NULL;--> statement-breakpoint
ALTER TABLE "jobs" ADD CONSTRAINT "jobs_batch_id_batches_id_fk" FOREIGN KEY ("batch_id") REFERENCES "batches"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "jobs_of_batch" ON "jobs" USING btree ("batch_id","batch_index") WHERE batch_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX "jobs_unfinished_of_batch" ON "jobs" USING btree ("batch_id","account_id") WHERE batch_id IS NOT NULL AND ended_at IS NULL;--> statement-breakpoint
CREATE INDEX "queue_entries_single" ON "queue_entries" USING btree ("seq") WHERE lane < 2;--> statement-breakpoint
ALTER TABLE "deliveries" ADD CONSTRAINT "deliveries_event" CHECK (event IN ('capture.completed', 'capture.failed', 'batch.completed', 'batch.canceled'));
--> statement-breakpoint
-- As `stillframe_claim`, but slots without `batch_slots` take no captures of batches.
CREATE FUNCTION stillframe_claim_jobs(now bigint, lease_ms bigint, workers text[], node text, kept_slots boolean[], batch_slots boolean[])
RETURNS TABLE (job_id text, account text, request text, job_mode text, attempt int, budget int, enqueued bigint, first_claimed bigint,
  due bigint, trace text, order_sealed bytea, batch text) ROWS 1 LANGUAGE plpgsql AS $$
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
              AND (batch_slots[slot] OR entry.lane < 2)
            ORDER BY entry.lane, entry.seq LIMIT 1 FOR UPDATE OF entry SKIP LOCKED FOR NO KEY UPDATE OF jobs SKIP LOCKED)
        RETURNING queue_entries.seq, queue_entries.due_at INTO chosen_seq, due;
      EXIT WHEN chosen_seq IS NOT NULL;
    END LOOP;
    EXIT WHEN chosen_seq IS NULL;
    UPDATE jobs SET state = 'active', attempts_made = attempts_made + 1, claimed_at = now, due_at = NULL, progress = 0,
        worker_id = workers[slot], node_id = node, booked_ms = greatest(chosen.typical_ms, delay_ms), lease_expires_at = now + lease_ms,
        first_claimed_at = coalesce(first_claimed_at, now)
      WHERE jobs.seq = chosen_seq AND leader_id IS NULL AND state IN ('waiting', 'prioritized', 'delayed')
      RETURNING id, account_id, request_id, mode, attempts_made, attempt_budget, enqueued_at, first_claimed_at, booked_ms, traceparent, batch_id
      INTO job_id, account, request, job_mode, attempt, budget, enqueued, first_claimed, booked, trace, batch;
    IF NOT FOUND THEN RAISE EXCEPTION 'a queue entry without a job to claim'; END IF;
    UPDATE turns SET tag = tag + booked WHERE turns.account_id = chosen.account_id;
    latest := greatest(latest, chosen.tag);
    SELECT orders.sealed INTO order_sealed FROM orders WHERE orders.job_id = stillframe_claim_jobs.job_id;
    RETURN NEXT;
  END LOOP;
  UPDATE queue SET turn = latest WHERE queue.turn < latest;
END $$;
