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
	"watch_run" text,
	CONSTRAINT "artifacts_bytes" CHECK (bytes >= 0)
);
--> statement-breakpoint
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
	CONSTRAINT "deliveries_event" CHECK (event IN ('capture.completed', 'capture.failed', 'batch.completed', 'batch.canceled')),
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
	"removed_at" bigint,
	"batch_id" text,
	"batch_index" integer,
	CONSTRAINT "jobs_id_unique" UNIQUE("id")
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
CREATE TABLE "templates" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"name" text COLLATE "C" NOT NULL,
	"version" integer NOT NULL,
	"manifest" text NOT NULL,
	"files" text NOT NULL,
	"bytes" bigint NOT NULL,
	"sha256" text NOT NULL,
	"created_at" bigint NOT NULL,
	"content" "bytea" NOT NULL,
	CONSTRAINT "templates_version" CHECK (version >= 1),
	CONSTRAINT "templates_bytes" CHECK (bytes >= 0)
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
CREATE TABLE "watch_messages" (
	"id" text PRIMARY KEY NOT NULL,
	"watch_id" text NOT NULL,
	"run_id" text NOT NULL,
	"account_id" text NOT NULL,
	"target" integer NOT NULL,
	"recipient" text NOT NULL,
	"kind" text NOT NULL,
	"event" text NOT NULL,
	"state" text DEFAULT 'pending' NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"generation" integer DEFAULT 1 NOT NULL,
	"due_at" bigint,
	"claim" text,
	"last_status" integer,
	"last_error" text,
	"last_attempt_at" bigint,
	"delivered_at" bigint,
	CONSTRAINT "watch_messages_kind" CHECK (kind IN ('webhook', 'email', 'slack', 'upload')),
	CONSTRAINT "watch_messages_event" CHECK (event IN ('watch.changed', 'watch.report', 'watch.failed', 'watch.recovered')),
	CONSTRAINT "watch_messages_state" CHECK (state IN ('pending', 'delivered', 'failed')),
	CONSTRAINT "watch_messages_due" CHECK ((due_at IS NOT NULL) = (state = 'pending'))
);
--> statement-breakpoint
CREATE TABLE "watch_runs" (
	"id" text PRIMARY KEY NOT NULL,
	"watch_id" text NOT NULL,
	"account_id" text NOT NULL,
	"due_at" bigint NOT NULL,
	"cause" text NOT NULL,
	"state" text NOT NULL,
	"attempt" integer NOT NULL,
	"job_id" text,
	"wake_at" bigint,
	"claim" text,
	"started_at" bigint,
	"ended_at" bigint,
	"share" double precision,
	"picture" text,
	"changes" text,
	"data" text,
	"error" text,
	CONSTRAINT "watch_runs_cause" CHECK (cause IN ('schedule', 'request')),
	CONSTRAINT "watch_runs_state" CHECK (state IN ('queued', 'running', 'unchanged', 'changed', 'reported', 'failed', 'skipped')),
	CONSTRAINT "watch_runs_ended_at" CHECK ((ended_at IS NULL) = (state IN ('queued', 'running'))),
	CONSTRAINT "watch_runs_awake" CHECK ((wake_at IS NULL) = (ended_at IS NOT NULL))
);
--> statement-breakpoint
CREATE TABLE "watches" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"key_id" text NOT NULL,
	"sealed" "bytea" NOT NULL,
	"schedule" text NOT NULL,
	"keep_runs" integer NOT NULL,
	"keep_days" integer NOT NULL,
	"next_at" bigint,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL,
	"failures" integer DEFAULT 0 NOT NULL,
	"alarm" text,
	"previous_run" text,
	"approved_run" text,
	CONSTRAINT "watches_alarm" CHECK (alarm IN ('failed', 'skipped'))
);
--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "artifacts" ADD CONSTRAINT "artifacts_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "artifacts" ADD CONSTRAINT "artifacts_first_name_artifacts_name_fk" FOREIGN KEY ("first_name") REFERENCES "artifacts"("name") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "artifacts" ADD CONSTRAINT "artifacts_watch_run_watch_runs_id_fk" FOREIGN KEY ("watch_run") REFERENCES "watch_runs"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "batches" ADD CONSTRAINT "batches_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "batches" ADD CONSTRAINT "batches_key_id_api_keys_id_fk" FOREIGN KEY ("key_id") REFERENCES "api_keys"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "jobs" ADD CONSTRAINT "jobs_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "jobs" ADD CONSTRAINT "jobs_key_id_api_keys_id_fk" FOREIGN KEY ("key_id") REFERENCES "api_keys"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "jobs" ADD CONSTRAINT "jobs_leader_id_jobs_id_fk" FOREIGN KEY ("leader_id") REFERENCES "jobs"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "jobs" ADD CONSTRAINT "jobs_artifact_name_artifacts_name_fk" FOREIGN KEY ("artifact_name") REFERENCES "artifacts"("name") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "jobs" ADD CONSTRAINT "jobs_batch_id_batches_id_fk" FOREIGN KEY ("batch_id") REFERENCES "batches"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "orders" ADD CONSTRAINT "orders_job_id_jobs_id_fk" FOREIGN KEY ("job_id") REFERENCES "jobs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "queue_entries" ADD CONSTRAINT "queue_entries_seq_jobs_seq_fk" FOREIGN KEY ("seq") REFERENCES "jobs"("seq") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "receivers" ADD CONSTRAINT "receivers_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "reservations" ADD CONSTRAINT "reservations_job_id_jobs_id_fk" FOREIGN KEY ("job_id") REFERENCES "jobs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "signing_secrets" ADD CONSTRAINT "signing_secrets_key_id_api_keys_id_fk" FOREIGN KEY ("key_id") REFERENCES "api_keys"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "templates" ADD CONSTRAINT "templates_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "totals" ADD CONSTRAINT "totals_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "turns" ADD CONSTRAINT "turns_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "watch_messages" ADD CONSTRAINT "watch_messages_run_id_watch_runs_id_fk" FOREIGN KEY ("run_id") REFERENCES "watch_runs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "watch_runs" ADD CONSTRAINT "watch_runs_watch_id_watches_id_fk" FOREIGN KEY ("watch_id") REFERENCES "watches"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "watches" ADD CONSTRAINT "watches_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "watches" ADD CONSTRAINT "watches_key_id_api_keys_id_fk" FOREIGN KEY ("key_id") REFERENCES "api_keys"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "artifacts_expiring" ON "artifacts" USING btree ("created_at") WHERE gone_at IS NULL AND watch_run IS NULL;--> statement-breakpoint
CREATE INDEX "artifacts_of_run" ON "artifacts" USING btree ("watch_run") WHERE watch_run IS NOT NULL;--> statement-breakpoint
CREATE INDEX "artifacts_of_account" ON "artifacts" USING btree ("account_id","created_at") WHERE gone_at IS NULL;--> statement-breakpoint
CREATE INDEX "artifacts_further" ON "artifacts" USING btree ("first_name") WHERE first_name IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "batches_idempotency_key" ON "batches" USING btree ("account_id","idempotency_key") WHERE idempotency_key IS NOT NULL;--> statement-breakpoint
CREATE INDEX "batches_of_key" ON "batches" USING btree ("key_id","id");--> statement-breakpoint
CREATE INDEX "batches_active" ON "batches" USING btree ("created_at") WHERE completed_at IS NULL;--> statement-breakpoint
CREATE INDEX "batches_completed" ON "batches" USING btree ("completed_at") WHERE completed_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX "batches_clearing" ON "batches" USING btree ("id") WHERE removed_at IS NOT NULL AND cleared_at IS NULL;--> statement-breakpoint
CREATE INDEX "deliveries_waiting" ON "deliveries" USING btree ("account_id","origin","due_at") WHERE due_at IS NOT NULL AND claimed_until IS NULL;--> statement-breakpoint
CREATE INDEX "deliveries_claimed_by" ON "deliveries" USING btree ("account_id","origin") WHERE claimed_until IS NOT NULL;--> statement-breakpoint
CREATE INDEX "deliveries_due" ON "deliveries" USING btree ("due_at") WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX "deliveries_expiring" ON "deliveries" USING btree ("expires_at") WHERE expires_at IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "jobs_idempotency_key" ON "jobs" USING btree ("account_id","idempotency_key") WHERE idempotency_key IS NOT NULL;--> statement-breakpoint
CREATE INDEX "jobs_in_flight" ON "jobs" USING btree ("account_id","cache_digest","seq") WHERE cache_digest IS NOT NULL AND ended_at IS NULL AND leader_id IS NULL;--> statement-breakpoint
CREATE INDEX "jobs_rendered" ON "jobs" USING btree ("account_id","cache_digest","rendered_at") WHERE cache_digest IS NOT NULL AND rendered_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX "jobs_unfinished" ON "jobs" USING btree ("account_id") WHERE ended_at IS NULL;--> statement-breakpoint
CREATE INDEX "jobs_unfinished_of_key" ON "jobs" USING btree ("key_id","seq") WHERE ended_at IS NULL;--> statement-breakpoint
CREATE INDEX "jobs_completed_of_key" ON "jobs" USING btree ("key_id","seq") WHERE data IS NOT NULL AND removed_at IS NULL;--> statement-breakpoint
CREATE INDEX "jobs_failed_of_key" ON "jobs" USING btree ("key_id","seq") WHERE error IS NOT NULL AND removed_at IS NULL;--> statement-breakpoint
CREATE INDEX "jobs_followers" ON "jobs" USING btree ("leader_id","seq") WHERE leader_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX "jobs_ended" ON "jobs" USING btree ("ended_at","seq") WHERE ended_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX "jobs_artifact" ON "jobs" USING btree ("artifact_name") WHERE artifact_name IS NOT NULL;--> statement-breakpoint
CREATE INDEX "jobs_of_batch" ON "jobs" USING btree ("batch_id","batch_index") WHERE batch_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX "jobs_unfinished_of_batch" ON "jobs" USING btree ("batch_id","account_id") WHERE batch_id IS NOT NULL AND ended_at IS NULL;--> statement-breakpoint
CREATE INDEX "queue_entries_next" ON "queue_entries" USING btree ("account_id","lane","seq");--> statement-breakpoint
CREATE INDEX "queue_entries_single" ON "queue_entries" USING btree ("seq") WHERE lane < 2;--> statement-breakpoint
CREATE INDEX "queue_entries_due" ON "queue_entries" USING btree ("due_at") WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX "reservations_pending" ON "reservations" USING btree ("created_at") WHERE state = 'pending';--> statement-breakpoint
CREATE INDEX "tallies_of_account" ON "tallies" USING btree ("account_id","period");--> statement-breakpoint
CREATE UNIQUE INDEX "templates_version" ON "templates" USING btree ("account_id","name","version");--> statement-breakpoint
CREATE INDEX "turns_seen" ON "turns" USING btree ("seen_at");--> statement-breakpoint
CREATE UNIQUE INDEX "watch_messages_once" ON "watch_messages" USING btree ("run_id","event","target","recipient");--> statement-breakpoint
CREATE INDEX "watch_messages_due" ON "watch_messages" USING btree ("account_id","due_at") WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX "watch_messages_next" ON "watch_messages" USING btree ("due_at") WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "watch_runs_due" ON "watch_runs" USING btree ("watch_id","due_at");--> statement-breakpoint
CREATE UNIQUE INDEX "watch_runs_unfinished" ON "watch_runs" USING btree ("watch_id") WHERE ended_at IS NULL;--> statement-breakpoint
CREATE INDEX "watch_runs_queued" ON "watch_runs" USING btree ("account_id","wake_at") WHERE state = 'queued';--> statement-breakpoint
CREATE INDEX "watch_runs_running" ON "watch_runs" USING btree ("wake_at") WHERE state = 'running';--> statement-breakpoint
CREATE INDEX "watch_runs_awake" ON "watch_runs" USING btree ("wake_at") WHERE wake_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX "watch_runs_ended" ON "watch_runs" USING btree ("ended_at") WHERE ended_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX "watches_due" ON "watches" USING btree ("next_at") WHERE next_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX "watches_of_key" ON "watches" USING btree ("key_id","id");--> statement-breakpoint
CREATE INDEX "watches_of_account" ON "watches" USING btree ("account_id");--> statement-breakpoint
CREATE VIEW "sums" AS (SELECT account_id, period, name, reserved, settled, jobs, bytes FROM totals UNION ALL SELECT account_id, period, name, reserved, settled, jobs, bytes FROM tallies);
--> statement-breakpoint
-- What drizzle-kit cannot express. Room for the claimed version of each job beside the queued one:
ALTER TABLE jobs SET (fillfactor = 60);
--> statement-breakpoint
-- Each submission and each capture changes the tag of a turn. With room in the page, that changes no index.
ALTER TABLE turns SET (fillfactor = 50);
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
-- An ended job changes once: when it is removed.
CREATE TRIGGER jobs_end_for_good BEFORE UPDATE ON jobs FOR EACH ROW
  WHEN (old.ended_at IS NOT NULL AND (old.removed_at IS NOT NULL OR new.removed_at IS NULL)) EXECUTE FUNCTION stillframe_keep_ended();
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
-- Corrects the charges of accounts to the times that their jobs took, in this order; null for a time that was not measured. Under the lock
-- of claims, which change the turns of several accounts as well.
CREATE FUNCTION stillframe_settle(accounts text[], took bigint[], booked bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  account text;
  typical bigint;
  change bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(5, 0);
  -- The queue's row is locked before those of turns, as in a submission.
  PERFORM 1 FROM queue FOR NO KEY UPDATE;
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
--> statement-breakpoint
-- Claims the next jobs for several free slots of a node (src/store/postgres/jobs.ts), and ends with the first slot for which nothing is due.
-- One claim at a time, so that each sees the turns as the one before left them; a function, since the lock must be held before the snapshot
-- that the look is made with. The queue's row is locked before those of accounts, as in a submission. The accounts that wait are looked up
-- once for all slots of a call: `next` is the first of them, in the order of their turns, that was not looked at yet, and `again` lists
-- those that this call has claimed from, with their new turns. An account without a job for one slot is left out for the others, since a
-- later slot never takes more than an earlier one; slots without `batch_slots` take no captures of batches. `after_lane` and `after_seq` are
-- the last entry that each account has given. All jobs of a call change in one statement.
CREATE FUNCTION stillframe_claim_jobs(now bigint, lease_ms bigint, workers text[], node text, kept_slots boolean[], batch_slots boolean[])
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
      UPDATE jobs SET state = 'active', attempts_made = attempts_made + 1, claimed_at = now, due_at = NULL, progress = 0, worker_id = input.worker,
          node_id = node, booked_ms = input.booked, lease_expires_at = now + lease_ms, first_claimed_at = coalesce(first_claimed_at, now)
        FROM unnest(taken, workers, bookings, dues) WITH ORDINALITY AS input(seq, worker, booked, due_at, nth)
        WHERE jobs.seq = input.seq AND jobs.seq = ANY(taken) AND leader_id IS NULL AND state IN ('waiting', 'prioritized', 'delayed')
        RETURNING jobs.*, input.due_at AS was_due_at, input.nth)
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
