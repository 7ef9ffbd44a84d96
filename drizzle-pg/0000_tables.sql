CREATE TABLE "accounts" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"quota" bigint,
	"created_at" bigint NOT NULL,
	CONSTRAINT "accounts_name_unique" UNIQUE("name"),
	CONSTRAINT "accounts_quota" CHECK (quota >= 0)
);
--> statement-breakpoint
CREATE TABLE "api_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"hash" text NOT NULL,
	"label" text NOT NULL,
	"scopes" jsonb NOT NULL,
	"prefix" text NOT NULL,
	"created_at" bigint NOT NULL,
	"revoked_at" bigint,
	"links_limit" bigint,
	CONSTRAINT "api_keys_hash_unique" UNIQUE("hash"),
	CONSTRAINT "api_keys_links_limit" CHECK (links_limit >= 0)
);
--> statement-breakpoint
CREATE TABLE "artifacts" (
	"name" text PRIMARY KEY NOT NULL,
	"bytes" bigint NOT NULL,
	"sha256" text NOT NULL,
	"created_at" bigint NOT NULL,
	"gone_at" bigint,
	"account_id" text NOT NULL,
	"data" text NOT NULL,
	"first_name" text,
	CONSTRAINT "artifacts_bytes" CHECK (bytes >= 0)
);
--> statement-breakpoint
CREATE TABLE "console_access" (
	"hash" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"created_at" bigint NOT NULL,
	"expires_at" bigint NOT NULL,
	CONSTRAINT "console_access_kind" CHECK (kind IN ('link', 'session'))
);
--> statement-breakpoint
CREATE TABLE "deliveries" (
	"job_id" text PRIMARY KEY NOT NULL,
	"delivery_id" text NOT NULL,
	"account_id" text NOT NULL,
	"url" text NOT NULL,
	"origin" text NOT NULL,
	"secret" "bytea" NOT NULL,
	"event" text,
	"state" text NOT NULL,
	"generation" integer NOT NULL,
	"attempts" integer NOT NULL,
	"max_attempts" integer NOT NULL,
	"last_status" integer,
	"last_error" text,
	"last_attempt_at" bigint,
	"next_attempt_at" bigint,
	"delivered_at" bigint,
	"due_at" bigint,
	"claimed_until" bigint,
	"node_id" text,
	"expires_at" bigint,
	CONSTRAINT "deliveries_delivery_id_unique" UNIQUE("delivery_id"),
	CONSTRAINT "deliveries_event" CHECK (event IN ('capture.completed', 'capture.failed')),
	CONSTRAINT "deliveries_state" CHECK (state IN ('pending', 'delivered', 'failed')),
	CONSTRAINT "deliveries_due" CHECK ((due_at IS NOT NULL) = (state = 'pending' AND event IS NOT NULL)),
	CONSTRAINT "deliveries_claimed" CHECK (claimed_until IS NULL OR due_at IS NOT NULL),
	CONSTRAINT "deliveries_expire" CHECK ((expires_at IS NOT NULL) = (due_at IS NOT NULL)),
	CONSTRAINT "deliveries_counts" CHECK (generation >= 1 AND attempts >= 0),
	CONSTRAINT "deliveries_node" CHECK ((claimed_until IS NULL) = (node_id IS NULL))
);
--> statement-breakpoint
CREATE TABLE "jobs" (
	"seq" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "jobs_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"id" text NOT NULL,
	"account_id" text NOT NULL,
	"key_id" text NOT NULL,
	"request_id" text NOT NULL,
	"mode" text NOT NULL,
	"state" text NOT NULL,
	"lane" text NOT NULL,
	"idempotency_key" text,
	"identity_digest" text NOT NULL,
	"cache_digest" text,
	"timeout_ms" bigint NOT NULL,
	"delay_ms" bigint NOT NULL,
	"leader_id" text,
	"attempts_made" integer NOT NULL,
	"attempt_budget" integer NOT NULL,
	"enqueued_at" bigint NOT NULL,
	"due_at" bigint,
	"first_claimed_at" bigint,
	"claimed_at" bigint,
	"booked_ms" bigint,
	"lease_expires_at" bigint,
	"node_id" text,
	"worker_id" text,
	"progress" integer NOT NULL,
	"webhook_url" text,
	"ended_at" bigint,
	"rendered_at" bigint,
	"artifact_name" text,
	"data" text,
	"error" text,
	"traceparent" text,
	"url" text NOT NULL,
	CONSTRAINT "jobs_id_unique" UNIQUE("id"),
	CONSTRAINT "jobs_mode" CHECK (mode IN ('sync', 'async')),
	CONSTRAINT "jobs_state" CHECK (state IN ('waiting', 'prioritized', 'active', 'delayed', 'completed', 'failed')),
	CONSTRAINT "jobs_lane" CHECK (lane IN ('prioritized', 'waiting')),
	CONSTRAINT "jobs_queued_in_lane" CHECK (state NOT IN ('waiting', 'prioritized') OR state = lane),
	CONSTRAINT "jobs_followers_wait" CHECK (leader_id IS NULL OR state IN ('waiting', 'prioritized')),
	CONSTRAINT "jobs_attempts" CHECK (attempt_budget >= 1 AND attempts_made BETWEEN 0 AND attempt_budget),
	CONSTRAINT "jobs_progress" CHECK (progress BETWEEN 0 AND 100),
	CONSTRAINT "jobs_delayed_is_due" CHECK ((state = 'delayed') = (due_at IS NOT NULL)),
	CONSTRAINT "jobs_active_is_leased" CHECK ((state = 'active') = (lease_expires_at IS NOT NULL)),
	CONSTRAINT "jobs_ended_at" CHECK ((state IN ('completed', 'failed')) = (ended_at IS NOT NULL)),
	CONSTRAINT "jobs_ended_by" CHECK (ended_at IS NULL OR worker_id IS NOT NULL),
	CONSTRAINT "jobs_completed" CHECK ((state = 'completed') = (data IS NOT NULL) AND (data IS NULL) = (artifact_name IS NULL)),
	CONSTRAINT "jobs_failed" CHECK ((state = 'failed') = (error IS NOT NULL)),
	CONSTRAINT "jobs_active_has_node" CHECK ((state = 'active') = (node_id IS NOT NULL))
);
--> statement-breakpoint
CREATE TABLE "marks" (
	"name" text PRIMARY KEY NOT NULL,
	"value" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "nodes" (
	"id" text PRIMARY KEY NOT NULL,
	"lock_key" integer GENERATED ALWAYS AS IDENTITY (sequence name "nodes_lock_key_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"started_at" bigint NOT NULL,
	"seen_at" bigint NOT NULL,
	"facts" jsonb NOT NULL,
	CONSTRAINT "nodes_lock_key_unique" UNIQUE("lock_key")
);
--> statement-breakpoint
CREATE TABLE "orders" (
	"job_id" text PRIMARY KEY NOT NULL,
	"sealed" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "queue" (
	"id" integer PRIMARY KEY NOT NULL,
	"paused" boolean NOT NULL,
	"turn" bigint NOT NULL,
	CONSTRAINT "queue_one_row" CHECK (id = 1)
);
--> statement-breakpoint
CREATE TABLE "queue_entries" (
	"seq" bigint PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"lane" smallint NOT NULL,
	"due_at" bigint
);
--> statement-breakpoint
CREATE TABLE "receivers" (
	"account_id" text NOT NULL,
	"origin" text NOT NULL,
	"silences" integer NOT NULL,
	"paused_until" bigint NOT NULL,
	CONSTRAINT "receivers_account_id_origin_pk" PRIMARY KEY("account_id","origin"),
	CONSTRAINT "receivers_silences" CHECK (silences >= 0)
);
--> statement-breakpoint
CREATE TABLE "removals" (
	"name" text COLLATE "C" PRIMARY KEY NOT NULL,
	"job_id" text,
	"worker_id" text,
	"attempt" integer,
	CONSTRAINT "removals_claim" CHECK ((job_id IS NULL) = (worker_id IS NULL) AND (job_id IS NULL) = (attempt IS NULL))
);
--> statement-breakpoint
CREATE TABLE "reservations" (
	"job_id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"period" text NOT NULL,
	"credits" bigint NOT NULL,
	"state" text NOT NULL,
	"created_at" bigint NOT NULL,
	"link_key_id" text,
	CONSTRAINT "reservations_state" CHECK (state IN ('pending', 'settled', 'released')),
	CONSTRAINT "reservations_credits" CHECK (credits > 0)
);
--> statement-breakpoint
CREATE TABLE "signing_secrets" (
	"key_id" text PRIMARY KEY NOT NULL,
	"secret" "bytea" NOT NULL,
	"previous" "bytea",
	"previous_until" bigint,
	CONSTRAINT "signing_secrets_previous" CHECK ((previous IS NULL) = (previous_until IS NULL))
);
--> statement-breakpoint
CREATE TABLE "tallies" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "tallies_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" text NOT NULL,
	"period" text NOT NULL,
	"name" text NOT NULL,
	"reserved" bigint DEFAULT 0 NOT NULL,
	"settled" bigint DEFAULT 0 NOT NULL,
	"jobs" bigint DEFAULT 0 NOT NULL,
	"bytes" bigint DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "totals" (
	"account_id" text NOT NULL,
	"period" text NOT NULL,
	"name" text NOT NULL,
	"reserved" bigint NOT NULL,
	"settled" bigint NOT NULL,
	"jobs" bigint NOT NULL,
	"bytes" bigint NOT NULL,
	CONSTRAINT "totals_account_id_period_name_pk" PRIMARY KEY("account_id","period","name")
);
--> statement-breakpoint
CREATE TABLE "turns" (
	"account_id" text PRIMARY KEY NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "turns_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"tag" bigint DEFAULT 0 NOT NULL,
	"typical_ms" bigint DEFAULT 1000 NOT NULL,
	"seen_at" bigint DEFAULT 0 NOT NULL
);
--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "artifacts" ADD CONSTRAINT "artifacts_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "artifacts" ADD CONSTRAINT "artifacts_first_name_artifacts_name_fk" FOREIGN KEY ("first_name") REFERENCES "artifacts"("name") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deliveries" ADD CONSTRAINT "deliveries_job_id_jobs_id_fk" FOREIGN KEY ("job_id") REFERENCES "jobs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "jobs" ADD CONSTRAINT "jobs_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "jobs" ADD CONSTRAINT "jobs_key_id_api_keys_id_fk" FOREIGN KEY ("key_id") REFERENCES "api_keys"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "jobs" ADD CONSTRAINT "jobs_leader_id_jobs_id_fk" FOREIGN KEY ("leader_id") REFERENCES "jobs"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "jobs" ADD CONSTRAINT "jobs_artifact_name_artifacts_name_fk" FOREIGN KEY ("artifact_name") REFERENCES "artifacts"("name") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "orders" ADD CONSTRAINT "orders_job_id_jobs_id_fk" FOREIGN KEY ("job_id") REFERENCES "jobs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "queue_entries" ADD CONSTRAINT "queue_entries_seq_jobs_seq_fk" FOREIGN KEY ("seq") REFERENCES "jobs"("seq") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "receivers" ADD CONSTRAINT "receivers_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "reservations" ADD CONSTRAINT "reservations_job_id_jobs_id_fk" FOREIGN KEY ("job_id") REFERENCES "jobs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "signing_secrets" ADD CONSTRAINT "signing_secrets_key_id_api_keys_id_fk" FOREIGN KEY ("key_id") REFERENCES "api_keys"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "totals" ADD CONSTRAINT "totals_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "turns" ADD CONSTRAINT "turns_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "artifacts_oldest" ON "artifacts" USING btree ("created_at") WHERE gone_at IS NULL;--> statement-breakpoint
CREATE INDEX "artifacts_of_account" ON "artifacts" USING btree ("account_id","created_at") WHERE gone_at IS NULL;--> statement-breakpoint
CREATE INDEX "artifacts_further" ON "artifacts" USING btree ("first_name") WHERE first_name IS NOT NULL;--> statement-breakpoint
CREATE INDEX "deliveries_waiting" ON "deliveries" USING btree ("account_id","origin","due_at") WHERE due_at IS NOT NULL AND claimed_until IS NULL;--> statement-breakpoint
CREATE INDEX "deliveries_claimed_by" ON "deliveries" USING btree ("account_id","origin") WHERE claimed_until IS NOT NULL;--> statement-breakpoint
CREATE INDEX "deliveries_due" ON "deliveries" USING btree ("due_at") WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX "deliveries_expiring" ON "deliveries" USING btree ("expires_at") WHERE expires_at IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "jobs_idempotency_key" ON "jobs" USING btree ("account_id","idempotency_key") WHERE idempotency_key IS NOT NULL;--> statement-breakpoint
CREATE INDEX "jobs_in_flight" ON "jobs" USING btree ("account_id","cache_digest","seq") WHERE cache_digest IS NOT NULL AND ended_at IS NULL AND leader_id IS NULL;--> statement-breakpoint
CREATE INDEX "jobs_rendered" ON "jobs" USING btree ("account_id","cache_digest","rendered_at") WHERE cache_digest IS NOT NULL AND rendered_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX "jobs_unfinished" ON "jobs" USING btree ("account_id") WHERE ended_at IS NULL;--> statement-breakpoint
CREATE INDEX "jobs_unfinished_of_key" ON "jobs" USING btree ("key_id","seq") WHERE ended_at IS NULL;--> statement-breakpoint
CREATE INDEX "jobs_completed_of_key" ON "jobs" USING btree ("key_id","seq") WHERE data IS NOT NULL;--> statement-breakpoint
CREATE INDEX "jobs_failed_of_key" ON "jobs" USING btree ("key_id","seq") WHERE error IS NOT NULL;--> statement-breakpoint
CREATE INDEX "jobs_followers" ON "jobs" USING btree ("leader_id","seq") WHERE leader_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX "jobs_ended" ON "jobs" USING btree ("ended_at","seq") WHERE ended_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX "jobs_artifact" ON "jobs" USING btree ("artifact_name") WHERE artifact_name IS NOT NULL;--> statement-breakpoint
CREATE INDEX "queue_entries_next" ON "queue_entries" USING btree ("account_id","lane","seq");--> statement-breakpoint
CREATE INDEX "queue_entries_due" ON "queue_entries" USING btree ("due_at") WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX "reservations_pending" ON "reservations" USING btree ("created_at") WHERE state = 'pending';--> statement-breakpoint
CREATE INDEX "tallies_of_account" ON "tallies" USING btree ("account_id","period");--> statement-breakpoint
CREATE INDEX "turns_tag" ON "turns" USING btree ("tag");--> statement-breakpoint
CREATE INDEX "turns_seen" ON "turns" USING btree ("seen_at");--> statement-breakpoint
CREATE VIEW "sums" AS (SELECT account_id, period, name, reserved, settled, jobs, bytes FROM totals UNION ALL SELECT account_id, period, name, reserved, settled, jobs, bytes FROM tallies);
--> statement-breakpoint
-- What drizzle-kit cannot express. Room for the claimed version of each job beside the queued one:
ALTER TABLE jobs SET (fillfactor = 60);
--> statement-breakpoint
INSERT INTO queue (id, paused, turn) VALUES (1, false, 0);
--> statement-breakpoint
CREATE FUNCTION stillframe_now() RETURNS bigint LANGUAGE sql VOLATILE
  AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;
--> statement-breakpoint
CREATE FUNCTION stillframe_keep_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF tg_op = 'UPDATE' THEN RAISE EXCEPTION 'an ended job does not change'; END IF;
  RAISE EXCEPTION 'a job that has not ended is not deleted';
END $$;
--> statement-breakpoint
CREATE TRIGGER jobs_end_for_good BEFORE UPDATE ON jobs FOR EACH ROW WHEN (old.ended_at IS NOT NULL) EXECUTE FUNCTION stillframe_keep_ended();
--> statement-breakpoint
CREATE TRIGGER jobs_deleted_when_ended BEFORE DELETE ON jobs FOR EACH ROW WHEN (old.ended_at IS NULL) EXECUTE FUNCTION stillframe_keep_ended();
--> statement-breakpoint
-- Ends a job's credits once: an error undoes the whole statement, so that nothing is charged twice.
CREATE FUNCTION stillframe_expect(condition boolean, message text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF condition IS NOT TRUE THEN RAISE EXCEPTION '%', message; END IF;
  RETURN true;
END $$;
--> statement-breakpoint
-- Claims the next jobs for several free slots of a node, one after the other (src/store/postgres/jobs.ts), and ends with the first slot for
-- which nothing is due. One claim at a time, so that each sees the turns as the one before left them; a function, since the lock must be
-- held before the snapshot that the look is made with. The queue's row is locked before those of accounts, as in a submission.
CREATE FUNCTION stillframe_claim(now bigint, lease_ms bigint, workers text[], node text, kept_slots boolean[])
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
    SELECT orders.sealed INTO order_sealed FROM orders WHERE orders.job_id = stillframe_claim.job_id;
    RETURN NEXT;
  END LOOP;
  UPDATE queue SET turn = latest WHERE queue.turn < latest;
END $$;
--> statement-breakpoint
-- Corrects the charges of accounts to the times that their jobs took, in this order; null for a time that was not measured. Under the lock
-- of claims, which change the turns of several accounts as well.
CREATE FUNCTION stillframe_settle(accounts text[], took bigint[], booked bigint[]) RETURNS void LANGUAGE plpgsql AS $$
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
