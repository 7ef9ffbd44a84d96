-- Links and sessions of the console, by the hashes of their secrets.
CREATE TABLE console_access (
  hash text PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('link', 'session')),
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL
);
