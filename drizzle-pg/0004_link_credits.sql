-- Credits per month that a key's links may cost; null for no limit.
ALTER TABLE api_keys ADD COLUMN links_limit bigint CHECK (links_limit >= 0);
--> statement-breakpoint
-- The key whose link it was for. The credits of links stand in "tallies" under the name 'link/' and the id of the key.
ALTER TABLE reservations ADD COLUMN link_key_id text;
