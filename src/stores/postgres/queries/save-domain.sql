-- Writes in the order of the key, so that two members that write the same rows cannot deadlock.
INSERT INTO domain (name, size, priority)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS given (name) ORDER BY name
ON CONFLICT (name) DO UPDATE SET size = excluded.size, priority = excluded.priority
