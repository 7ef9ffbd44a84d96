-- The tables of store/postgres. Times are Unix ms. What drizzle/ keeps in counters that every writer updates is here a sum over
-- "tallies": rows that are only inserted, so that no two writers wait for each other, and rolled up into "totals" by the sweep.

CREATE TABLE accounts (
  id text PRIMARY KEY,
  name text NOT NULL UNIQUE,
  quota bigint CHECK (quota >= 0),
  created_at bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE api_keys (
  id text PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts (id),
  hash text NOT NULL UNIQUE,
  label text NOT NULL,
  scopes jsonb NOT NULL,
  prefix text NOT NULL,
  created_at bigint NOT NULL,
  revoked_at bigint
);
--> statement-breakpoint
-- Encrypted. The previous secret is valid until a given time.
CREATE TABLE signing_secrets (
  key_id text PRIMARY KEY REFERENCES api_keys (id),
  secret bytea NOT NULL,
  previous bytea,
  previous_until bigint,
  CHECK ((previous IS NULL) = (previous_until IS NULL))
);
--> statement-breakpoint
CREATE TABLE artifacts (
  name text PRIMARY KEY,
  bytes bigint NOT NULL CHECK (bytes >= 0),
  sha256 text NOT NULL,
  created_at bigint NOT NULL,
  gone_at bigint,
  account_id text NOT NULL REFERENCES accounts (id),
  -- CaptureData as JSON, for all jobs with this picture.
  data text NOT NULL
);
--> statement-breakpoint
CREATE INDEX artifacts_oldest ON artifacts (created_at) WHERE gone_at IS NULL;
--> statement-breakpoint
CREATE INDEX artifacts_of_account ON artifacts (account_id, created_at) WHERE gone_at IS NULL;
--> statement-breakpoint
CREATE TABLE jobs (
  -- Order of submission.
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text NOT NULL UNIQUE,
  account_id text NOT NULL REFERENCES accounts (id),
  key_id text NOT NULL REFERENCES api_keys (id),
  request_id text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('sync', 'async')),
  state text NOT NULL CHECK (state IN ('waiting', 'prioritized', 'active', 'delayed', 'completed', 'failed')),
  -- The queued state that the job has, or returns to.
  lane text NOT NULL CHECK (lane IN ('prioritized', 'waiting')),
  idempotency_key text,
  -- Keyed digests; see vault.ts.
  identity_digest text NOT NULL,
  cache_digest text,
  timeout_ms bigint NOT NULL,
  -- The least that a capture takes, known from its options.
  delay_ms bigint NOT NULL,
  -- While set, the job waits for that job to end.
  leader_id text REFERENCES jobs (id),
  attempts_made int NOT NULL,
  attempt_budget int NOT NULL,
  enqueued_at bigint NOT NULL,
  -- Of a delayed job.
  due_at bigint,
  first_claimed_at bigint,
  -- Of the latest claim.
  claimed_at bigint,
  -- ms of slot time that the latest claim was charged in advance; corrected when it ends.
  booked_ms bigint,
  -- Of an active job.
  lease_expires_at bigint,
  -- The node that holds an active job.
  node_id text,
  -- Kept after the end; for a cached result, that of the job that rendered it.
  worker_id text,
  progress int NOT NULL CHECK (progress BETWEEN 0 AND 100),
  webhook_url text,
  ended_at bigint,
  -- When this job itself rendered the picture; null for cached and shared results.
  rendered_at bigint,
  artifact_name text REFERENCES artifacts (name),
  -- Fields that differ from artifacts.data, as JSON.
  data text,
  -- StoredError as JSON.
  error text,
  CONSTRAINT jobs_queued_in_lane CHECK (state NOT IN ('waiting', 'prioritized') OR state = lane),
  CONSTRAINT jobs_followers_wait CHECK (leader_id IS NULL OR state IN ('waiting', 'prioritized')),
  CONSTRAINT jobs_attempts CHECK (attempt_budget >= 1 AND attempts_made BETWEEN 0 AND attempt_budget),
  CONSTRAINT jobs_delayed_is_due CHECK ((state = 'delayed') = (due_at IS NOT NULL)),
  CONSTRAINT jobs_active_is_leased CHECK ((state = 'active') = (lease_expires_at IS NOT NULL)),
  CONSTRAINT jobs_active_has_node CHECK ((state = 'active') = (node_id IS NOT NULL)),
  CONSTRAINT jobs_ended_at CHECK ((state IN ('completed', 'failed')) = (ended_at IS NOT NULL)),
  CONSTRAINT jobs_ended_by CHECK (ended_at IS NULL OR worker_id IS NOT NULL),
  CONSTRAINT jobs_completed CHECK ((state = 'completed') = (data IS NOT NULL) AND (data IS NULL) = (artifact_name IS NULL)),
  CONSTRAINT jobs_failed CHECK ((state = 'failed') = (error IS NOT NULL))
);
--> statement-breakpoint
CREATE INDEX jobs_of_key ON jobs (key_id, state, seq);
--> statement-breakpoint
CREATE UNIQUE INDEX jobs_idempotency_key ON jobs (account_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
--> statement-breakpoint
CREATE INDEX jobs_in_flight ON jobs (account_id, cache_digest, seq) WHERE cache_digest IS NOT NULL AND ended_at IS NULL AND leader_id IS NULL;
--> statement-breakpoint
CREATE INDEX jobs_rendered ON jobs (account_id, cache_digest, rendered_at) WHERE cache_digest IS NOT NULL AND rendered_at IS NOT NULL;
--> statement-breakpoint
CREATE INDEX jobs_unfinished ON jobs (account_id, state) WHERE ended_at IS NULL;
--> statement-breakpoint
CREATE INDEX jobs_followers ON jobs (leader_id, seq) WHERE leader_id IS NOT NULL;
--> statement-breakpoint
CREATE INDEX jobs_leased ON jobs (lease_expires_at) WHERE lease_expires_at IS NOT NULL;
--> statement-breakpoint
CREATE INDEX jobs_ended ON jobs (ended_at, seq) WHERE ended_at IS NOT NULL;
--> statement-breakpoint
CREATE INDEX jobs_artifact ON jobs (artifact_name) WHERE artifact_name IS NOT NULL;
--> statement-breakpoint
-- Artifacts to be removed from the storage. Those with a claim were announced by it before they were stored, and are left alone while it
-- lasts. A row remains until the storage has removed the artifact, or the claim has completed with it.
CREATE TABLE removals (
  name text COLLATE "C" PRIMARY KEY,
  job_id text,
  worker_id text,
  attempt int,
  CONSTRAINT removals_claim CHECK ((job_id IS NULL) = (worker_id IS NULL) AND (job_id IS NULL) = (attempt IS NULL))
);
--> statement-breakpoint
-- A row per job that can be claimed now or later: narrow, since each claim deletes one.
CREATE TABLE queue_entries (
  seq bigint PRIMARY KEY REFERENCES jobs (seq) ON DELETE CASCADE,
  account_id text NOT NULL,
  -- 0: prioritized, 1: waiting.
  lane smallint NOT NULL,
  due_at bigint
);
--> statement-breakpoint
CREATE INDEX queue_entries_next ON queue_entries (account_id, lane, seq);
--> statement-breakpoint
CREATE INDEX queue_entries_due ON queue_entries (due_at) WHERE due_at IS NOT NULL;
--> statement-breakpoint
-- The order of accounts, by start-time fair queueing (turns.ts of store/sqlite).
CREATE TABLE turns (
  account_id text PRIMARY KEY REFERENCES accounts (id),
  -- Of two accounts with the same tag, the older one is next.
  seq bigint GENERATED ALWAYS AS IDENTITY,
  -- Virtual ms of slot time: the waiting account with the smallest one is next.
  tag bigint NOT NULL DEFAULT 0,
  -- Moving average of the ms that the account's recent jobs held their slots.
  typical_ms bigint NOT NULL DEFAULT 1000,
  -- When it last queued a job.
  seen_at bigint NOT NULL DEFAULT 0
);
--> statement-breakpoint
CREATE INDEX turns_tag ON turns (tag);
--> statement-breakpoint
CREATE INDEX turns_seen ON turns (seen_at);
--> statement-breakpoint
-- Encrypted capture options, deleted when the job ends.
CREATE TABLE orders (
  job_id text PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
  sealed bytea NOT NULL
);
--> statement-breakpoint
-- The ledger: a row per charged job.
CREATE TABLE reservations (
  job_id text PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
  account_id text NOT NULL,
  -- UTC month of the submission; the credits belong to it whenever they are settled.
  period text NOT NULL,
  credits bigint NOT NULL CHECK (credits > 0),
  state text NOT NULL CHECK (state IN ('pending', 'settled', 'released')),
  created_at bigint NOT NULL
);
--> statement-breakpoint
CREATE INDEX reservations_pending ON reservations (created_at) WHERE state = 'pending';
--> statement-breakpoint
-- Changes of an account's sums. "name" is '' or an outcome: 'completed', or the code of a failure; with an empty period, what is not of
-- a month: jobs deleted by state, webhooks by outcome, pictures.
CREATE TABLE tallies (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id text NOT NULL,
  period text NOT NULL,
  name text NOT NULL,
  reserved bigint NOT NULL DEFAULT 0,
  settled bigint NOT NULL DEFAULT 0,
  jobs bigint NOT NULL DEFAULT 0,
  bytes bigint NOT NULL DEFAULT 0
);
--> statement-breakpoint
CREATE INDEX tallies_of_account ON tallies (account_id, period);
--> statement-breakpoint
CREATE TABLE totals (
  account_id text NOT NULL REFERENCES accounts (id),
  period text NOT NULL,
  name text NOT NULL,
  reserved bigint NOT NULL,
  settled bigint NOT NULL,
  jobs bigint NOT NULL,
  bytes bigint NOT NULL,
  PRIMARY KEY (account_id, period, name)
);
--> statement-breakpoint
CREATE VIEW sums AS
  SELECT account_id, period, name, reserved, settled, jobs, bytes FROM totals
  UNION ALL SELECT account_id, period, name, reserved, settled, jobs, bytes FROM tallies;
--> statement-breakpoint
-- A job's webhook: created with the job, due once it has ended.
CREATE TABLE deliveries (
  job_id text PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
  delivery_id text NOT NULL UNIQUE,
  account_id text NOT NULL,
  url text NOT NULL,
  origin text NOT NULL,
  -- Encrypted.
  secret bytea NOT NULL,
  event text CHECK (event IN ('capture.completed', 'capture.failed')),
  state text NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
  generation int NOT NULL CHECK (generation >= 1),
  attempts int NOT NULL CHECK (attempts >= 0),
  max_attempts int NOT NULL,
  last_status int,
  last_error text,
  last_attempt_at bigint,
  next_attempt_at bigint,
  delivered_at bigint,
  -- When it may be claimed.
  due_at bigint,
  claimed_until bigint,
  node_id text,
  -- When it fails, even if attempts are left.
  expires_at bigint,
  CONSTRAINT deliveries_due CHECK ((due_at IS NOT NULL) = (state = 'pending' AND event IS NOT NULL)),
  CONSTRAINT deliveries_claimed CHECK (claimed_until IS NULL OR due_at IS NOT NULL),
  CONSTRAINT deliveries_node CHECK ((claimed_until IS NULL) = (node_id IS NULL)),
  CONSTRAINT deliveries_expire CHECK ((expires_at IS NOT NULL) = (due_at IS NOT NULL))
);
--> statement-breakpoint
CREATE INDEX deliveries_waiting ON deliveries (account_id, origin, due_at) WHERE due_at IS NOT NULL AND claimed_until IS NULL;
--> statement-breakpoint
CREATE INDEX deliveries_claimed_by ON deliveries (account_id, origin) WHERE claimed_until IS NOT NULL;
--> statement-breakpoint
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE due_at IS NOT NULL;
--> statement-breakpoint
CREATE INDEX deliveries_expiring ON deliveries (expires_at) WHERE expires_at IS NOT NULL;
--> statement-breakpoint
-- Receivers that did not respond lately, per account.
CREATE TABLE receivers (
  account_id text NOT NULL REFERENCES accounts (id),
  origin text NOT NULL,
  -- Attempts in a row without a response.
  silences int NOT NULL CHECK (silences >= 0),
  -- No attempt is made before this time.
  paused_until bigint NOT NULL,
  PRIMARY KEY (account_id, origin)
);
--> statement-breakpoint
-- One row. "turn": virtual time, the tag of the latest claim; it never decreases.
CREATE TABLE queue (
  id int PRIMARY KEY CHECK (id = 1),
  paused boolean NOT NULL,
  turn bigint NOT NULL
);
--> statement-breakpoint
INSERT INTO queue VALUES (1, false, 0);
--> statement-breakpoint
CREATE TABLE marks (name text PRIMARY KEY, value text NOT NULL);
--> statement-breakpoint
-- Servers that work on this database. Each holds an advisory lock, of class 4 and its "lock_key", for as long as it lives.
CREATE TABLE nodes (
  id text PRIMARY KEY,
  lock_key int GENERATED ALWAYS AS IDENTITY UNIQUE,
  started_at bigint NOT NULL,
  seen_at bigint NOT NULL,
  facts jsonb NOT NULL
);
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
-- Claims the next job (store/postgres/claim-job.ts). One claim at a time, so that each sees the turns as the one before left them; a
-- function, since the lock must be held before the snapshot that the look is made with.
CREATE FUNCTION stillframe_claim_1(now bigint, lease_ms bigint, worker text, node text, kept_slot boolean)
RETURNS TABLE (claimed_seq bigint, claimed_due bigint) ROWS 1 LANGUAGE plpgsql AS $$
DECLARE
  chosen_account text;
  chosen_seq bigint;
  booked bigint;
  before bigint;
BEGIN
  IF (SELECT paused FROM queue) THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(5, 0);
  FOR chosen_account IN
    -- One look-up per account, however many jobs it has.
    WITH RECURSIVE holder(id) AS (
      SELECT min(account_id) FROM queue_entries
      UNION ALL SELECT (SELECT min(account_id) FROM queue_entries WHERE account_id > holder.id) FROM holder WHERE holder.id IS NOT NULL)
    SELECT turns.account_id FROM holder JOIN turns ON turns.account_id = holder.id ORDER BY turns.tag, turns.seq
  LOOP
    CONTINUE WHEN kept_slot
      AND EXISTS (SELECT 1 FROM jobs WHERE jobs.account_id = chosen_account AND jobs.state = 'active' AND jobs.ended_at IS NULL)
      AND EXISTS (SELECT 1 FROM turns WHERE turns.seen_at > now - 3600000 AND turns.account_id <> chosen_account);
    -- A job that somebody else holds is left for the next claim: waiting for it would hold up the claims of all.
    SELECT entry.seq, entry.due_at INTO chosen_seq, claimed_due FROM queue_entries entry JOIN jobs ON jobs.seq = entry.seq
      WHERE entry.account_id = chosen_account AND (entry.due_at IS NULL OR entry.due_at <= now)
      ORDER BY entry.lane, entry.seq LIMIT 1 FOR UPDATE OF entry SKIP LOCKED FOR NO KEY UPDATE OF jobs SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    DELETE FROM queue_entries WHERE queue_entries.seq = chosen_seq;
    SELECT greatest(turns.typical_ms, jobs.delay_ms), turns.tag INTO booked, before
      FROM jobs JOIN turns ON turns.account_id = jobs.account_id WHERE jobs.seq = chosen_seq;
    UPDATE queue SET turn = before WHERE queue.turn < before;
    UPDATE turns SET tag = tag + booked WHERE turns.account_id = chosen_account;
    UPDATE jobs SET state = 'active', attempts_made = attempts_made + 1, claimed_at = now, due_at = NULL, progress = 0, worker_id = worker,
        node_id = node, booked_ms = booked, lease_expires_at = now + lease_ms, first_claimed_at = coalesce(first_claimed_at, now)
      WHERE jobs.seq = chosen_seq AND leader_id IS NULL AND state IN ('waiting', 'prioritized', 'delayed');
    PERFORM stillframe_expect(FOUND, 'a queue entry without a job to claim');
    claimed_seq := chosen_seq;
    RETURN NEXT;
    RETURN;
  END LOOP;
END $$;
