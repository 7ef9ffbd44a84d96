CREATE TABLE `console_access` (
	`hash` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	CONSTRAINT "console_access_kind" CHECK(kind IN ('link', 'session'))
);
