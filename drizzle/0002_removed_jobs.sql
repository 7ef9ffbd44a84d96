DROP INDEX `jobs_of_key`;--> statement-breakpoint
ALTER TABLE `jobs` ADD `removed_at` integer;--> statement-breakpoint
CREATE INDEX `jobs_of_key` ON `jobs` (`key_id`,`state`,`seq`) WHERE removed_at IS NULL;--> statement-breakpoint
-- An ended job changes once: when it is removed.
DROP TRIGGER `jobs_end_for_good`;
--> statement-breakpoint
CREATE TRIGGER `jobs_end_for_good` BEFORE UPDATE ON `jobs`
	WHEN old.`state` IN ('completed', 'failed') AND (old.`removed_at` IS NOT NULL OR new.`removed_at` IS NULL) BEGIN
	SELECT RAISE(ABORT, 'an ended job does not change');
END;
