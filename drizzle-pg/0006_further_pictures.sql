-- Of a further picture of a job: the job's first one, with which it is kept, deleted and forgotten.
ALTER TABLE artifacts ADD COLUMN first_name text REFERENCES artifacts (name) ON DELETE CASCADE;
--> statement-breakpoint
CREATE INDEX artifacts_further ON artifacts (first_name) WHERE first_name IS NOT NULL;
