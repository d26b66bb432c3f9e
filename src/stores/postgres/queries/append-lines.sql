-- A number is assigned before its row is visible. So appends are serialized by a lock until the transaction ends: otherwise
-- a reader that has seen a number would miss a lower one that becomes visible later. Sorting needs all rows, so none gets
-- its number before the lock is held.
WITH turn AS MATERIALIZED (SELECT pg_advisory_xact_lock('log_line'::regclass::oid::bigint))
INSERT INTO log_line (topic, at, body)
SELECT topic, at, body
FROM turn CROSS JOIN unnest($1::text[], $2::bigint[], $3::text[]) WITH ORDINALITY AS given (topic, at, body, place)
ORDER BY place
