CREATE TABLE `accounts` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`quota` integer,
	`created_at` integer NOT NULL,
	CONSTRAINT "accounts_quota" CHECK(quota IS NULL OR quota >= 0)
);
--> statement-breakpoint
CREATE UNIQUE INDEX `accounts_name_unique` ON `accounts` (`name`);--> statement-breakpoint
CREATE TABLE `api_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`hash` text NOT NULL,
	`label` text NOT NULL,
	`scopes` text NOT NULL,
	`prefix` text NOT NULL,
	`created_at` integer NOT NULL,
	`revoked_at` integer,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_hash_unique` ON `api_keys` (`hash`);--> statement-breakpoint
CREATE TABLE `artifacts` (
	`name` text PRIMARY KEY NOT NULL,
	`bytes` integer NOT NULL,
	`sha256` text NOT NULL,
	`created_at` integer NOT NULL,
	`gone_at` integer,
	CONSTRAINT "artifacts_bytes" CHECK(bytes >= 0)
);
--> statement-breakpoint
CREATE INDEX `artifacts_oldest` ON `artifacts` (`created_at`) WHERE gone_at IS NULL;--> statement-breakpoint
CREATE TABLE `counters` (
	`name` text PRIMARY KEY NOT NULL,
	`value` integer NOT NULL,
	CONSTRAINT "counters_value" CHECK(value >= 0)
);
--> statement-breakpoint
CREATE TABLE `deliveries` (
	`job_id` text PRIMARY KEY NOT NULL,
	`delivery_id` text NOT NULL,
	`url` text NOT NULL,
	`origin` text NOT NULL,
	`secret` blob NOT NULL,
	`event` text,
	`state` text NOT NULL,
	`generation` integer NOT NULL,
	`attempts` integer NOT NULL,
	`max_attempts` integer NOT NULL,
	`last_status` integer,
	`last_error` text,
	`last_attempt_at` integer,
	`next_attempt_at` integer,
	`delivered_at` integer,
	`due_at` integer,
	`claimed_until` integer,
	FOREIGN KEY (`job_id`) REFERENCES `jobs`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "deliveries_state" CHECK(state IN ('pending', 'delivered', 'failed')),
	CONSTRAINT "deliveries_due" CHECK((due_at IS NOT NULL) = (state = 'pending' AND event IS NOT NULL)),
	CONSTRAINT "deliveries_claimed" CHECK(claimed_until IS NULL OR due_at IS NOT NULL),
	CONSTRAINT "deliveries_counts" CHECK(generation >= 1 AND attempts >= 0)
);
--> statement-breakpoint
CREATE UNIQUE INDEX `deliveries_delivery_id_unique` ON `deliveries` (`delivery_id`);--> statement-breakpoint
CREATE INDEX `deliveries_due_next` ON `deliveries` (`due_at`,`origin`) WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `deliveries_in_hand` ON `deliveries` (`origin`,`claimed_until`) WHERE claimed_until IS NOT NULL;--> statement-breakpoint
CREATE TABLE `jobs` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`account_id` text NOT NULL,
	`key_id` text NOT NULL,
	`request_id` text NOT NULL,
	`mode` text NOT NULL,
	`state` text NOT NULL,
	`lane` text NOT NULL,
	`idempotency_key` text,
	`identity_digest` text NOT NULL,
	`cache_digest` text,
	`timeout_ms` integer NOT NULL,
	`leader_id` text,
	`attempts_made` integer NOT NULL,
	`attempt_budget` integer NOT NULL,
	`enqueued_at` integer NOT NULL,
	`due_at` integer,
	`first_claimed_at` integer,
	`lease_expires_at` integer,
	`worker_id` text,
	`progress` integer NOT NULL,
	`webhook_url` text,
	`ended_at` integer,
	`rendered_at` integer,
	`artifact_name` text,
	`data` text,
	`error` text,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`key_id`) REFERENCES `api_keys`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`leader_id`) REFERENCES `jobs`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`artifact_name`) REFERENCES `artifacts`(`name`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "jobs_mode" CHECK(mode IN ('sync', 'async')),
	CONSTRAINT "jobs_state" CHECK(state IN ('waiting', 'prioritized', 'active', 'delayed', 'completed', 'failed')),
	CONSTRAINT "jobs_lane" CHECK(lane IN ('prioritized', 'waiting')),
	CONSTRAINT "jobs_queued_in_lane" CHECK(state NOT IN ('waiting', 'prioritized') OR state = lane),
	CONSTRAINT "jobs_followers_wait" CHECK(leader_id IS NULL OR state IN ('waiting', 'prioritized')),
	CONSTRAINT "jobs_attempts" CHECK(attempt_budget >= 1 AND attempts_made BETWEEN 0 AND attempt_budget),
	CONSTRAINT "jobs_progress" CHECK(progress BETWEEN 0 AND 100),
	CONSTRAINT "jobs_delayed_is_due" CHECK((state = 'delayed') = (due_at IS NOT NULL)),
	CONSTRAINT "jobs_active_is_leased" CHECK((state = 'active') = (lease_expires_at IS NOT NULL)),
	CONSTRAINT "jobs_ended_at" CHECK((state IN ('completed', 'failed')) = (ended_at IS NOT NULL)),
	CONSTRAINT "jobs_ended_by" CHECK(NOT (state IN ('completed', 'failed')) OR worker_id IS NOT NULL),
	CONSTRAINT "jobs_completed" CHECK((state = 'completed') = (data IS NOT NULL) AND (data IS NULL) = (artifact_name IS NULL)),
	CONSTRAINT "jobs_failed" CHECK((state = 'failed') = (error IS NOT NULL))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `jobs_id` ON `jobs` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `jobs_idempotency_key` ON `jobs` (`account_id`,`idempotency_key`) WHERE idempotency_key IS NOT NULL;--> statement-breakpoint
CREATE INDEX `jobs_claimable` ON `jobs` (`account_id`,`lane`,`seq`) WHERE state IN ('waiting', 'prioritized', 'delayed') AND leader_id IS NULL;--> statement-breakpoint
CREATE INDEX `jobs_in_flight` ON `jobs` (`account_id`,`cache_digest`) WHERE cache_digest IS NOT NULL AND ended_at IS NULL AND leader_id IS NULL;--> statement-breakpoint
CREATE INDEX `jobs_rendered` ON `jobs` (`account_id`,`cache_digest`,`rendered_at`) WHERE cache_digest IS NOT NULL AND rendered_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `jobs_followers` ON `jobs` (`leader_id`) WHERE leader_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `jobs_due` ON `jobs` (`due_at`) WHERE state = 'delayed';--> statement-breakpoint
CREATE INDEX `jobs_leased` ON `jobs` (`lease_expires_at`) WHERE state = 'active';--> statement-breakpoint
CREATE INDEX `jobs_ended` ON `jobs` (`ended_at`) WHERE ended_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `jobs_artifact` ON `jobs` (`artifact_name`) WHERE artifact_name IS NOT NULL;--> statement-breakpoint
CREATE TABLE `marks` (
	`name` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `orders` (
	`job_id` text PRIMARY KEY NOT NULL,
	`sealed` blob NOT NULL,
	FOREIGN KEY (`job_id`) REFERENCES `jobs`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `queue` (
	`id` integer PRIMARY KEY NOT NULL,
	`paused` integer NOT NULL,
	CONSTRAINT "queue_one_row" CHECK(id = 1),
	CONSTRAINT "queue_paused" CHECK(paused IN (0, 1))
);
--> statement-breakpoint
CREATE TABLE `reservations` (
	`job_id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`period` text NOT NULL,
	`credits` integer NOT NULL,
	`state` text NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`job_id`) REFERENCES `jobs`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "reservations_state" CHECK(state IN ('pending', 'settled', 'released')),
	CONSTRAINT "reservations_credits" CHECK(credits > 0)
);
--> statement-breakpoint
CREATE INDEX `reservations_pending` ON `reservations` (`created_at`) WHERE state = 'pending';--> statement-breakpoint
CREATE TABLE `turns` (
	`account_id` text PRIMARY KEY NOT NULL,
	`last_turn` integer DEFAULT 0 NOT NULL,
	`queued` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "turns_queued" CHECK(queued >= 0)
);
--> statement-breakpoint
CREATE INDEX `turns_next` ON `turns` (`last_turn`) WHERE queued > 0;--> statement-breakpoint
CREATE TABLE `usage` (
	`account_id` text NOT NULL,
	`period` text NOT NULL,
	`settled` integer NOT NULL,
	`reserved` integer NOT NULL,
	PRIMARY KEY(`account_id`, `period`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "usage_sums" CHECK(settled >= 0 AND reserved >= 0)
);
