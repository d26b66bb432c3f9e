-- In the order of the key, so that two who declare the same ones never wait for each other in a circle.
INSERT INTO domain (name, size, priority)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS given (name) ORDER BY name
ON CONFLICT (name) DO NOTHING
