CREATE TABLE `receivers` (
	`account_id` text NOT NULL,
	`origin` text NOT NULL,
	`ready_at` integer,
	`in_hand` integer NOT NULL,
	`silences` integer DEFAULT 0 NOT NULL,
	`paused_until` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`account_id`, `origin`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "receivers_counts" CHECK(in_hand >= 0 AND silences >= 0)
);
--> statement-breakpoint
CREATE INDEX `receivers_of` ON `receivers` (`account_id`,`ready_at`) WHERE ready_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `receivers_next` ON `receivers` (`ready_at`) WHERE ready_at IS NOT NULL;--> statement-breakpoint
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
	FOREIGN KEY (`job_id`) REFERENCES `jobs`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "deliveries_state" CHECK(state IN ('pending', 'delivered', 'failed')),
	CONSTRAINT "deliveries_due" CHECK((due_at IS NOT NULL) = (state = 'pending' AND event IS NOT NULL)),
	CONSTRAINT "deliveries_claimed" CHECK(claimed_until IS NULL OR due_at IS NOT NULL),
	CONSTRAINT "deliveries_expire" CHECK((expires_at IS NOT NULL) = (due_at IS NOT NULL)),
	CONSTRAINT "deliveries_counts" CHECK(generation >= 1 AND attempts >= 0)
);
--> statement-breakpoint
INSERT INTO `__new_deliveries`("job_id", "delivery_id", "account_id", "url", "origin", "secret", "event", "state", "generation", "attempts", "max_attempts", "last_status", "last_error", "last_attempt_at", "next_attempt_at", "delivered_at", "due_at", "expires_at") SELECT d."job_id", d."delivery_id", j."account_id", d."url", d."origin", d."secret", d."event", d."state", d."generation", d."attempts", d."max_attempts", d."last_status", d."last_error", d."last_attempt_at", d."next_attempt_at", d."delivered_at", d."due_at", d."due_at" + 86400000 FROM `deliveries` d JOIN `jobs` j ON j.id = d.job_id;--> statement-breakpoint
DROP TABLE `deliveries`;--> statement-breakpoint
ALTER TABLE `__new_deliveries` RENAME TO `deliveries`;--> statement-breakpoint
CREATE UNIQUE INDEX `deliveries_delivery_id_unique` ON `deliveries` (`delivery_id`);--> statement-breakpoint
CREATE INDEX `deliveries_waiting` ON `deliveries` (`account_id`,`origin`,`due_at`) WHERE due_at IS NOT NULL AND claimed_until IS NULL;--> statement-breakpoint
CREATE INDEX `deliveries_claimed_by` ON `deliveries` (`account_id`,`origin`) WHERE claimed_until IS NOT NULL;--> statement-breakpoint
CREATE INDEX `deliveries_due_last` ON `deliveries` (`due_at`) WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `deliveries_expiring` ON `deliveries` (`expires_at`) WHERE expires_at IS NOT NULL;--> statement-breakpoint
INSERT INTO `receivers` (`account_id`, `origin`, `ready_at`, `in_hand`) SELECT `account_id`, `origin`, min(`due_at`), 0 FROM `deliveries` WHERE `due_at` IS NOT NULL GROUP BY `account_id`, `origin`;
