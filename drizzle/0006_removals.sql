CREATE TABLE `removals` (
	`name` text PRIMARY KEY NOT NULL,
	`job_id` text,
	`worker_id` text,
	`attempt` integer,
	CONSTRAINT "removals_claim" CHECK((job_id IS NULL) = (worker_id IS NULL) AND (job_id IS NULL) = (attempt IS NULL))
);
