ALTER TABLE `jobs` ADD `claimed_at` integer;--> statement-breakpoint
ALTER TABLE `jobs` ADD `booked_ms` integer;--> statement-breakpoint
ALTER TABLE `turns` ADD `tag` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `turns` ADD `typical_ms` integer DEFAULT 1000 NOT NULL;--> statement-breakpoint
ALTER TABLE `turns` ADD `seen_at` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
DROP INDEX `turns_next`;--> statement-breakpoint
CREATE INDEX `turns_next` ON `turns` (`tag`) WHERE queued > 0;--> statement-breakpoint
CREATE INDEX `turns_tag` ON `turns` (`tag`);--> statement-breakpoint
CREATE INDEX `turns_seen` ON `turns` (`seen_at`);--> statement-breakpoint
ALTER TABLE `turns` DROP COLUMN `last_turn`;
