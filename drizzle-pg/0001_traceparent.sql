-- Of the submission, if captures are traced.
ALTER TABLE jobs ADD COLUMN traceparent text;
