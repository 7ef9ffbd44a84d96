-- Counts that no statement can forget (store/sqlite/counters.ts reads them). A follower of a shared render counts apart: it takes
-- no place in the queue.
INSERT INTO `counters` (`name`, `value`) VALUES
	('waiting', 0), ('prioritized', 0), ('delayed', 0), ('active', 0), ('completed', 0), ('failed', 0),
	('waiting/following', 0), ('prioritized/following', 0),
	('credits/settled', 0), ('credits/released', 0), ('credits/pending', 0),
	('webhooks/delivered', 0), ('webhooks/failed', 0), ('webhooks/errors', 0),
	('artifacts/bytes', 0), ('turn', 0);
--> statement-breakpoint
INSERT INTO `queue` (`id`, `paused`) VALUES (1, 0);
--> statement-breakpoint
CREATE TRIGGER `accounts_take_turns` AFTER INSERT ON `accounts` BEGIN
	INSERT INTO `turns` (`account_id`) VALUES (new.`id`);
END;
--> statement-breakpoint
CREATE TRIGGER `jobs_counted_in` AFTER INSERT ON `jobs` BEGIN
	UPDATE `counters` SET `value` = `value` + 1 WHERE `name` = new.`state` || iif(new.`leader_id` IS NULL, '', '/following');
	UPDATE `turns` SET `queued` = `queued` + 1
		WHERE `account_id` = new.`account_id` AND new.`leader_id` IS NULL AND new.`state` IN ('waiting', 'prioritized', 'delayed');
END;
--> statement-breakpoint
CREATE TRIGGER `jobs_counted_over` AFTER UPDATE OF `state`, `leader_id` ON `jobs` BEGIN
	UPDATE `counters` SET `value` = `value` - 1 WHERE `name` = old.`state` || iif(old.`leader_id` IS NULL, '', '/following');
	UPDATE `counters` SET `value` = `value` + 1 WHERE `name` = new.`state` || iif(new.`leader_id` IS NULL, '', '/following');
	UPDATE `turns` SET `queued` = `queued`
		+ (new.`leader_id` IS NULL AND new.`state` IN ('waiting', 'prioritized', 'delayed'))
		- (old.`leader_id` IS NULL AND old.`state` IN ('waiting', 'prioritized', 'delayed'))
		WHERE `account_id` = new.`account_id`;
END;
--> statement-breakpoint
CREATE TRIGGER `jobs_counted_out` AFTER DELETE ON `jobs` BEGIN
	UPDATE `counters` SET `value` = `value` - 1 WHERE `name` = old.`state`;
END;
--> statement-breakpoint
CREATE TRIGGER `jobs_end_for_good` BEFORE UPDATE ON `jobs` WHEN old.`state` IN ('completed', 'failed') BEGIN
	SELECT RAISE(ABORT, 'an ended job does not change');
END;
--> statement-breakpoint
CREATE TRIGGER `jobs_deleted_when_ended` BEFORE DELETE ON `jobs` WHEN old.`state` NOT IN ('completed', 'failed') BEGIN
	SELECT RAISE(ABORT, 'a job that has not ended is not deleted');
END;
--> statement-breakpoint
CREATE TRIGGER `artifacts_weighed_in` AFTER INSERT ON `artifacts` WHEN new.`gone_at` IS NULL BEGIN
	UPDATE `counters` SET `value` = `value` + new.`bytes` WHERE `name` = 'artifacts/bytes';
END;
--> statement-breakpoint
CREATE TRIGGER `artifacts_weighed_out` AFTER UPDATE OF `gone_at` ON `artifacts` WHEN old.`gone_at` IS NULL AND new.`gone_at` IS NOT NULL BEGIN
	UPDATE `counters` SET `value` = `value` - old.`bytes` WHERE `name` = 'artifacts/bytes';
END;
