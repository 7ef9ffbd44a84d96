CREATE TABLE `templates` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`name` text NOT NULL,
	`version` integer NOT NULL,
	`manifest` text NOT NULL,
	`files` text NOT NULL,
	`bytes` integer NOT NULL,
	`sha256` text NOT NULL,
	`created_at` integer NOT NULL,
	`content` blob NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "templates_version" CHECK(version >= 1),
	CONSTRAINT "templates_bytes" CHECK(bytes >= 0)
);
--> statement-breakpoint
CREATE UNIQUE INDEX `templates_version` ON `templates` (`account_id`,`name`,`version`);