CREATE TABLE `account_storage` (
	`account_id` text PRIMARY KEY NOT NULL,
	`picture_bytes` integer DEFAULT 0 NOT NULL,
	`jobs` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "account_storage_sums" CHECK(picture_bytes >= 0 AND jobs >= 0)
);
--> statement-breakpoint
ALTER TABLE `artifacts` ADD `account_id` text REFERENCES accounts(id);--> statement-breakpoint
ALTER TABLE `artifacts` ADD `data` text;--> statement-breakpoint
CREATE INDEX `artifacts_of_account` ON `artifacts` (`account_id`,`created_at`) WHERE gone_at IS NULL;
--> statement-breakpoint
INSERT INTO `account_storage` (`account_id`, `jobs`)
	SELECT a.`id`, ifnull(n.`jobs`, 0) FROM `accounts` a
	LEFT JOIN (SELECT `account_id`, count(*) AS `jobs` FROM `jobs` GROUP BY `account_id`) n ON n.`account_id` = a.`id`;
--> statement-breakpoint
UPDATE `artifacts` SET `account_id` = (SELECT j.`account_id` FROM `jobs` j WHERE j.`artifact_name` = `artifacts`.`name` LIMIT 1);
--> statement-breakpoint
UPDATE `account_storage` SET `picture_bytes` = ifnull(
	(SELECT sum(a.`bytes`) FROM `artifacts` a WHERE a.`gone_at` IS NULL AND a.`account_id` = `account_storage`.`account_id`), 0);
--> statement-breakpoint
CREATE TRIGGER `accounts_take_storage` AFTER INSERT ON `accounts` BEGIN
	INSERT INTO `account_storage` (`account_id`) VALUES (new.`id`);
END;
--> statement-breakpoint
CREATE TRIGGER `artifacts_stored` AFTER INSERT ON `artifacts` WHEN new.`gone_at` IS NULL BEGIN
	UPDATE `account_storage` SET `picture_bytes` = `picture_bytes` + new.`bytes` WHERE `account_id` = new.`account_id`;
END;
--> statement-breakpoint
CREATE TRIGGER `artifacts_let_go` AFTER UPDATE OF `gone_at` ON `artifacts` WHEN old.`gone_at` IS NULL AND new.`gone_at` IS NOT NULL BEGIN
	UPDATE `account_storage` SET `picture_bytes` = `picture_bytes` - old.`bytes` WHERE `account_id` = old.`account_id`;
END;
--> statement-breakpoint
CREATE TRIGGER `jobs_stored` AFTER INSERT ON `jobs` BEGIN
	UPDATE `account_storage` SET `jobs` = `jobs` + 1 WHERE `account_id` = new.`account_id`;
END;
--> statement-breakpoint
CREATE TRIGGER `jobs_removed` AFTER DELETE ON `jobs` BEGIN
	UPDATE `account_storage` SET `jobs` = `jobs` - 1 WHERE `account_id` = old.`account_id`;
END;
