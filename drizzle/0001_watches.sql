CREATE TABLE `watch_messages` (
	`id` text PRIMARY KEY NOT NULL,
	`watch_id` text NOT NULL,
	`run_id` text NOT NULL,
	`account_id` text NOT NULL,
	`target` integer NOT NULL,
	`recipient` text NOT NULL,
	`kind` text NOT NULL,
	`event` text NOT NULL,
	`state` text DEFAULT 'pending' NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`generation` integer DEFAULT 1 NOT NULL,
	`due_at` integer,
	`claim` text,
	`last_status` integer,
	`last_error` text,
	`last_attempt_at` integer,
	`delivered_at` integer,
	FOREIGN KEY (`run_id`) REFERENCES `watch_runs`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "watch_messages_kind" CHECK(kind IN ('webhook', 'email', 'slack', 'upload')),
	CONSTRAINT "watch_messages_event" CHECK(event IN ('watch.changed', 'watch.report', 'watch.failed', 'watch.recovered')),
	CONSTRAINT "watch_messages_state" CHECK(state IN ('pending', 'delivered', 'failed')),
	CONSTRAINT "watch_messages_due" CHECK((due_at IS NOT NULL) = (state = 'pending'))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `watch_messages_once` ON `watch_messages` (`run_id`,`event`,`target`,`recipient`);--> statement-breakpoint
CREATE INDEX `watch_messages_due` ON `watch_messages` (`account_id`,`due_at`) WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `watch_messages_next` ON `watch_messages` (`due_at`) WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE TABLE `watch_runs` (
	`id` text PRIMARY KEY NOT NULL,
	`watch_id` text NOT NULL,
	`account_id` text NOT NULL,
	`due_at` integer NOT NULL,
	`cause` text NOT NULL,
	`state` text NOT NULL,
	`attempt` integer NOT NULL,
	`job_id` text,
	`wake_at` integer,
	`claim` text,
	`started_at` integer,
	`ended_at` integer,
	`share` real,
	`picture` text,
	`changes` text,
	`data` text,
	`error` text,
	FOREIGN KEY (`watch_id`) REFERENCES `watches`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "watch_runs_cause" CHECK(cause IN ('schedule', 'request')),
	CONSTRAINT "watch_runs_state" CHECK(state IN ('queued', 'running', 'unchanged', 'changed', 'reported', 'failed', 'skipped')),
	CONSTRAINT "watch_runs_ended_at" CHECK((ended_at IS NULL) = (state IN ('queued', 'running'))),
	CONSTRAINT "watch_runs_awake" CHECK((wake_at IS NULL) = (ended_at IS NOT NULL))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `watch_runs_due` ON `watch_runs` (`watch_id`,`due_at`);--> statement-breakpoint
CREATE UNIQUE INDEX `watch_runs_unfinished` ON `watch_runs` (`watch_id`) WHERE ended_at IS NULL;--> statement-breakpoint
CREATE INDEX `watch_runs_queued` ON `watch_runs` (`account_id`,`wake_at`) WHERE state = 'queued';--> statement-breakpoint
CREATE INDEX `watch_runs_running` ON `watch_runs` (`wake_at`) WHERE state = 'running';--> statement-breakpoint
CREATE INDEX `watch_runs_awake` ON `watch_runs` (`wake_at`) WHERE wake_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `watch_runs_ended` ON `watch_runs` (`ended_at`) WHERE ended_at IS NOT NULL;--> statement-breakpoint
CREATE TABLE `watches` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`key_id` text NOT NULL,
	`sealed` blob NOT NULL,
	`schedule` text NOT NULL,
	`keep_runs` integer NOT NULL,
	`keep_days` integer NOT NULL,
	`next_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`failures` integer DEFAULT 0 NOT NULL,
	`alarm` text,
	`previous_run` text,
	`approved_run` text,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`key_id`) REFERENCES `api_keys`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "watches_alarm" CHECK(alarm IN ('failed', 'skipped'))
);
--> statement-breakpoint
CREATE INDEX `watches_due` ON `watches` (`next_at`) WHERE next_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `watches_of_key` ON `watches` (`key_id`,`id`);--> statement-breakpoint
CREATE INDEX `watches_of_account` ON `watches` (`account_id`);--> statement-breakpoint
DROP INDEX `artifacts_oldest`;--> statement-breakpoint
ALTER TABLE `artifacts` ADD `watch_run` text REFERENCES watch_runs(id) ON DELETE SET NULL;--> statement-breakpoint
CREATE INDEX `artifacts_expiring` ON `artifacts` (`created_at`) WHERE gone_at IS NULL AND watch_run IS NULL;--> statement-breakpoint
CREATE INDEX `artifacts_of_run` ON `artifacts` (`watch_run`) WHERE watch_run IS NOT NULL;