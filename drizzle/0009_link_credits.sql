CREATE TABLE `link_credits` (
	`key_id` text NOT NULL,
	`period` text NOT NULL,
	`credits` integer NOT NULL,
	PRIMARY KEY(`key_id`, `period`),
	FOREIGN KEY (`key_id`) REFERENCES `api_keys`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "link_credits_sum" CHECK(credits >= 0)
);
--> statement-breakpoint
ALTER TABLE `api_keys` ADD `links_limit` integer;--> statement-breakpoint
ALTER TABLE `reservations` ADD `link_key_id` text;