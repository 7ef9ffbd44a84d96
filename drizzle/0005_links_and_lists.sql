CREATE TABLE `outcomes` (
	`account_id` text NOT NULL,
	`period` text NOT NULL,
	`outcome` text NOT NULL,
	`jobs` integer NOT NULL,
	PRIMARY KEY(`account_id`, `period`, `outcome`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "outcomes_jobs" CHECK(jobs >= 0)
);
--> statement-breakpoint
CREATE TABLE `signing_secrets` (
	`key_id` text PRIMARY KEY NOT NULL,
	`secret` blob NOT NULL,
	`previous` blob,
	`previous_until` integer,
	FOREIGN KEY (`key_id`) REFERENCES `api_keys`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "signing_secrets_previous" CHECK((previous IS NULL) = (previous_until IS NULL))
);
--> statement-breakpoint
CREATE INDEX `jobs_of_key` ON `jobs` (`key_id`,`state`,`seq`);--> statement-breakpoint
CREATE INDEX `jobs_unfinished` ON `jobs` (`account_id`,`state`) WHERE ended_at IS NULL;