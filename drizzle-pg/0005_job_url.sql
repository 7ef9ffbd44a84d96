-- Kept after the end of the job, without its query.
ALTER TABLE jobs ADD COLUMN url text;
