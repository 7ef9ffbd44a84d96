DROP INDEX "jobs_completed_of_key";--> statement-breakpoint
DROP INDEX "jobs_failed_of_key";--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "removed_at" bigint;--> statement-breakpoint
CREATE INDEX "jobs_completed_of_key" ON "jobs" USING btree ("key_id","seq") WHERE data IS NOT NULL AND removed_at IS NULL;--> statement-breakpoint
CREATE INDEX "jobs_failed_of_key" ON "jobs" USING btree ("key_id","seq") WHERE error IS NOT NULL AND removed_at IS NULL;--> statement-breakpoint
-- An ended job changes once: when it is removed.
DROP TRIGGER jobs_end_for_good ON jobs;
--> statement-breakpoint
CREATE TRIGGER jobs_end_for_good BEFORE UPDATE ON jobs FOR EACH ROW
  WHEN (old.ended_at IS NOT NULL AND (old.removed_at IS NOT NULL OR new.removed_at IS NULL)) EXECUTE FUNCTION stillframe_keep_ended();
