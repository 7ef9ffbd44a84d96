CREATE TABLE `batches` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`key_id` text NOT NULL,
	`request_id` text NOT NULL,
	`idempotency_key` text,
	`identity_digest` text NOT NULL,
	`total` integer NOT NULL,
	`webhook_url` text,
	`created_at` integer NOT NULL,
	`completed_at` integer,
	`removed_at` integer,
	`cleared_at` integer,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`key_id`) REFERENCES `api_keys`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `batches_idempotency_key` ON `batches` (`account_id`,`idempotency_key`) WHERE idempotency_key IS NOT NULL;--> statement-breakpoint
CREATE INDEX `batches_of_key` ON `batches` (`key_id`,`id`);--> statement-breakpoint
CREATE INDEX `batches_active` ON `batches` (`created_at`) WHERE completed_at IS NULL;--> statement-breakpoint
CREATE INDEX `batches_completed` ON `batches` (`completed_at`) WHERE completed_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `batches_clearing` ON `batches` (`id`) WHERE removed_at IS NOT NULL AND cleared_at IS NULL;--> statement-breakpoint
PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE `__new_deliveries` (
	`job_id` text PRIMARY KEY NOT NULL,
	`delivery_id` text NOT NULL,
	`account_id` text NOT NULL,
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
	`expires_at` integer,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "deliveries_event" CHECK(event IN ('capture.completed', 'capture.failed', 'batch.completed', 'batch.canceled')),
	CONSTRAINT "deliveries_state" CHECK(state IN ('pending', 'delivered', 'failed')),
	CONSTRAINT "deliveries_due" CHECK((due_at IS NOT NULL) = (state = 'pending' AND event IS NOT NULL)),
	CONSTRAINT "deliveries_claimed" CHECK(claimed_until IS NULL OR due_at IS NOT NULL),
	CONSTRAINT "deliveries_expire" CHECK((expires_at IS NOT NULL) = (due_at IS NOT NULL)),
	CONSTRAINT "deliveries_counts" CHECK(generation >= 1 AND attempts >= 0)
);
--> statement-breakpoint
INSERT INTO `__new_deliveries`("job_id", "delivery_id", "account_id", "url", "origin", "secret", "event", "state", "generation", "attempts", "max_attempts", "last_status", "last_error", "last_attempt_at", "next_attempt_at", "delivered_at", "due_at", "claimed_until", "expires_at") SELECT "job_id", "delivery_id", "account_id", "url", "origin", "secret", "event", "state", "generation", "attempts", "max_attempts", "last_status", "last_error", "last_attempt_at", "next_attempt_at", "delivered_at", "due_at", "claimed_until", "expires_at" FROM `deliveries`;--> statement-breakpoint
DROP TABLE `deliveries`;--> statement-breakpoint
ALTER TABLE `__new_deliveries` RENAME TO `deliveries`;--> statement-breakpoint
PRAGMA foreign_keys=ON;--> statement-breakpoint
CREATE UNIQUE INDEX `deliveries_delivery_id_unique` ON `deliveries` (`delivery_id`);--> statement-breakpoint
CREATE INDEX `deliveries_waiting` ON `deliveries` (`account_id`,`origin`,`due_at`) WHERE due_at IS NOT NULL AND claimed_until IS NULL;--> statement-breakpoint
CREATE INDEX `deliveries_claimed_by` ON `deliveries` (`account_id`,`origin`) WHERE claimed_until IS NOT NULL;--> statement-breakpoint
CREATE INDEX `deliveries_due_last` ON `deliveries` (`due_at`) WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `deliveries_expiring` ON `deliveries` (`expires_at`) WHERE expires_at IS NOT NULL;--> statement-breakpoint
DROP INDEX `jobs_claimable`;--> statement-breakpoint
ALTER TABLE `jobs` ADD `batch_id` text REFERENCES batches(id);--> statement-breakpoint
ALTER TABLE `jobs` ADD `batch_index` integer;--> statement-breakpoint
CREATE INDEX `jobs_of_batch` ON `jobs` (`batch_id`,`batch_index`) WHERE batch_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `jobs_unfinished_of_batch` ON `jobs` (`batch_id`,`account_id`) WHERE batch_id IS NOT NULL AND ended_at IS NULL;--> statement-breakpoint
CREATE INDEX `jobs_claimable` ON `jobs` (`account_id`,`lane`,(batch_id IS NOT NULL),`seq`) WHERE state IN ('waiting', 'prioritized', 'delayed') AND leader_id IS NULL;